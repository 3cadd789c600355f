import Foundation
import Glibc
import KeychainModel
import ScriptedDaemon
import Testing
import TouchstoneTesting

/// The first day with README.md alone: its commands, as they are written, on one machine and then on another.
@Suite(
    "The first day by the README",
    .enabled(if: RealKeychain.isPossible, "touchstone and touchstoned are not both built")
)
struct FirstDayTests {
    /// The commands of the README's console blocks that are the user's: not those that install, which Scripts/test-package
    /// runs, nor those of developers and servers.
    private static func commands() throws -> [String] {
        let text = try String(contentsOf: Programs.sources.appending(path: "README.md"), encoding: .utf8)
        var commands: [String] = []
        for line in text.split(separator: "\n") where line.hasPrefix("$ ") {
            let command = String(line.dropFirst(2).prefix { $0 != "#" }).trimmingCharacters(in: .whitespaces)
            let words = command.split(separator: " ")
            guard words.contains("touchstone"), words[0] != "sudo", !commands.contains(command) else {
                continue
            }
            commands.append(command)
        }
        return commands
    }

    /// A machine with what a person has besides: a sensor, a clipboard's program and GitHub's.
    private static func machine() async throws -> FirstWeek {
        var day = try await FirstWeek(hasReader: true)
        for (name, text) in [
            ("wl-copy", "cat > \"$HOME/clipboard\""), ("gh", "echo \"$GITHUB_TOKEN for $*\""),
        ] {
            try day.write("#!/bin/sh\n\(text)\n", to: "bin/\(name)")
            chmod("\(day.home)/bin/\(name)", 0o755)
        }
        day.environment = ["TOKEN": "t0ken"]
        return day
    }

    /// A finger is touched at the next prompt, once the passcode was typed on the new terminal.
    private static func touch(_ day: FirstWeek) throws {
        try ScriptedPinentry.tell([.usual, .waits], home: day.home)
        day.fprintd?.change { $0.verifications = [.init([.match])] }
    }

    @Test(
        "setup, three secrets, git, a backup and another machine take no other page",
        .timeLimit(.minutes(5))
    )
    func day() async throws {
        let day = try await Self.machine()
        let desktop =
            ClipboardTests.isPossible ? try await ClipboardTests.Running(.xclip, day.keychain.home) : nil
        var other: FirstWeek?
        var done: Set<String> = []
        for command in try Self.commands() {
            let words = command.split(separator: " ")
            let touchstone = words.firstIndex(of: "touchstone").map { words[$0...].dropFirst().first ?? "" }
            switch touchstone ?? "" {
            case "setup":
                try await day.type(command, shown: "The keychain is ready.")
                done.insert("setup")
            case "set":
                try await day.type(command)
                try Self.touch(day)
                #expect(try await day.value("github-token") == "t0ken")
                done.insert("set")
            case "get" where command.hasSuffix("-c"):
                guard let desktop else { continue }
                var place = day
                place.environment = desktop.environment
                try await place.type(command, shown: "Copied to the clipboard")
                let mail = try await day.value("mail")
                #expect(try await desktop.held() == mail)
            case "get":
                try Self.touch(day)
                try await day.type(command)
                #expect(try day.read("clipboard") == "t0ken")
            case "run":
                try Self.touch(day)
                try await day.type(command, shown: "t0ken for release list")
                done.insert("run")
            case "doctor":
                try await day.type(command, shown: "ok")
            case "generate":
                try await day.type(command, shown: "Stored 'mail'")
                done.insert("generate")
            case "":
                #expect(command == "git config --global credential.helper touchstone")
                try await day.type(command)
                let login = "protocol=https\\nhost=git.example\\nusername=me\\n"
                try await day.type("printf '\(login)password=g1t\\n' | git credential approve")
                try await day.type("printf '\(login)' | git credential fill", shown: "password=g1t")
                done.insert("git")
            case "backup" where command.contains("--restore"):
                let new = try await day.otherMachine("secrets.backup")
                try await new.type(command, shown: "The keychain is ready, with 2 items.")
                let mail = try await day.value("mail")
                #expect(try await new.value("mail") == mail && !mail.isEmpty)
                #expect(try await new.value("git:https://me@git.example") == "g1t")
                #expect(
                    try await new.keychain.run("get", "github-token").status == 3,
                    "a finger's stays behind"
                )
                other = new
                done.insert("restore")
            case "backup":
                try await day.type(command, shown: "secrets.backup holds 2 items")
                done.insert("backup")
            default: Issue.record("\(command): what is to be seen is not written here")
            }
        }
        #expect(done == ["setup", "set", "run", "generate", "git", "backup", "restore"])
        withExtendedLifetime((desktop, other)) {}
    }
}
