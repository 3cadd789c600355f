import Foundation
import KeychainModel
import ScriptedDaemon
import Testing
import TouchstoneTesting

@Suite(
    "Documented recipes",
    .enabled(if: RealKeychain.isPossible, "touchstone and touchstoned are not both built")
)
struct RecipeTests {
    @Test("every line of the recipes page works")
    func page() async throws {
        let keychain = try await RealKeychain.ready()
        let home = keychain.home.path
        let bin = home + "/bin"
        try FileManager.default.createDirectory(atPath: bin, withIntermediateDirectories: true)
        for name in [
            "touchstone", "git-credential-touchstone", "docker-credential-touchstone", "touchstone-askpass",
            "pinentry-touchstone",
        ] {
            try FileManager.default.createSymbolicLink(
                atPath: "\(bin)/\(name)",
                withDestinationPath: Programs.touchstone
            )
        }
        for (name, text) in [
            ("id.txt", "AKIA"), ("key.txt", "secret key"), ("bin/gh", "#!/bin/sh\necho \"$GH_TOKEN $*\"\n"),
        ] {
            try text.write(toFile: "\(home)/\(name)", atomically: true, encoding: .utf8)
        }
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: bin + "/gh")
        let page = try String(
            contentsOf: Programs.sources.appending(path: "docs/RECIPES.md"),
            encoding: .utf8
        )
        let lines = page.split(separator: "\n").filter { $0.hasPrefix("$ ") }.map { String($0.dropFirst(2)) }
        #expect(lines.count == 25)
        var outputs: [String: String] = [:]
        for line in lines {
            var run = CommandRun(home: keychain.home)
            run.program = "/bin/sh"
            run.arguments = ["-c", "cd && \(line)"]
            run.terminal = try PseudoTerminal()
            run.environment = [
                "TOUCHSTONE_DAEMON": Programs.touchstoned, "PATH": "\(bin):/usr/bin:/bin", "HOME": home,
                "XDG_RUNTIME_DIR": home, "GIT_TERMINAL_PROMPT": "0",
            ]
            let result = try await run.run()
            #expect(result.status == 0, "\(line): \(result.errors)")
            outputs[String(line.suffix(20))] = result.text
        }
        let all = outputs.values.joined()
        for text in [
            "password=secret\n", "token release list\n", "a token\n", "\"Secret\":\"secret\"",
            "\"SecretAccessKey\":\"secret key\"",
        ] {
            #expect(all.contains(text), "\(text)")
        }
        #expect(try String(contentsOfFile: home + "/app.conf", encoding: .utf8) == "password = token\n")
        #expect(try await keychain.run("list").text.contains("git:https://me@git.example\teither"))
    }
}
