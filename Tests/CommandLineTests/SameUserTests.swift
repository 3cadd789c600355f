import Foundation
import Glibc
import KeychainModel
import ScriptedDaemon
import Testing
import TouchstoneTesting

/// What another program of the same user can obtain today, and what it cannot (SECURITY.md, "Not defended
/// yet").
@Suite(
    "A program of the same user",
    .enabled(if: RealKeychain.isPossible, "touchstone and touchstoned are not both built")
)
struct SameUserTests {
    @Test(
        "an impostor at the socket path gets newly stored secrets, but no older secret and no passcode"
    )
    func takenPath() async throws {
        let keychain = try await RealKeychain.ready()
        let home = keychain.home
        #expect(
            try await keychain.run("set", "before", "--require", "none", input: "stored before").status == 0
        )
        let (socket, kept) = (home.layout.socket, home.layout.socket + ".kept")
        let prompts = keychain.prompts
        #expect(rename(socket, kept) == 0)
        let impostor = try ScriptedKeychain(
            home,
            ["planted": .init(octets: Array("planted".utf8), flags: [])]
        )

        // What the impostor gets, and what it can make an app believe.
        #expect(
            try await keychain.run("set", "later", "--require", "none", input: "stored later").status == 0
        )
        #expect(impostor.added == [Array("stored later".utf8)])
        #expect(try await keychain.run("get", "planted").text == "planted")
        // What it does not get: an older secret, or a passcode, which only the prompt program receives.
        let missing = try await keychain.run("get", "before")
        #expect(missing.status == 3 && missing.output.isEmpty)
        _ = try await keychain.run("unlock")
        #expect(keychain.prompts == prompts)

        // With the socket restored, the keychain is unchanged and lacks the misdirected secret.
        unlink(socket)
        #expect(rename(kept, socket) == 0)
        #expect(try await keychain.run("get", "before").text == "stored before")
        #expect(try await keychain.run("get", "later").status == 3)
    }

    @Test("a program started through TOUCHSTONE_DAEMON gets no older secret")
    func ownDaemon() async throws {
        let keychain = try await RealKeychain.ready()
        let home = keychain.home
        #expect(
            try await keychain.run("set", "before", "--require", "none", input: "stored before").status == 0
        )
        try keychain.stop(with: SIGTERM)
        let script = try Self.script(in: home, mode: 0o755)
        let result = try await Self.get("before", in: home, daemon: script)
        #expect(result.status == 7 && result.output.isEmpty, "\(result.errors)")
        #expect(access(home.path + "/started", F_OK) == 0)
        #expect(try await keychain.run("unlock").status == 0)
        #expect(try await keychain.run("get", "before").text == "stored before")
    }

    @Test(
        "TOUCHSTONE_DAEMON is not started if others can write to it or its directory",
        arguments: [0o777, 0o775, 0o757] as [mode_t],
        [false, true]
    )
    func writable(mode: mode_t, isDirectory: Bool) async throws {
        let home = try TemporaryHome()
        let script = try Self.script(in: home, mode: isDirectory ? 0o755 : mode)
        let directory = (script as NSString).deletingLastPathComponent
        if isDirectory { chmod(directory, mode) }
        let refused = try await Self.get("any", in: home, daemon: script)
        #expect(refused.status == 7, "\(refused.errors)")
        #expect(refused.errors.contains("others can change the daemon that TOUCHSTONE_DAEMON names"))
        #expect(refused.errors.contains("chmod go-w"))
        #expect(access(home.path + "/started", F_OK) != 0)
        // Control: the same program starts once only its owner can write.
        chmod(script, 0o755)
        chmod(directory, 0o755)
        _ = try await Self.get("any", in: home, daemon: script)
        #expect(access(home.path + "/started", F_OK) == 0)
    }

    private static func script(in home: TemporaryHome, mode: mode_t) throws -> String {
        let directory = home.path + "/bin"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        chmod(directory, 0o755)
        let path = directory + "/touchstoned"
        try "#!/bin/sh\n: > \"$TOUCHSTONE_HOME/started\"\nexit 1\n".write(
            toFile: path,
            atomically: false,
            encoding: .utf8
        )
        chmod(path, mode)
        return path
    }

    private static func get(_ name: String, in home: TemporaryHome, daemon: String) async throws
        -> CommandResult
    {
        var run = CommandRun("get", name, home: home)
        run.environment = ["TOUCHSTONE_DAEMON": daemon]
        return try await run.run()
    }
}
