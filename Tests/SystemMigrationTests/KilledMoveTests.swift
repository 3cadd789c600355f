import Foundation
import Glibc
import KeychainModel
import Testing
import TouchstoneTesting

@Suite(
    "touchstone system killed during a move",
    .serialized,
    .enabled(if: MoveMachine.isPossible, "needs root, strace and mounts of its own"),
    .timeLimit(.minutes(60))
)
struct KilledMoveTests {
    /// Calls that change something, and all others made on the way.
    private static let changes = [
        "mkdir", "mkdirat", "fchown", "fchmod", "fsync", "renameat", "unlinkat", "sendfile", "write",
    ]
    private static let others = [
        "openat", "flock", "setgroups", "setresuid", "getdents64", "fstat", "newfstatat", "close",
    ]

    /// Kills the command at one call after the other; returns the number of kills per call.
    private func killed(
        _ machine: MoveMachine,
        _ step: String,
        from start: () throws -> Void,
        judge: (String, Int) async throws -> Void
    ) async throws -> [String: Int] {
        var counts: [String: Int] = [:]
        for call in CaseSize.of(Self.changes, full: Self.changes + Self.others) {
            for number in stride(from: 1, to: 2000, by: CaseSize.of(call == "unlinkat" ? 3 : 2, full: 1)) {
                try start()
                let strace = [
                    "/usr/bin/strace", "-qq", "-o", "/dev/null", "-e", "trace=\(call)", "-e",
                    "inject=\(call):signal=KILL:when=\(number)",
                ]
                let (status, _) = try await machine.run(step, tracer: strace)
                // strace(1) ends as the traced program did.
                guard status & 0x7F == SIGKILL else { break }
                counts[call, default: 0] += 1
                try await judge(call, number)
            }
        }
        return counts
    }

    @Test("a kill while enabling loses nothing, and the same or the opposite command continues")
    func enabling() async throws {
        let machine = try MoveMachine()
        var turn = 0
        let counts = try await killed(machine, "enable", from: machine.reset) { call, number in
            #expect(machine.faults.isEmpty, "killed at \(call) \(number): \(machine.faults)")
            turn += 1
            let isUndone = turn % 3 == 0
            let (_, text) = try await machine.run(isUndone ? "disable" : "enable")
            #expect(machine.faults.isEmpty, "run again after \(call) \(number): \(machine.faults)")
            let isThere =
                isUndone
                ? machine.isWhole(machine.own, owner: MoveMachine.user)
                    && !PrivateMove.names(machine.own).contains("moved")
                : machine.isWhole(machine.kept, owner: MoveMachine.keeper)
            #expect(isThere, "run again after \(call) \(number): \(text)")
        }
        #expect(counts["sendfile", default: 0] >= 2 && counts["renameat", default: 0] >= 1, "\(counts)")
        #expect(counts["fsync", default: 0] >= 3, "\(counts)")
    }

    @Test("a kill while disabling loses nothing, and the same or the opposite command continues")
    func disabling() async throws {
        let machine = try MoveMachine()
        var turn = 0
        let counts = try await killed(machine, "disable", from: machine.resetInSystemMode) { call, number in
            #expect(machine.faults.isEmpty, "killed at \(call) \(number): \(machine.faults)")
            turn += 1
            let isUndone = turn % 3 == 0
            let (_, text) = try await machine.run(isUndone ? "enable" : "disable")
            #expect(machine.faults.isEmpty, "run again after \(call) \(number): \(machine.faults)")
            let isThere =
                isUndone
                ? machine.isWhole(machine.kept, owner: MoveMachine.keeper)
                : machine.isWhole(machine.own, owner: MoveMachine.user)
            #expect(isThere, "run again after \(call) \(number): \(text)")
        }
        #expect(counts["sendfile", default: 0] >= 2 && counts["renameat", default: 0] >= 3, "\(counts)")
    }

    @Test("a full disk is reported, and nothing is moved")
    func fullDisk() async throws {
        let machine = try MoveMachine()
        try machine.reset()
        let small = "mount -t tmpfs -o size=16k,mode=755 small /var/lib"
        let (status, text) = try await machine.run("enable", before: small)
        #expect(status == 1 << 8 && text.contains("error: there is no room"), "\(text)")
        #expect(machine.faults.isEmpty && machine.isWhole(machine.own, owner: MoveMachine.user))
    }

    @Test("a missing part of system mode is named, and nothing is moved")
    func parts() async throws {
        let machine = try MoveMachine()
        try machine.reset()
        let empty = "mount -t tmpfs parts /usr/libexec"
        let (status, text) = try await machine.run("enable", parts: empty)
        #expect(status == 7 << 8, "\(text)")
        #expect(text.contains("error: system mode is not completely installed"), "\(text)")
        #expect(text.contains("touchstoned is not there"), "\(text)")
        #expect(text.contains("hint: touchstone system status"), "\(text)")
        #expect(machine.faults.isEmpty && machine.isWhole(machine.own, owner: MoveMachine.user))
    }

    @Test("if the broker does not answer nothing is moved, and the hint says what to do")
    func broker() async throws {
        let machine = try MoveMachine()
        try machine.reset()
        let (status, text) = try await machine.run("enable", before: "umount /run/touchstone-broker")
        #expect(status == 7 << 8, "\(text)")
        #expect(text.contains("error: the system's touchstone-broker does not answer (connect: "), "\(text)")
        #expect(text.contains("nothing was changed"), "\(text)")
        #expect(text.contains("hint: as root: systemctl start touchstone-broker.socket"), "\(text)")
        #expect(machine.faults.isEmpty && machine.isWhole(machine.own, owner: MoveMachine.user))
        #expect(!PrivateMove.names(machine.own).contains("moved") && access(machine.kept, F_OK) != 0)
        _ = try await machine.run("enable")
        #expect(machine.isWhole(machine.kept, owner: MoveMachine.keeper))
        // The way back does not need the broker.
        let (_, back) = try await machine.run("disable", before: "umount /run/touchstone-broker")
        #expect(machine.isWhole(machine.own, owner: MoveMachine.user), "\(back)")
    }

    @Test("a user who replaces files by links during the move cannot bring in another's file")
    func exchanged() async throws {
        for _ in 0..<CaseSize.of(12, full: 200) {
            // A new machine each time: root writes nothing where a hostile process may still be at work.
            let machine = try MoveMachine()
            try machine.reset()
            let secret = machine.home.appending("root-only")
            try "a secret of root's".write(toFile: secret, atomically: false, encoding: .utf8)
            #expect(chmod(secret, 0o600) == 0)
            let script = """
                cd "$0" || exit 1
                while :; do
                    ln -sf "$1" device.key.x; mv -f device.key.x device.key
                    ln -f attempts hard 2>/dev/null; mv -f hard device.key 2>/dev/null
                    cp attempts copy; chmod 600 copy; mv -f copy device.key
                done
                """
            let hostile = try await ChildProcess.start(
                "/usr/bin/setpriv",
                [
                    "--reuid=\(MoveMachine.user)", "--regid=\(MoveMachine.user)", "--clear-groups",
                    "/bin/sh", "-c", script, machine.own, secret,
                ],
                environment: ["PATH": "/usr/bin:/bin"]
            )
            let device = machine.own + "/device.key"
            try await Deadline.wait(for: "the first exchange") {
                let text = try? String(contentsOfFile: device, encoding: .utf8)
                return text == MoveMachine.content("device.key") ? nil : true
            }
            _ = try await machine.run("enable")
            // It leads a session: what it started ends with it.
            kill(-hostile.processID, SIGKILL)
            hostile.stop()
            for (name, text) in PrivateMove.content(machine.kept) {
                #expect(!text.contains("a secret of root's"), "\(name)")
                var status = stat()
                #expect(lstat(machine.kept + "/" + name, &status) == 0 && status.st_mode & S_IFMT == S_IFREG)
                #expect(status.st_nlink == 1)
            }
            // Root's file is unchanged, whatever was linked to it.
            #expect(try String(contentsOfFile: secret, encoding: .utf8) == "a secret of root's")
            var status = stat()
            #expect(stat(secret, &status) == 0 && status.st_uid == 0 && status.st_mode & 0o7777 == 0o600)
        }
    }

    @Test("only root can run it, with a hint otherwise, and without a keychain it does nothing")
    func refusals() async throws {
        let machine = try MoveMachine()
        try machine.resetInSystemMode()
        let (again, text) = try await machine.run("enable")
        #expect(again == 10 << 8 && text.contains("error: the keychain is in system mode already"), "\(text)")
        try machine.reset()
        let (never, told) = try await machine.run("disable")
        #expect(never == 7 << 8 && told.contains("hint: sudo touchstone system enable"), "\(told)")
        #expect(machine.faults.isEmpty)
        let ordinary = [
            "/usr/bin/setpriv", "--reuid=\(MoveMachine.user)", "--regid=\(MoveMachine.user)",
            "--clear-groups",
        ]
        let (refused, hint) = try await machine.run("enable", tracer: ordinary)
        #expect(refused == 7 << 8 && hint.contains("hint: sudo touchstone system enable"), "\(hint)")
    }
}
