import Foundation
import Glibc
import KeychainModel
import ScriptedDaemon
import Testing
import TouchstoneTesting

/// The setting `trust` with the real daemon: whether a finger is enough on a terminal where the passcode was not typed.
@Suite(
    "Fingers on another terminal",
    .enabled(if: RealKeychain.isPossible, "touchstone and touchstoned are not both built"),
    .enabled(if: BegunLogin.isPossible, Comment(rawValue: BegunLogin.needs)),
    .serialized
)
struct TerminalTrustTests {
    /// Which logins the two commands come from.
    enum Logins: CaseIterable, Sendable {
        case same, different, none, ofAnotherUser

        /// A shell command that begins a login; empty for none.
        static func begin(_ user: uid_t) -> String { "echo \(user) > /proc/self/loginuid && " }
    }

    private struct Place {
        let keychain: RealKeychain
        let fprintd: ScriptedFprintd

        init(_ settings: [String]) async throws {
            let bus = try await PrivateBus.start(sensors: [])
            fprintd = try await ScriptedFprintd.start(on: bus)
            keychain = try await .ready(bus: bus, settings: settings)
            let stored = try await keychain.run("set", "by-finger", "--require", "finger", input: "kept")
            guard stored.status == 0 else { throw TestKitError.unexpected(stored.errors) }
        }

        /// Reads the secret on each of two new terminals, with the passcode where it is asked for.
        ///
        /// - Parameters:
        ///   - logins: where the commands come from.
        ///   - between: a command between them.
        /// - Returns: the number of prompts of both.
        /// - Throws: what the run throws.
        func read(_ logins: Logins, between: String = "true") async throws -> Int {
            let terminals = [try PseudoTerminal(), try PseudoTerminal()]
            let begin =
                switch logins {
                case .same: [Logins.begin(0), "", ""]
                case .different: ["", Logins.begin(0), Logins.begin(0)]
                case .none: ["", "", ""]
                case .ofAnotherUser: [Logins.begin(61_960), "", ""]
                }
            let steps = zip(terminals, begin.dropFirst()).enumerated().map { index, step in
                "setsid -w sh -c '\(step.1)exec 9<>\(step.0.name) 9>&- && exec touchstone get by-finger' > read\(index)"
            }
            let home = keychain.home.path
            var run = CommandRun(
                "-c",
                "cd \(home) && \(begin[0])\(steps[0]) && \(between) && \(steps[1])",
                home: keychain.home
            )
            run.program = "/bin/sh"
            let directory = URL(fileURLWithPath: Programs.touchstone).deletingLastPathComponent().path
            run.environment = [
                "TOUCHSTONE_DAEMON": Programs.touchstoned, "PATH": "\(directory):/usr/bin:/bin",
            ]
            // More than are needed: a prompt for the finger waits, and one for the passcode is answered.
            fprintd.change { $0.verifications = [.init([.match]), .init([.match])] }
            let before = keychain.prompts
            let result = try await run.run()
            #expect(result.status == 0, "\(result)")
            for index in 0...1 {
                #expect(try String(contentsOfFile: "\(home)/read\(index)", encoding: .utf8) == "kept")
            }
            return keychain.prompts - before
        }
    }

    @Test(
        "only `session`, and only for terminals of one login of the owner, spares the passcode",
        arguments: Logins.allCases
    )
    func second(logins: Logins) async throws {
        for (setting, isShared) in [("trust = session", logins == .same), ("trust = terminal", false)] {
            let place = try await Place([setting])
            // The passcode and the finger, then the finger alone or both again.
            let deeds: [ScriptedPinentry.Deed] =
                isShared ? [.usual, .waits, .waits] : [.usual, .waits, .usual, .waits]
            try ScriptedPinentry.tell(deeds, home: place.keychain.home.path)
            #expect(try await place.read(logins) == deeds.count, "\(setting)")
        }
    }

    @Test(
        "a lock asks for the passcode on the next terminal, and a new daemon remembers none",
        arguments: ["lock", "end"]
    )
    func afterwards(what: String) async throws {
        let place = try await Place(["trust = session"])
        let daemon = try await place.keychain.run("status", "--json")
        let process = try #require(daemon.text.firstMatch(of: /"daemonProcess": (\d+)/)?.output.1)
        let between =
            what == "lock" ? "touchstone lock" : "kill \(process) && tail --pid=\(process) -f /dev/null"
        try ScriptedPinentry.tell([.usual, .waits, .usual, .waits], home: place.keychain.home.path)
        #expect(try await place.read(.same, between: between) == 4)
    }

    @Test("status says that it is on, and what it costs; the configuration refuses other words")
    func told() async throws {
        let on = try await RealKeychain.ready(settings: ["trust = session"])
        #expect(
            try await on.run("status").text.contains(
                "(trust = session), also on one that a program opened unseen"
            )
        )
        #expect(try await on.run("doctor").text.contains("(trust = session)"))
        let off = try await RealKeychain.ready(settings: ["trust = terminal"])
        #expect(try await !off.run("status").text.contains("trust = "))
        let wrong = try RealKeychain(settings: ["trust = everything"])
        let refused = try await wrong.run("status")
        #expect(
            refused.status == 7 && refused.errors.contains("trust must be terminal or session"),
            "\(refused)"
        )
    }
}
