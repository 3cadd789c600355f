import Glibc
import KeychainModel
import Testing
import TouchstoneTesting

@Suite("Protection of the daemon's process", .enabled(if: Programs.isBuilt, "touchstoned is not built"))
struct SecrecyTests {
    /// A user that owns nothing else.
    private static let user: UInt32 = 12_345

    private static func asUser(_ user: UInt32 = user) -> [String] {
        [Programs.setpriv, "--reuid=\(user)", "--regid=\(user)", "--clear-groups"]
    }

    private static func looks(at pid: Int32) -> [String] {
        [
            "cat /proc/\(pid)/environ", "cat /proc/\(pid)/mem", "cat /proc/\(pid)/maps",
            "readlink /proc/\(pid)/exe",
            "readlink /proc/\(pid)/cwd", "ls /proc/\(pid)/fd", "cat /proc/\(pid)/stack",
        ]
    }

    /// Whether processes may only trace their own children (Yama).
    private static var hasRestrictedTracing: Bool {
        let scope = try? String(contentsOf: "/proc/sys/kernel/yama/ptrace_scope")
        return scope.map { !$0.hasPrefix("0") } ?? false
    }

    @Test(
        "another process of the same user cannot inspect the daemon",
        .enabled(
            if: Programs.canChangeUser && Python.isThere,
            "needs root, setpriv and python3 to be two processes of one other user"
        )
    )
    func sameUser() async throws {
        let home = try DaemonHome()
        home.give(to: Self.user)
        let daemon = try await RunningDaemon(home, through: Self.asUser())
        for look in Self.looks(at: daemon.process.processID) {
            let finished = try await Finished.running(Self.asUser() + ["/bin/sh", "-c", look])
            #expect(finished.status != 0, "\(look): \(finished.output)")
        }
        #expect(try await Python.traces(daemon.process.processID, through: Self.asUser()) == "1 1")
        // Control: an unprotected process can be inspected in these ways.
        let other = try await ChildProcess.start(
            Programs.setpriv,
            Array(Self.asUser().dropFirst()) + ["/bin/sleep", "600"],
            environment: ["MARKER": "1"]
        )
        let open = "until readlink /proc/\(other.processID)/exe | grep -q sleep; do :; done; "
        let control = try await Finished.running(
            Self.asUser() + ["/bin/sh", "-c", open + "cat /proc/\(other.processID)/environ"]
        )
        #expect(control.output.contains("MARKER"))
        guard !Self.hasRestrictedTracing else { return }
        #expect(try await Python.traces(other.processID, through: Self.asUser()) == "0 0")
    }

    @Test("a crash leaves no core dump", arguments: [SIGSEGV, SIGABRT, SIGQUIT, SIGILL])
    func noCore(signal: Int32) async throws {
        let home = try DaemonHome()
        let directory = home.directory.path
        let daemon = try await RunningDaemon(
            home,
            through: ["/bin/sh", "-c", "cd \(directory) && ulimit -c unlimited && exec \"$@\"", "sh"]
        )
        let limits = try String(contentsOf: "/proc/\(daemon.process.processID)/limits")
        let line = limits.split(separator: "\n").first { $0.hasPrefix("Max core file size") }
        #expect(line?.split(separator: " ").filter { $0 == "0" }.count == 2)
        kill(daemon.process.processID, signal)
        let finished = Finished(try await daemon.process.waitUntilEnd(), daemon.log)
        #expect(finished.status == -signal)
        #expect(!finished.dumpedCore)
        #expect(access(directory + "/core", F_OK) != 0)
        // Swift's own crash report would print the process's data.
        #expect(!daemon.log.contains("Crash"))
    }

    @Test("without locked memory for secrets the daemon refuses to start, with a hint")
    func noLockedMemory() async throws {
        let home = try DaemonHome()
        let withoutCapability = ["--bounding-set=-ipc_lock", "--inh-caps=-ipc_lock"]
        let finished = try await Finished.running(
            ["/usr/bin/prlimit", "--memlock=0:0"]
                + (Programs.canChangeUser ? [Programs.setpriv] + withoutCapability : [])
                + [Programs.touchstoned, "--foreground"],
            environment: home.environment
        )
        #expect(finished.status == 1)
        #expect(finished.output.contains("error: no locked memory for secrets"))
        #expect(finished.output.contains("hint: raise the limit on locked memory"))
        #expect(access(home.layout.socket, F_OK) != 0)
    }

    @Test(
        "a client of another user is refused, including root",
        .enabled(if: Programs.canChangeUser && Python.isThere, "needs root, setpriv and python3")
    )
    func otherUser() async throws {
        let home = try DaemonHome(mode: 0o711)
        let daemon = try await RunningDaemon(home)
        // The modes alone keep others out; without them the daemon itself refuses.
        chmod(home.layout.runtimeDirectory, 0o711)
        chmod(home.layout.socket, 0o666)
        let reply = try await Python.firstOctets(from: home.layout.socket, through: Self.asUser())
        #expect(reply.contains("missing"))
        let ours = try await daemon.client()
        #expect(try await ours.call(.status, EmptyBody()).status == .success)

        let usersHome = try DaemonHome(mode: 0o711)
        usersHome.give(to: Self.user)
        let usersDaemon = try await RunningDaemon(usersHome, through: Self.asUser())
        let root = try await Python.firstOctets(from: usersHome.layout.socket, through: [])
        #expect(root.contains("missing"))
        withExtendedLifetime((daemon, usersDaemon)) {}
    }
}

/// A client in Python, for other users.
private enum Python {
    static let path = "/usr/bin/python3"

    static var isThere: Bool { access(path, X_OK) == 0 }

    /// The errno values of process_vm_readv(2) and ptrace(2).
    static func traces(_ pid: Int32, through wrapper: [String]) async throws -> String {
        let program = """
            import ctypes, sys
            class Part(ctypes.Structure):
                _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]
            libc = ctypes.CDLL(None, use_errno=True)
            pid = int(sys.argv[1])
            try:
                place = int(open(f"/proc/{pid}/maps").readline().split("-")[0], 16)
            except OSError:
                place = 0x1000
            room = ctypes.create_string_buffer(8)
            near, far = Part(ctypes.addressof(room), 8), Part(place, 8)
            def outcome(result):
                return ctypes.get_errno() if result < 0 else 0
            read = libc.process_vm_readv(pid, ctypes.byref(near), ctypes.c_ulong(1), ctypes.byref(far),
                ctypes.c_ulong(1), ctypes.c_ulong(0))
            read = outcome(read)
            seize = outcome(libc.ptrace(0x4206, pid, None, None))
            print(read, seize, end="")
            """
        return try await Finished.running(wrapper + [path, "-c", program, "\(pid)"]).output
    }

    /// Prints "missing" if the first message is `errSecMissingEntitlement` with number 0, else "greeted".
    static func firstOctets(from socket: String, through wrapper: [String]) async throws -> String {
        let program = """
            import socket, sys
            client = socket.socket(socket.AF_UNIX)
            client.settimeout(10)
            client.connect(sys.argv[1])
            octets = client.recv(4096)
            print("missing" if octets[4:10] == bytes([0x85, 1, 0, 0x39, 0x84, 0xe1]) else "greeted")
            """
        return try await Finished.running(wrapper + [path, "-c", program, socket]).output
    }
}
