import Foundation
import Glibc
import Testing
import TouchstoneTesting

@Suite(
    "touchstone system killed while it removes the moved files",
    .serialized,
    .enabled(
        if: MovingMachine.isPossible && MovingMachine.canTrace,
        "needs root, strace, a machine that lets it mount, and systemd's directory of units"
    ),
    .timeLimit(.minutes(60))
)
struct KilledFinishTests {
    /// Calls that change something, and others made on the way.
    private static let changes = ["unlinkat", "renameat", "fsync", "fdatasync", "pwrite64"]
    private static let others = [
        "openat", "flock", "setgroups", "setresuid", "getdents64", "fstat", "newfstatat", "close", "mkdir",
        "wait4", "fchown", "fchmod",
    ]

    /// A copy of a directory with owners and modes, which can be restored.
    private struct Saved {
        let path: String
        private let home: TemporaryDirectory
        private let aside: String

        init(_ path: String) async throws {
            self.path = path
            home = try TemporaryDirectory()
            aside = home.appending("saved")
            try await Self.copy(path, aside)
        }

        func restore() async throws {
            try? FileManager.default.removeItem(atPath: path)
            try await Self.copy(aside, path)
        }

        private static func copy(_ source: String, _ target: String) async throws {
            let copied = try await ChildProcess.start(
                "/bin/cp",
                ["-a", "--", source, target],
                environment: ["PATH": "/usr/bin:/bin"]
            )
            let status = try await copied.waitUntilEnd()
            guard status == 0 else { throw TestKitError.unexpected("cp \(source): \(status)") }
        }
    }

    /// Kills the command at one call after the other, and each time runs it again to its end; returns the
    /// number of kills per call.
    private func killed(
        _ moving: MovingMachine,
        _ step: String,
        from start: () async throws -> Void,
        judge: (String) async throws -> Void
    ) async throws -> [String: Int] {
        var counts: [String: Int] = [:]
        for call in CaseSize.of(Self.changes, full: Self.changes + Self.others) {
            for number in stride(from: 1, to: 2000, by: CaseSize.of(call == "unlinkat" ? 4 : 2, full: 1)) {
                try await start()
                // The command alone: the check is a separate program and runs to its end.
                let strace = [
                    "/usr/bin/strace", "-qq", "-o", "/dev/null", "-e", "trace=\(call)", "-e",
                    "inject=\(call):signal=KILL:when=\(number)",
                ]
                let finished = try await moving.move(step, through: strace)
                // strace(1) ends as the traced program did.
                guard finished.status == -SIGKILL
                else {
                    #expect([0, 7, 10].contains(finished.status), "\(finished.status) \(finished.output)")
                    break
                }
                counts[call, default: 0] += 1
                try await judge("killed at \(call) \(number)")
                let again = try await moving.move(step)
                // It had finished already, or has now.
                #expect([0, 7, 10].contains(again.status), "\(call) \(number): \(again.output)")
                try await judge("run again after \(call) \(number)")
                try await judgeEnd(moving, step, "\(call) \(number)")
            }
        }
        return counts
    }

    private func judgeEnd(_ moving: MovingMachine, _ step: String, _ moment: String) async throws {
        if step == "enable" {
            #expect(moving.ownNames == ["moved"], "\(moment): \(moving.ownNames)")
            #expect(moving.systemNames == ["\(MovingMachine.alice.uid)", "\(MovingMachine.alice.uid).from"])
        } else {
            #expect(moving.ownNames.isSuperset(of: ["keybag", "items.sqlite"]), "\(moment)")
            #expect(!moving.ownNames.contains("moved"), "\(moment)")
            #expect(moving.systemNames.isEmpty, "\(moment): \(moving.systemNames)")
        }
    }

    @Test(
        "after a kill one keychain opens, in either place, and the same command finishes",
        arguments: ["enable", "disable"]
    )
    func finishing(step: String) async throws {
        let moving = try await MovingMachine()
        #expect(try await moving.run(["setup"]).status == 0)
        let added = try await moving.run(["set", "plain", "--require", "none"], input: "secret")
        #expect(added.status == 0, "\(added.output)")
        func expectOpen(_ moment: String) async throws {
            let read = try await moving.run(["get", "plain"])
            #expect(read.status == 0 && read.output == "secret", "\(moment): \(read.output)")
        }
        #expect(try await moving.move("enable").status == 7)
        let daemon = try await moving.startDaemon()
        let uid = MovingMachine.alice.uid
        let records = moving.machine.outside("/var/lib/touchstone/\(uid)")
        let counts: [String: Int]
        if step == "enable" {
            let former = try await Saved(moving.ownDirectory)
            try await expectOpen("before")
            // The daemon of system mode keeps running unlocked.
            counts = try await killed(moving, step) {
                try await former.restore()
                try? FileManager.default.removeItem(atPath: records + ".from")
                try (moving.ownDirectory + "\n").write(
                    toFile: records + ".moving",
                    atomically: false,
                    encoding: .utf8
                )
            } judge: { moment in
                #expect(moving.ownNames.contains("moved"), "\(moment)")
                try await expectOpen(moment)
            }
            #expect(daemon.process.isRunning)
        } else {
            #expect(try await moving.move("enable").status == 0)
            #expect(try await moving.move("disable", ["--later"]).status == 0)
            try await expectOpen("before")
            let spare = try await Saved(records + ".back")
            counts = try await killed(moving, step) {
                try await spare.restore()
            } judge: { moment in
                try await expectOpen(moment)
            }
        }
        #expect(counts["unlinkat", default: 0] >= 2 && counts["fsync", default: 0] >= 1, "\(counts)")
    }
}
