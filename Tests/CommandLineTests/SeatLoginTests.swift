import Foundation
import Glibc
import KeychainModel
import ScriptedDaemon
import Testing
import TouchstoneTesting

/// The commands of two logins of one user with the real daemon, on a machine whose seat shows one of them.
@Suite(
    "Prompts of another session of the same user",
    .enabled(if: RealKeychain.isPossible, "touchstone and touchstoned are not both built"),
    .enabled(if: BegunLogin.isPossible, Comment(rawValue: BegunLogin.needs)),
    .serialized
)
struct SeatLoginTests {
    private struct Place {
        let bus: PrivateBus
        let logind: ScriptedLogind
        let keychain: RealKeychain

        init() async throws {
            bus = try await PrivateBus.start(sensors: [])
            logind = try await ScriptedLogind(bus, sessions: [ScriptedSession("elsewhere", audit: 1)])
            keychain = try await .ready(bus: bus, settings: ["test.bus-owner-uid = \(geteuid())"])
        }

        /// Runs a command in a login of its own, whose session logind reports once the login has begun.
        ///
        /// - Parameters:
        ///   - command: of the shell, with a new terminal.
        ///   - session: what logind says of it; its `audit` is filled in.
        /// - Returns: the run's result.
        /// - Throws: what the run throws.
        func run(_ command: String, _ session: ScriptedSession) async throws -> CommandResult {
            let home = keychain.home.path
            let terminal = try PseudoTerminal()
            // Open for both, so that neither side waits for the other to open it.
            guard mkfifo(home + "/go", 0o600) == 0 else { throw TestKitError.unexpected("mkfifo: \(errno)") }
            let go = open(home + "/go", O_RDWR | O_CLOEXEC)
            defer {
                close(go)
                unlink(home + "/go")
            }
            var run = CommandRun(
                "-c",
                "cd \(home) && echo \(geteuid()) > /proc/self/loginuid && cat /proc/self/sessionid > began.new"
                    + " && mv began.new began && read -r _ < go"
                    + " && exec setsid -w sh -c 'exec 9<>\(terminal.name) 9>&- && \(command)'",
                home: keychain.home
            )
            run.program = "/bin/sh"
            let directory = URL(fileURLWithPath: Programs.touchstone).deletingLastPathComponent().path
            run.environment = [
                "TOUCHSTONE_DAEMON": Programs.touchstoned, "PATH": "\(directory):/usr/bin:/bin",
            ]
            let running = run
            let task = Task { try await running.run() }
            var session = session
            session.audit = try await Deadline.wait(for: "the login") {
                UInt32((try? String(contentsOfFile: home + "/began", encoding: .utf8)) ?? "")
            }
            try FileManager.default.removeItem(atPath: home + "/began")
            try await logind.remove(session.id)
            try await logind.add(session)
            guard write(go, "\n", 1) == 1 else { throw TestKitError.unexpected("write: \(errno)") }
            return try await task.value
        }
    }

    @Test("a command gets its prompt only in a login that its seat shows, or that has no seat")
    func logins() async throws {
        let place = try await Place()
        for (session, isShown) in [
            (ScriptedSession("own"), true), (ScriptedSession("own", isActive: false), false),
            (ScriptedSession("own", type: "tty", seat: ""), true),
            (ScriptedSession("own", isActive: false, state: "closing"), true),
        ] {
            let before = place.keychain.prompts
            let result = try await place.run("touchstone lock && touchstone unlock", session)
            #expect((result.status == 0) == isShown, "\(session) \(result)")
            #expect(place.keychain.prompts - before == (isShown ? 1 : 0), "\(session)")
            guard !isShown else { continue }
            #expect(result.status == 4, "\(result)")
            #expect(result.errors.contains("another session is active on this screen"), "\(result)")
            #expect(result.errors.contains("switch back to the session"), "\(result)")
        }
        // What runs in no login of the user is judged by all of them: one is active.
        let before = place.keychain.prompts
        _ = try await place.keychain.run("lock")
        #expect(try await place.keychain.run("unlock").status == 0)
        #expect(place.keychain.prompts == before + 1)
        await place.bus.stop()
    }
}
