import Foundation
import Glibc
import KeychainClient
import KeychainModel
import ScriptedDaemon
import Testing
import TouchstoneTesting

@Suite(
    "touchstone backup, written without the recovery code",
    .enabled(if: RealKeychain.isPossible, "touchstone and touchstoned are not both built")
)
struct BackupWritingTests {
    private static let secret = "marker-of-a-kept-secret"

    private static func keychain(_ settings: String...) async throws -> RealKeychain {
        let keychain = try await RealKeychain.ready(settings: settings)
        let stored = try await keychain.run("set", "mail", "--require", "passcode", input: secret)
        try #require(stored.status == 0, "\(stored.errors)")
        return keychain
    }

    private static func directory(_ keychain: RealKeychain) throws -> String {
        let path = keychain.home.path + "/backups"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        return path
    }

    @Test("one prompt writes it, whatever the code; cancelled or without a terminal, nothing is left")
    func prompted() async throws {
        let keychain = try await Self.keychain()
        let code = try String(contentsOfFile: keychain.home.path + "/code", encoding: .utf8)
        let directory = try Self.directory(keychain)
        try "0000".write(toFile: keychain.home.path + "/code", atomically: true, encoding: .utf8)
        let before = keychain.prompts
        let written = try await keychain.run("backup", directory + "/one")
        #expect(written.status == 0, "\(written.errors)")
        #expect(written.text == "\(directory)/one holds 1 items, sealed under the recovery code.\n")
        #expect(written.errors.hasPrefix("Next, to see that it is whole: touchstone backup --verify "))
        #expect(keychain.prompts == before + 1)
        let mode = try FileManager.default.attributesOfItem(atPath: directory + "/one")[.posixPermissions]
        #expect(mode as? Int == 0o600)
        try code.write(toFile: keychain.home.path + "/code", atomically: true, encoding: .utf8)
        #expect(try await keychain.run("backup", "--verify", directory + "/one").status == 0)
        #expect(try await keychain.run("backup", "--code", directory + "/two").status == 0)

        try keychain.setCancels(true)
        #expect(try await keychain.run("backup", directory + "/three").status == 4)
        try keychain.setCancels(false)
        #expect(try await keychain.run("backup", directory + "/three", hasTerminal: false).status == 8)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory).sorted() == ["one", "two"])
        #expect(try await !keychain.run("status").text.contains("backup-require"))
    }

    @Test(
        "backup-require = none writes it unattended, once the keychain was unlocked, and the status says so"
    )
    func unattended() async throws {
        let keychain = try await Self.keychain("backup-require = none")
        let directory = try Self.directory(keychain)
        for (name, isLocked) in [("one", false), ("two", true)] {
            if isLocked { #expect(try await keychain.run("lock").status == 0) }
            let before = keychain.prompts
            let written = try await keychain.run("backup", directory + "/" + name, hasTerminal: false)
            #expect(written.status == 0, "\(written.errors)")
            #expect(keychain.prompts == before)
        }
        #expect(try await keychain.run("status").text.contains("backup-require = none"))
        try keychain.stop(with: SIGTERM)
        let cold = try await keychain.run("backup", directory + "/three", hasTerminal: false)
        #expect(cold.status == 8, "\(cold.errors)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory).sorted() == ["one", "two"])
        let code = try String(contentsOfFile: keychain.home.path + "/code", encoding: .utf8)

        // It opens nothing without its code, and with it everything, elsewhere.
        let new = try RealKeychain()
        try "0000-0000-0000-0000-0000-0000-0000"
            .write(toFile: new.home.path + "/code", atomically: true, encoding: .utf8)
        #expect(try await new.run("backup", "--restore", directory + "/two").status == 5)
        try code.write(toFile: new.home.path + "/code", atomically: true, encoding: .utf8)
        #expect(try await new.run("backup", "--restore", directory + "/two").status == 0)
        #expect(try await new.run("get", "mail").text == Self.secret)
    }

    @Test("backup-require = passcode asks for it; another word is told by doctor")
    func settings() async throws {
        let keychain = try await Self.keychain("backup-require = passcode")
        let before = keychain.prompts
        #expect(try await keychain.run("backup", keychain.home.path + "/one").status == 0)
        #expect(keychain.prompts == before + 1)
        let other = try RealKeychain(settings: ["backup-require = nobody"])
        let doctor = try await other.run("doctor")
        #expect(doctor.text.contains("backup-require must be either, passcode or none"))
    }

    @Test("in a directory the oldest are removed, and nothing but backups")
    func rotation() async throws {
        let keychain = try await Self.keychain("backup-require = none")
        let directory = try Self.directory(keychain)
        let foreign = [
            "mine", "touchstone-20200101T000000Z.backup.copy", "touchstone-2020.backup",
            "touchstone-20200101T00000xZ.backup",
        ]
        let former = ["20200101T000000Z", "20210101T000000Z", "20990101T000000Z"]
            .map { "touchstone-\($0).backup" }
        for name in foreign + former {
            try Data("x".utf8).write(to: URL(fileURLWithPath: "\(directory)/\(name)"))
        }
        let link = "touchstone-20190101T000000Z.backup"
        try FileManager.default.createSymbolicLink(
            atPath: "\(directory)/\(link)",
            withDestinationPath: "\(directory)/mine"
        )
        let written = try await keychain.run("backup", directory, "--keep", "2", hasTerminal: false)
        #expect(written.status == 0, "\(written.errors)")
        let left = try FileManager.default.contentsOfDirectory(atPath: directory)
        #expect(Set(left).isSuperset(of: foreign + [link, former[2]]))
        #expect(!left.contains(former[0]) && !left.contains(former[1]))
        let new = Set(left).subtracting(foreign + former + [link])
        let name = try #require(new.first)
        #expect(new.count == 1 && name.hasPrefix("touchstone-20"))
        #expect(written.text.hasPrefix("\(directory)/\(name) holds 1 items"))
        #expect(try await keychain.run("backup", "--verify", "\(directory)/\(name)").status == 0)
        let file = try await keychain.run("backup", directory + "/mine", "--keep", "2")
        #expect(file.status == 64 && file.errors.contains("--keep needs a directory"))
    }

    @Test("a command gets it as its input; one that fails, or stops to read, is an error")
    func commands() async throws {
        let keychain = try await Self.keychain("backup-require = none")
        let file = keychain.home.path + "/piped"
        let piped = try await keychain.run("backup", "--to-command", "cat > '\(file)'; echo done >&2")
        #expect(piped.status == 0, "\(piped.errors)")
        #expect(piped.text == "The command's input holds 1 items, sealed under the recovery code.\n")
        #expect(piped.errors == "done\n")
        #expect(try await keychain.run("backup", "--verify", file).status == 0)
        let failing = try await keychain.run("backup", "--to-command", "cat > /dev/null; exit 3")
        #expect(failing.status == 1 && failing.errors.contains("the command ended with status 3"))
        #expect(failing.output.isEmpty)
        let deaf = try await keychain.run("backup", "--to-command", "exec <&-; exit 0")
        #expect(deaf.status == 0 || deaf.errors.contains("does not read the backup"))
        // Nobody was asked: nothing was started.
        try keychain.stop(with: SIGTERM)
        let mark = keychain.home.path + "/started"
        let cold = try await keychain.run("backup", "--to-command", "touch '\(mark)'", hasTerminal: false)
        #expect(cold.status == 8)
        #expect(!FileManager.default.fileExists(atPath: mark))
    }

    @Test(
        "options that contradict each other are refused",
        arguments: [
            [], ["f", "--to-command", "x"], ["--to-command", "x", "--keep", "1"], ["f", "--keep", "0"],
            ["f", "--verify", "--code"], ["--list", "--to-command", "x"], [""],
        ]
    )
    func usage(arguments: [String]) async throws {
        let keychain = try RealKeychain()
        #expect(try await keychain.run(all: ["backup"] + arguments).status == 64)
    }

    @Test(
        "no secret stays in the daemon's memory when a backup is written, read and merged",
        .enabled(if: geteuid() == 0, "needs root to read the daemon's memory")
    )
    func memory() async throws {
        let old = try await Self.keychain()
        let file = old.home.path + "/backup"
        #expect(try await old.run("backup", file).status == 0)
        let new = try await RealKeychain.ready()
        let code = try String(contentsOfFile: old.home.path + "/code", encoding: .utf8)
        try code.write(toFile: new.home.path + "/code", atomically: true, encoding: .utf8)
        #expect(try await new.run("backup", "--verify", file).status == 0)
        #expect(try await new.run("backup", "--restore", "--merge", file).status == 0)
        #expect(try await new.run("backup", "--restore", "--merge", file).status == 0, "which compares them")
        for keychain in [old, new] {
            let status = try RemoteKeychain(layout: keychain.home.layout, daemon: .none).status()
            let memory = try ProcessMemory(#require(Int32(exactly: status.daemonProcess)))
            #expect(!memory.places(of: Array(keychain.home.layout.dataDirectory.utf8)).isEmpty)
            #expect(memory.places(of: Array(Self.secret.utf8)).isEmpty)
            #expect(memory.places(of: Array(code.filter { $0 != "-" }.utf8)).isEmpty)
        }
        #expect(try await new.run("get", "mail").text == Self.secret)
    }
}
