import Foundation
import Glibc
import KeychainModel
import Testing
import TouchstoneTesting

/// `touchstone system` itself, as root, in mounts of its own: accounts and `/var/lib` are a test's, and nothing of the
/// machine's changes.
final class MoveMachine: Sendable {
    /// Whether a process may have mounts of its own, and be traced: all that the tests do is tried once.
    static let isPossible: Bool = {
        let programs = [
            "/usr/bin/strace", "/usr/bin/unshare", "/usr/bin/setpriv", "/usr/libexec",
            "/usr/lib/systemd/system",
        ]
        guard geteuid() == 0, programs.allSatisfy({ access($0, X_OK) == 0 }),
            let home = try? TemporaryDirectory(mode: 0o755), (try? home.write("", to: "file")) != nil
        else { return false }
        let trial = Process()
        trial.executableURL = URL(fileURLWithPath: "/usr/bin/unshare")
        trial.arguments = [
            "--mount", "--propagation", "private", "/bin/sh", "-ec",
            """
            chown \(user):\(user) "$0/file"
            mount --bind "$0/file" /etc/passwd; mount --bind "$0" /var/lib; mount -t tmpfs -o mode=755 run /run
            \(parts)
            strace -qq -o /dev/null -e trace=mkdir -e inject=mkdir:error=ENOSPC:when=1 true
            strace -qq -o /dev/null setpriv --reuid=\(user) --regid=\(user) --clear-groups true
            """,
            home.path,
        ]
        trial.standardOutput = FileHandle.nullDevice
        trial.standardError = FileHandle.nullDevice
        guard (try? trial.run()) != nil else { return false }
        trial.waitUntilExit()
        return trial.terminationStatus == 0
    }()

    static let user: UInt32 = 4_001
    static let keeper: UInt32 = 4_002
    static let agents: UInt32 = 4_003
    static let files = ["keybag", "device.key", "attempts", "items.sqlite", "daemon.log"]

    let home: TemporaryDirectory
    var own: String { home.appending("anna/.local/share/touchstone") }
    var system: String { home.appending("lib/touchstone") }
    var kept: String { "\(system)/\(Self.user)" }
    /// What a broker answers about a process that has ended: the map `{"refused": "no process"}`.
    private static let noProcess: [UInt8] =
        [0xA1, 0x67] + Array("refused".utf8) + [0x6A] + Array("no process".utf8)
    /// Who is asked before anything is moved.
    private let broker: ScriptedBroker

    init() throws {
        home = try TemporaryDirectory(mode: 0o755)
        broker = try ScriptedBroker(
            at: try home.makeDirectory("broker", mode: 0o755) + "/socket",
            backlog: 16,
            ScriptedBroker.answering(Self.noProcess)
        )
        _ = try home.write(
            """
            root:x:0:0::/root:/bin/sh
            anna:x:\(Self.user):\(Self.user)::\(home.appending("anna")):/bin/sh
            touchstone:x:\(Self.keeper):\(Self.keeper)::/nonexistent:/usr/sbin/nologin

            """,
            to: "passwd"
        )
        _ = try home.write(
            """
            root:x:0:
            anna:x:\(Self.user):
            touchstone:x:\(Self.keeper):
            touchstone-agent:x:\(Self.agents):
            touchstone-door:x:4004:

            """,
            to: "group"
        )
    }

    /// What `touchstone system enable` looks for before it moves anything, without the parts themselves.
    static let parts = """
        mount -t tmpfs -o mode=755 parts /usr/libexec; mount -t tmpfs -o mode=755 units /usr/lib/systemd/system
        mkdir /usr/libexec/touchstone; cd /usr/libexec/touchstone
        touch touchstoned touchstone-broker touchstone-agent; chmod 755 *; chgrp \(agents) touchstone-agent
        chmod 2755 touchstone-agent; cd /usr/lib/systemd/system
        for unit in touchstoned@ touchstone-broker; do touch $unit.service $unit.socket; done; cd /
        """

    /// The bytes of a file, another for each.
    static func content(_ name: String) -> String { String(repeating: "\(name) ", count: 700) }

    /// The user's keychain, and none in system mode.
    func reset() throws {
        for name in ["anna", "lib"] { try? FileManager.default.removeItem(atPath: home.appending(name)) }
        _ = try home.makeDirectory("lib", mode: 0o755)
        try make(own, owner: Self.user)
        var path = home.appending("anna")
        for part in ["", "/.local", "/share"] {
            path += part
            #expect(chown(path, Self.user, Self.user) == 0 && chmod(path, 0o755) == 0)
        }
    }

    /// A keychain in system mode, opened and checked.
    func resetInSystemMode() throws {
        try reset()
        for name in Self.files { try FileManager.default.removeItem(atPath: own + "/" + name) }
        try mark()
        try makeSystemDirectory()
        try make(kept, owner: Self.keeper)
    }

    /// Puts the user's own keychain out of force.
    func mark() throws {
        try put(
            MovedKeychain.text(destination: "/var/lib/touchstone/\(Self.user)"),
            own + "/moved",
            Self.user
        )
    }

    /// The directory of all users' keychains.
    func makeSystemDirectory() throws {
        try FileManager.default.createDirectory(
            atPath: system,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o755]
        )
    }

    /// Puts a file of the keychain into the user's directory.
    func put(_ name: String) throws { try put(Self.content(name), own + "/" + name, Self.user) }

    /// A keychain of `owner`.
    func make(_ path: String, owner: UInt32) throws {
        try FileManager.default.createDirectory(
            atPath: path,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
        guard chown(path, owner, owner) == 0 else { throw POSIXError(.EIO) }
        for name in Self.files { try put(Self.content(name), path + "/" + name, owner) }
    }

    private func put(_ text: String, _ path: String, _ owner: UInt32) throws {
        try text.write(toFile: path, atomically: false, encoding: .utf8)
        guard chmod(path, 0o600) == 0, chown(path, owner, owner) == 0 else { throw POSIXError(.EIO) }
    }

    /// Runs the command, under `tracer` where one is named; gives what waitpid(2) says, and what it wrote.
    func run(
        _ step: String,
        _ options: [String] = ["--yes", "--later"],
        tracer: [String] = [],
        parts: String = parts,
        before: String = ":"
    ) async throws -> (status: Int32, text: String) {
        let log = home.appending("log")
        try? FileManager.default.removeItem(atPath: log)
        let mounts = """
            mount --bind "$0/passwd" /etc/passwd; mount --bind "$0/group" /etc/group; mount --bind "$0/lib" /var/lib
            mount -t tmpfs -o mode=755 run /run
            mkdir /run/touchstone-broker; mount --bind "$0/broker" /run/touchstone-broker
            \(parts)
            \(before)
            exec "$@"
            """
        let process = try await ChildProcess.start(
            "/usr/bin/unshare",
            ["--mount", "--propagation", "private", "/bin/sh", "-ec", mounts, home.path] + tracer + [
                Programs.touchstone, "system", step, "--user", "anna",
            ] + options,
            environment: ["PATH": "/usr/bin:/bin:/usr/sbin:/sbin"],
            log: log
        )
        let status = try await process.waitUntilEnd()
        return (status, (try? String(contentsOfFile: log, encoding: .utf8)) ?? "")
    }

    /// Whether a directory has all files of the keychain, each as it was and its owner's alone.
    func isWhole(_ path: String, owner: UInt32) -> Bool {
        Self.files.allSatisfy { name in
            var status = stat()
            return stat(path + "/" + name, &status) == 0 && status.st_uid == owner
                && status.st_mode & 0o7777 == 0o600
                && (try? String(contentsOfFile: path + "/" + name, encoding: .utf8)) == Self.content(name)
        }
    }

    /// What is wrong at this moment; empty where one keychain is in force and whole, or none and all is kept.
    var faults: [String] {
        let names = PrivateMove.names(own)
        let ownCounts = !names.contains("moved") && !names.isDisjoint(with: Self.files)
        let ownOpen = !names.contains("moved")
        let keptCounts = access(kept, F_OK) == 0
        var faults: [String] = []
        if ownOpen, keptCounts { faults.append("two keychains are in force") }
        if ownCounts, !isWhole(own, owner: Self.user) {
            faults.append("the user's is in force and not whole")
        }
        if ownOpen, !ownCounts { faults.append("an empty one is in force") }
        if keptCounts, !isWhole(kept, owner: Self.keeper) {
            faults.append("that of system mode is not whole")
        }
        let copies = [
            isWhole(own, owner: Self.user), isWhole(kept, owner: Self.keeper),
            isWhole("\(system)/\(Self.user).old", owner: Self.keeper),
            isWhole("\(system)/\(Self.user).back", owner: Self.keeper),
        ]
        if !copies.contains(true) { faults.append("the keychain is lost") }
        return faults
    }
}

@Suite(
    "touchstone system that is killed",
    .serialized,
    .enabled(if: MoveMachine.isPossible, "needs root, strace and mounts of its own"),
    .timeLimit(.minutes(60))
)
struct KilledMoveTests {
    /// Calls that change something, and all others that it makes on its way.
    private static let changes = [
        "mkdir", "mkdirat", "fchown", "fchmod", "fsync", "renameat", "unlinkat", "sendfile", "write",
    ]
    private static let others = [
        "openat", "flock", "setgroups", "setresuid", "getdents64", "fstat", "newfstatat", "close",
    ]

    /// Kills the command at one call after the other; gives how many kills there were for each call.
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
                // strace(1) ends as what it traced did.
                guard status & 0x7F == SIGKILL else { break }
                counts[call, default: 0] += 1
                try await judge(call, number)
            }
        }
        return counts
    }

    @Test(
        "on the way to system mode, leaves one keychain or all of it; the same command, or the other one, goes on"
    )
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

    @Test("on the way back, leaves one keychain or all of it; the same command, or the other one, goes on")
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

    @Test("on a full disk moves nothing, and says so")
    func fullDisk() async throws {
        let machine = try MoveMachine()
        try machine.reset()
        let small = "mount -t tmpfs -o size=16k,mode=755 small /var/lib"
        let (status, text) = try await machine.run("enable", before: small)
        #expect(status == 1 << 8 && text.contains("error: there is no room"), "\(text)")
        #expect(machine.faults.isEmpty && machine.isWhole(machine.own, owner: MoveMachine.user))
    }

    @Test("without the parts of system mode, moves nothing and says which is missing")
    func parts() async throws {
        let machine = try MoveMachine()
        try machine.reset()
        let empty = "mount -t tmpfs parts /usr/libexec"
        let (status, text) = try await machine.run("enable", parts: empty)
        #expect(status == 7 << 8, "\(text)")
        #expect(text.contains("error: system mode is not whole on this machine"), "\(text)")
        #expect(text.contains("touchstoned is not there"), "\(text)")
        #expect(text.contains("hint: touchstone system status"), "\(text)")
        #expect(machine.faults.isEmpty && machine.isWhole(machine.own, owner: MoveMachine.user))
    }

    @Test("while the broker cannot be asked, moves nothing and says what to do; with it back, it moves")
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
        // The way back needs nobody's names.
        let (_, back) = try await machine.run("disable", before: "umount /run/touchstone-broker")
        #expect(machine.isWhole(machine.own, owner: MoveMachine.user), "\(back)")
    }

    @Test("while the user exchanges files for links, brings nothing of another's into the keychain")
    func exchanged() async throws {
        for _ in 0..<CaseSize.of(12, full: 200) {
            // Another for each: root writes nothing where a hostile process may still be at work.
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
            // Root's file is as it was, whoever it was linked to.
            #expect(try String(contentsOfFile: secret, encoding: .utf8) == "a secret of root's")
            var status = stat()
            #expect(stat(secret, &status) == 0 && status.st_uid == 0 && status.st_mode & 0o7777 == 0o600)
        }
    }

    @Test("is root's to run, and says how; of nobody's keychain it does nothing")
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
