import Foundation
import KeychainClient
import KeychainModel
import Testing
import TouchstoneTesting

/// The programs in Examples, each with a daemon and its scripted user.
@Suite("Examples", .timeLimit(.minutes(20)))
struct ExampleTests {
    /// Runs an example until it exits; `input` is its standard input.
    static func run(
        _ name: String,
        _ arguments: [String] = [],
        input: String? = nil,
        display: String = ":0",
        in keychain: PrivateKeychain
    ) async throws -> (status: Int32, output: String) {
        let log = keychain.home.appending("\(name).\(UUID().uuidString)")
        let text = try keychain.home.write(input ?? "", to: "input")
        let process = try await ChildProcess.start(
            "/bin/sh",
            ["-c", "exec \"$@\" < '\(text)'", "sh", "\(Programs.directory)/\(name)"] + arguments,
            environment: [
                "TOUCHSTONE_HOME": keychain.home.path, "DISPLAY": display,
                "TOUCHSTONE_DAEMON": Programs.touchstoned,
            ],
            log: log
        )
        let status = try await process.waitUntilEnd()
        return (status >> 8, try String(contentsOfFile: log, encoding: .utf8))
    }

    @Test("AskFirst continues only after consent")
    func askFirst() async throws {
        let keychain = try await PrivateKeychain.ready()
        #expect(try await Self.run("AskFirst", in: keychain) == (0, "open\n"))
        try keychain.tellPerson([.cancels])
        #expect(try await Self.run("AskFirst", in: keychain) == (0, "cancelled\n"))
        keychain.stop(with: SIGTERM)
        let empty = try PrivateKeychain()
        let none = try await Self.run("AskFirst", in: empty)
        #expect(none.status == 1 && none.output.hasPrefix("cannot ask: "))
        // The program started a daemon, which would outlive its home directory.
        kill(try #require(pid_t(exactly: empty.client.status().daemonProcess)), SIGTERM)
    }

    @Test("BiometricLock opens by the passcode if there is no sensor")
    func lockWithoutSensor() async throws {
        let keychain = try await PrivateKeychain.ready()
        let opened = try await Self.run("BiometricLock", in: keychain)
        #expect(opened == (0, "locked; your passcode opens it\nopen\n"))
        try keychain.tellPerson([.cancels])
        let refused = try await Self.run("BiometricLock", in: keychain)
        #expect(refused.status == 1 && refused.output.contains("\nclosed: "))
    }

    @Test(
        "BiometricLock and BiometricNote open by a finger",
        .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/libexec/fprintd"), "no fprintd")
    )
    func finger() async throws {
        let bus = try await PrivateBus.start(sensors: [.storage])
        try await Enroller(bus, sensor: .storage).enrol(print: "mine")
        let keychain = try await PrivateKeychain.ready(
            bus: bus,
            settings: ["test.template-directory = \(bus.templateDirectory)"]
        )
        let reader = VirtualReader(bus, sensor: .storage)
        // A touch alone is enough only where the passcode was typed before.
        let display = try DisplaySocket()
        try keychain.client.lock()
        try keychain.client.unlock(keychain.prompt(on: display))
        for (name, output) in [
            ("BiometricLock", "locked; your fingerprint opens it\nopen\n"),
            ("BiometricNote", "Meet me at the bridge.\n"),
        ] {
            try keychain.tellPerson([.waits])
            async let result = Self.run(name, display: display.name, in: keychain)
            try await reader.scan("mine")
            #expect(try await result == (0, output))
        }
        // The fallback button, then the passcode.
        let byPasscode = try await Self.run("BiometricLock", display: display.name, in: keychain)
        #expect(byPasscode == (0, "locked; your fingerprint opens it\nopen\n"))
        keychain.stop(with: SIGTERM)
        await bus.stop()
    }

    @Test("EnclaveSigner signs with the same key each time, for its owner only")
    func enclaveSigner() async throws {
        let keychain = try await PrivateKeychain.ready()
        let first = try await Self.run("EnclaveSigner", ["one"], in: keychain)
        let second = try await Self.run("EnclaveSigner", ["two"], in: keychain)
        for (status, output) in [first, second] { #expect(status == 0 && output.hasSuffix("\nsigned in\n")) }
        let keys = [first, second].map { $0.output.split(separator: "\n").first }
        #expect(keys[0] == keys[1] && keys[0]?.hasPrefix("public key: ") == true)
        try keychain.tellPerson([.cancels])
        let refused = try await Self.run("EnclaveSigner", in: keychain)
        #expect(refused.status == 1 && !refused.output.contains("signed in"))
    }

    @Test("RightsStore keeps its session until it signs out")
    func rightsStore() async throws {
        let keychain = try await PrivateKeychain.ready()
        for _ in 1...2 {
            let (status, output) = try await Self.run("RightsStore", in: keychain)
            #expect(status == 0 && output.hasPrefix("token: token-0123\nsignature: "), "\(output)")
        }
        try keychain.tellPerson([.cancels])
        #expect(try await Self.run("RightsStore", in: keychain) == (1, "cancelled\n"))
        #expect(try await Self.run("RightsStore", ["--sign-out"], in: keychain) == (0, "signed out\n"))
        #expect(try await Self.run("RightsStore", ["--sign-out"], in: keychain).status == 1)
    }

    @Test("TokenStore keeps, shows, lists and removes")
    func tokenStore() async throws {
        let keychain = try await PrivateKeychain.ready()
        func store(_ arguments: String..., input: String? = nil) async throws -> (Int32, String) {
            try await Self.run("TokenStore", arguments, input: input, in: keychain)
        }
        #expect(try await store("show", "ada") == (1, "no token for ada\n"))
        #expect(try await store("save", "grace", input: "first\n") == (0, ""))
        #expect(try await store("save", "ada", input: "a token\n") == (0, ""))
        #expect(try await store("save", "grace", input: "second\n") == (0, ""))
        #expect(try await store("show", "grace") == (0, "second\n"))
        #expect(try await store("list") == (0, "ada\ngrace\n"))
        #expect(try await store("remove", "ada") == (0, ""))
        #expect(try await store("remove", "ada") == (0, ""))
        #expect(try await store("list") == (0, "grace\n"))
        #expect(try await store().0 == 2)
    }
}
