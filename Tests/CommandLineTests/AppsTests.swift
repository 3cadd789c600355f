import Foundation
import Glibc
import KeychainModel
import ScriptedDaemon
import Testing
import TouchstoneTesting

/// Apps that move: copies of `touchstone`, each a separate app to the daemon because its path differs.
@Suite(
    "touchstone apps",
    .enabled(if: RealKeychain.isPossible, "touchstone and touchstoned are not both built")
)
struct AppsTests {
    private let keychain: RealKeychain

    init() async throws { keychain = try await RealKeychain.ready() }

    /// Creates an app at a path in the home directory.
    private func app(_ path: String) async throws -> String {
        let file = keychain.home.path + "/" + path
        let directory = URL(fileURLWithPath: file).deletingLastPathComponent()
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        // Copied by a child process: a program that another test starts at this moment would inherit the
        // descriptor open for writing, and a file open for writing cannot be executed (ETXTBSY).
        let copy = try await ChildProcess.start("/bin/cp", [Programs.touchstone, file])
        #expect(try await copy.waitUntilEnd() == 0)
        return file
    }

    private func run(_ app: String, _ arguments: String..., input: String? = nil) async throws
        -> CommandResult
    {
        var run = CommandRun(home: keychain.home)
        run.program = app
        run.arguments = arguments
        run.terminal = try PseudoTerminal()
        run.input = input.map { .octets(Array($0.utf8)) } ?? .nothing
        return try await run.run()
    }

    @Test("a moved app is told which program has its item, and gets it after a move with the passcode")
    func moved() async throws {
        let (old, new) = (try await app("app-1.0/bin/app"), try await app("app-1.1/bin/app"))
        #expect(try await run(old, "set", "token", "--require", "none", input: "first").status == 0)
        #expect(try await run(old, "set", "guarded", "--require", "passcode", input: "second").status == 0)
        let lost = try await run(new, "get", "token")
        #expect(lost.status == 3)
        #expect(lost.errors.contains("\(old) keeps one of that name"))
        #expect(lost.errors.contains("touchstone apps move"))
        // Only an item of exactly that name is reported.
        let other = try await run(new, "get", "toke")
        #expect(other.status == 3)
        #expect(!other.errors.contains(old))

        let listed = try await keychain.run("apps")
        #expect(listed.text.hasPrefix("\(old)\tthere\t2\t0\t0\t20"))
        #expect(listed.text.split(separator: "\n").count == 1)

        let prompts = keychain.prompts
        let dry = try await keychain.run("apps", "move", old, new, "--dry-run")
        #expect(dry.status == 0)
        #expect(dry.text.split(separator: "\n").sorted() == ["guarded", "token"])
        #expect(dry.errors == "2 items would be moved.\n")
        #expect(keychain.prompts == prompts, "nobody is asked where nothing is changed")
        #expect(try await run(old, "get", "token").text == "first")

        let move = try await keychain.run("apps", "move", old, new)
        #expect(move.status == 0)
        #expect(move.errors == "2 items moved.\n")
        #expect(keychain.prompts == prompts + 1, "one passcode")
        #expect(try await run(new, "get", "token").text == "first")
        #expect(try await run(new, "get", "guarded").text == "second")
        #expect(try await run(old, "get", "token").status == 3)
        #expect(try await keychain.run("doctor").text.contains("2 items, all authentic"))
    }

    @Test("a move is refused as a whole on a name conflict, and without the passcode")
    func refused() async throws {
        let (old, new) = (try await app("old/app"), try await app("new/app"))
        for name in ["one", "two"] {
            #expect(try await run(old, "set", name, "--require", "none", input: "old \(name)").status == 0)
        }
        #expect(try await run(new, "set", "two", "--require", "none", input: "new two").status == 0)
        let clash = try await keychain.run("apps", "move", old, new)
        #expect(clash.status == 10)
        #expect(clash.errors.contains("'two'") && !clash.errors.contains("'one'"))
        #expect(try await run(old, "get", "one").text == "old one")
        #expect(try await run(new, "get", "two").text == "new two")

        #expect(try await run(new, "delete", "two", "--yes").status == 0)
        try keychain.setCancels(true)
        #expect(try await keychain.run("apps", "move", old, new).status == 4)
        try keychain.setCancels(false)
        #expect(try await run(old, "get", "one").text == "old one")
        #expect(try await keychain.run("apps", "move", keychain.home.path + "/none", new).status == 3)
        #expect(try await keychain.run("apps", "move", old, keychain.home.path + "/none").status == 64)
    }

    @Test("other programs may neither list nor move apps")
    func foreign() async throws {
        let (old, new) = (try await app("old/app"), try await app("new/app"))
        #expect(try await run(old, "set", "one", "--require", "none", input: "1").status == 0)
        let list = try await run(new, "apps")
        #expect(list.status == 1)
        #expect(list.text.isEmpty)
        #expect(list.errors.contains("may not use"))
        #expect(try await run(new, "apps", "move", old, new).status == 1)
        for use in ["off", "on"] {
            #expect(try await run(new, "apps", "fingers", old, use).status == 1)
        }
        #expect(try await run(old, "get", "one").text == "1")
    }

    @Test("fingers are switched off for a program, and on again with the passcode")
    func fingers() async throws {
        let file = try await app("app/bin/app")
        #expect(try await run(file, "set", "one", "--require", "either", input: "1").status == 0)
        let link = keychain.home.path + "/link"
        #expect(symlink(file, link) == 0)
        let prompts = keychain.prompts
        let off = try await keychain.run("apps", "fingers", link, "off")
        #expect(off.status == 0 && off.errors == "Fingers are off for \(file).\n" && off.text.isEmpty)
        #expect(keychain.prompts == prompts)
        #expect(try await keychain.run("apps").text.contains("\tno fingers\n"))
        let listed = try await keychain.run("apps", "--json")
        let list = try #require(JSONSerialization.jsonObject(with: Data(listed.output)) as? [[String: Any]])
        #expect(list.first?["program"] as? String == file && list.first?["fingers"] as? Bool == false)
        // The passcode still releases it.
        #expect(try await run(file, "get", "one").text == "1")

        try keychain.setCancels(true)
        #expect(try await keychain.run("apps", "fingers", file, "on").status == 4)
        try keychain.setCancels(false)
        #expect(try await keychain.run("apps").text.contains("no fingers"))
        let on = try await keychain.run("apps", "fingers", file, "on")
        #expect(on.status == 0 && on.errors == "Fingers are on for \(file).\n")
        #expect(try await !keychain.run("apps").text.contains("no fingers"))
        #expect(try await keychain.run("apps", "fingers", file, "maybe").status == 64)
        #expect(try await keychain.run("apps", "fingers", "relative/app", "off").status == 64)
    }

    @Test("apps whose file is missing are listed, also after a daemon restart")
    func gone() async throws {
        let (old, new) = (try await app("old/app"), try await app("new/app"))
        #expect(try await run(old, "set", "one", "--require", "none", input: "1").status == 0)
        unlink(old)
        let listed = try await keychain.run("apps", "--json")
        let list = try #require(JSONSerialization.jsonObject(with: Data(listed.output)) as? [[String: Any]])
        #expect(list.first?["program"] as? String == old)
        #expect(list.first?["fileExists"] as? Bool == false)
        #expect(list.first?["passwords"] as? Int == 1)

        let status = try await keychain.run("status", "--json")
        let line = status.text.split(separator: "\n").first { $0.contains("daemonProcess") }
        let process = try #require(line?.split(separator: " ").last.flatMap { pid_t($0) })
        kill(process, SIGTERM)
        try await Deadline.wait(for: "the daemon's end") { kill(process, 0) != 0 ? true : nil }
        #expect(try await keychain.run("unlock").status == 0)
        let lost = try await run(new, "get", "one")
        #expect(lost.errors.contains("\(old) keeps one of that name"))
        #expect(try await keychain.run("apps", "move", old, new).status == 0)
        #expect(try await run(new, "get", "one").text == "1")
    }

    @Test("a program with its own access group keeps its items across version directories")
    func ownGroup() async throws {
        let old = try await app("app-1.0/bin/app")
        #expect(try await run(old, "set", "early", "--require", "none", input: "0").status == 0)
        let file = keychain.home.path + "/access-groups.conf"
        try "[com.example.app]\nown \(keychain.home.path)/app-*/bin/app\n"
            .write(toFile: file, atomically: true, encoding: .utf8)
        chmod(file, 0o600)
        let status = try await keychain.run("status", "--json")
        let line = status.text.split(separator: "\n").first { $0.contains("daemonProcess") }
        let process = try #require(line?.split(separator: " ").last.flatMap { pid_t($0) })
        kill(process, SIGTERM)
        try await Deadline.wait(for: "the daemon's end") { kill(process, 0) != 0 ? true : nil }
        #expect(try await keychain.run("unlock").status == 0)

        #expect(try await run(old, "get", "early").text == "0", "what was stored before is within reach")
        #expect(try await run(old, "set", "one", "--require", "none", input: "1").status == 0)
        let new = try await app("app-1.1/bin/app")
        #expect(try await run(new, "get", "one").text == "1")
        #expect(try await keychain.run("apps", "move", old, "com.example.app").status == 0)
        #expect(try await run(new, "get", "early").text == "0")
        #expect(try await keychain.run("apps").text.hasPrefix("com.example.app\t-\t2\t0\t0\t"))
        let stranger = try await app("app-1.1/lib/bin/app")
        let refused = try await run(stranger, "get", "one")
        #expect(refused.status == 3, "\(refused.status): \(refused.errors)")
    }
}
