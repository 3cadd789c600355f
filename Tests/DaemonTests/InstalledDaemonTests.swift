import Foundation
import Glibc
import KeychainClient
import KeychainModel
import Testing
import TouchstoneTesting

/// The installed program; the other tests start the one with test parts.
@Suite(
    "The installed daemon",
    .serialized,
    .enabled(if: Programs.isBuilt, "touchstoned is not built")
)
struct InstalledDaemonTests {
    private static let testSettings = [
        "test.pinentry-program = /tmp/pinentry", "test.system-bus-address = unix:path=/tmp/bus",
        "test.bus-owner-uid = 1000", "test.scrypt-log2-rounds = 10", "test.template-directory = /tmp",
        "test.access-group-directory = /nowhere", "test.tpm = swtpm:path=/tmp/chip",
        "test.groups-in-section = 1", "test.idle-delay = 1", "test.sweep-delay = 1", "test.purge-delay = 1",
    ]

    private func check(_ program: String, _ line: String) async throws -> Finished {
        let home = try TemporaryDirectory()
        _ = try home.write(line + "\n", to: "touchstoned.conf")
        return try await Finished.running(
            [program, "--check-configuration"],
            environment: ["TOUCHSTONE_HOME": home.path, "HOME": home.path]
        )
    }

    @Test("every test setting is refused, but accepted by the daemon for tests", arguments: testSettings)
    func knowsNoTestParts(line: String) async throws {
        let installed = try await check(Programs.installedTouchstoned, line)
        #expect(installed.status == 1)
        let key = line.prefix { $0 != " " }
        #expect(installed.output.contains("line 1: \(key) is a setting of touchstoned-testing"))
        #expect(installed.output.contains("\nhint: "))
        #expect(try await check(Programs.touchstoned, line).status == 0)
    }

    @Test("the program does not contain the name of a test setting")
    func holdsNone() async throws {
        // Shorter names are encoded in instructions and not stored as text.
        for key in Self.testSettings.map({ String($0.prefix { $0 != " " }) }) where key.utf8.count > 15 {
            let command = ["/bin/grep", "--quiet", "--text", "--fixed-strings", key]
            #expect(try await Finished.running(command + [Programs.touchstoned]).status == 0)
            #expect(try await Finished.running(command + [Programs.installedTouchstoned]).status == 1)
        }
    }

    /// How an attacker could replace the prompt program.
    enum Trick: CaseIterable, Sendable {
        case own, writable, inOpenDirectory, linked, missing, relative, directory
    }

    @Test(
        "a prompt program that others than root could have placed there is refused",
        .enabled(if: geteuid() == 0, "only root can give files away"),
        arguments: Trick.allCases
    )
    func promptProgram(trick: Trick) async throws {
        // Not below /tmp, which everybody may write to.
        let place = "/var/lib/touchstone-test-\(UUID().uuidString)"
        guard mkdir(place, 0o755) == 0 else { throw TestFailure.system(errno) }
        defer { try? FileManager.default.removeItem(atPath: place) }
        let program = place + "/pinentry"
        try FileManager.default.copyItem(atPath: "/usr/bin/pinentry-tty", toPath: program)
        #expect(
            try await check(Programs.installedTouchstoned, "pinentry-program = \(program)").status == 0
        )
        var named = program
        switch trick {
        case .own: chown(program, 12_345, 12_345)
        case .writable: chmod(program, 0o775)
        case .inOpenDirectory: chmod(place, 0o777)
        case .linked:
            let others = try TemporaryDirectory(mode: 0o755)
            try FileManager.default.copyItem(atPath: program, toPath: others.appending("pinentry"))
            unlink(program)
            symlink(others.appending("pinentry"), program)
            try await expectRefused(named)
            return
        case .missing: unlink(program)
        case .relative: named = "pinentry"
        case .directory: named = place
        }
        try await expectRefused(named)
    }

    private func expectRefused(_ program: String) async throws {
        let finished = try await check(Programs.installedTouchstoned, "pinentry-program = \(program)")
        #expect(finished.status == 1)
        #expect(finished.output.contains("pinentry-program"))
        #expect(finished.output.contains("\nhint: "))
    }

    @Test("a bus from the environment is not used, except by the daemon for tests")
    func environmentNamesNoBus() async throws {
        for program in [Programs.installedTouchstoned, Programs.touchstoned] {
            let home = try DaemonHome(program == Programs.touchstoned ? [] : nil)
            let bus = try CountingListener(at: home.directory.appending("no-bus"))
            let daemon = try await RunningDaemon(
                home,
                program: program,
                environment: [
                    "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=\(bus.path)",
                    "DBUS_STARTER_ADDRESS": "unix:path=\(bus.path)",
                ]
            )
            let client = try await daemon.client()
            let call = Task { try await client.call(.status, EmptyBody()).status }
            if program == Programs.installedTouchstoned {
                #expect(try await call.value == .success)
                let isAsked = bus.isAsked
                #expect(!isAsked)
            } else {
                try await Deadline.wait(for: "a connection to the bus") { bus.isAsked ? true : nil }
                daemon.process.stop()
                _ = await call.result
            }
        }
    }

    @Test(
        "the daemon for tests does not open a keybag made by the installed daemon",
        .enabled(if: access("/usr/bin/pinentry-tty", X_OK) == 0, "pinentry-tty is not installed")
    )
    func keybagStaysReal() async throws {
        let home = try DaemonHome(nil)
        _ = try home.directory.write(
            "pinentry-program = /usr/bin/pinentry-tty\nbiometry = off\ntpm = off\n",
            to: "touchstoned.conf"
        )
        do {
            let daemon = try await RunningDaemon(home, program: Programs.installedTouchstoned)
            let status = try await Self.setUp(home.layout)
            #expect(status.assurance == .softwareUser)
            kill(daemon.process.processID, SIGTERM)
            _ = try await daemon.process.waitUntilEnd()
        }
        // If the keybag opened, the scripted pinentry would learn the passcode at the next prompt.
        let pinentry = try ScriptedPinentry()
        _ = try home.directory.write(
            "test.pinentry-program = \(pinentry.path)\ntpm = off\n",
            to: "touchstoned.conf"
        )
        let testing = try await Finished.running(
            [Programs.touchstoned, "--foreground"],
            environment: home.environment
        )
        #expect(testing.status == 1)
        #expect(testing.output.contains("was made without test parts, and this daemon is for tests"))
        #expect(testing.output.contains("\nhint: start touchstoned"))
        #expect(access(home.layout.socket, F_OK) != 0)
        let installed = try await Finished.running(
            [Programs.installedTouchstoned, "--foreground"],
            environment: home.environment
        )
        #expect(installed.status == 1)
        #expect(pinentry.processIdentifier == nil)
    }

    /// A user at a terminal sets up the keychain.
    private static func setUp(_ layout: Layout) async throws -> StatusReply {
        let terminal = try PseudoTerminal()
        let prompt = PromptFields(
            origin: PromptOrigin(terminal: terminal.name, terminalType: "xterm", characterType: "C.UTF-8"),
            reason: "a test"
        )
        // Not on a thread of the tests' pool, which others need meanwhile.
        async let status: StatusReply = withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(
                    with: Result {
                        let client = RemoteKeychain(layout: layout, daemon: .none)
                        try client.setUp(prompt)
                        return try client.status()
                    }
                )
            }
        }
        for _ in 0..<2 {
            try await terminal.wait(forAnyOf: ["Passcode:", "Again:"])
            terminal.press(.text(PrivateKeychain.passcode), .enter)
        }
        try await terminal.wait(for: "not shown again")
        let code = try await Deadline.wait(for: "the recovery code") {
            terminal.text.firstMatch(of: /([0-9A-HJKMNP-TV-Z]{4}-){6}[0-9A-HJKMNP-TV-Z]{4}/).map {
                String($0.output.0)
            }
        }
        terminal.press(.enter)
        try await terminal.wait(for: "Recovery code:")
        terminal.press(.text(code), .enter)
        return try await status
    }
}

/// A socket that should get no connection.
private struct CountingListener: ~Copyable {
    let path: String
    private let descriptor: CInt

    init(at path: String) throws {
        self.path = path
        descriptor = try UnixSocket.listen(at: path, backlog: 16)
    }

    deinit { close(descriptor) }

    /// Whether there was a connection.
    var isAsked: Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&entry, 1, 0) > 0
    }
}
