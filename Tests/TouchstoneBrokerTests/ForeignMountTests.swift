import BrokerProtocol
import CLinux
import Foundation
import Glibc
import KeychainModel
import Testing
import TouchstoneTesting

@Suite(
    "Names of programs on a machine with many mounts",
    .serialized,
    .enabled(
        if: RunningBroker.isPossible && BrokerTests.canUnshare && BrokerTests.isRoot,
        "needs python3, and root with CAP_SYS_PTRACE and mount namespaces"
    )
)
struct ForeignMountTests {
    /// The mounts of other users: each line of mountinfo has 32 KB, so 400 are over 12 MB.
    enum Mounts: Int, CaseIterable, Sendable {
        case none = 0
        case many = 400
    }

    /// Where the program is: the broker may not enter a directory that only its owner may.
    enum Place: String, CaseIterable, Sendable {
        case open, ownersOnly
    }

    /// What happened to the program's file after it was started.
    enum Fate: String, CaseIterable, Sendable {
        case stays, deleted, renamed, unmounted, covered
    }

    /// Mounts, starts the program, and does to its file what is to happen.
    private static let script = """
        import ctypes, os, shutil, subprocess, sys
        base, count, place, fate = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
        libc = ctypes.CDLL(None, use_errno=True)
        def mount(source, target, kind, flags):
            if libc.mount(source.encode(), target.encode(), kind.encode(), flags, None) != 0:
                raise OSError(ctypes.get_errno(), target)
        mount("long", base + "/long", "tmpfs", 0)
        # Names of spaces: four characters each in mountinfo.
        path = base + "/long"
        while len(path) < 3600:
            path += "/" + " " * 250
            os.mkdir(path)
        for number in range(count):
            mount(path, path, "", 4096)
        home = base + "/home"
        mount("home", home, "tmpfs", 0)
        program = home + "/program"
        shutil.copy("/bin/sleep", program)
        if place == "ownersOnly":
            os.chown(home, 4321, 4321)
            os.chmod(home, 0o700)
        process = subprocess.Popen([program, "600"])
        if fate == "deleted":
            os.unlink(program)
        elif fate == "renamed":
            os.rename(program, program + "-new")
        elif fate == "unmounted":
            if libc.umount2(home.encode(), 2) != 0:
                raise OSError(ctypes.get_errno(), home)
        elif fate == "covered":
            open(base + "/other", "w").close()
            mount(base + "/other", program, "", 4096)
        with open(base + "/ready.new", "w") as file:
            file.write(str(process.pid))
        os.rename(base + "/ready.new", base + "/ready")
        process.wait()
        """

    @Test(
        "a program is named by its file, or has no name on the machine, whatever others mount",
        arguments: Mounts.allCases,
        Place.allCases
    )
    func matrix(mounts: Mounts, place: Place) async throws {
        for fate in Fate.allCases {
            // A mount over a file in a directory that the broker may not enter is not seen; only its owner can make one.
            if place == .ownersOnly, fate == .covered { continue }
            let cell: Comment = "\(mounts) \(place) \(fate)"
            let directory = try TemporaryDirectory(mode: 0o755)
            for name in ["long", "home"] { _ = try directory.makeDirectory(name, mode: 0o755) }
            let log = directory.appending("log")
            let machine = try await ChildProcess.start(
                "/usr/bin/unshare",
                [
                    "--mount", "--propagation", "private", RunningBroker.python, "-c", Self.script,
                    directory.path,
                    "\(mounts.rawValue)", place.rawValue, fate.rawValue,
                ],
                log: log
            )
            let pid = try await Deadline.wait(for: "the program") { () -> Int32? in
                guard machine.isRunning else {
                    throw TestKitError.unexpected((try? String(contentsOfFile: log, encoding: .utf8)) ?? "")
                }
                return (try? String(contentsOfFile: directory.appending("ready"), encoding: .utf8)).flatMap {
                    Int32($0)
                }
            }
            defer { kill(pid, SIGKILL) }
            let broker = try await RunningBroker(machine: machine.processID)
            let handle = clinux_pidfd_open(pid)
            defer { close(handle) }
            let program = directory.appending("home/program")
            try await Deadline.wait(for: "the program's start") {
                let link = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/exe")
                return link?.hasSuffix("/sleep") == true || link?.contains("python") == true ? nil : true
            }
            let reply = try #require(try await BrokerPeer(broker.path).ask(.identify, handle: handle), cell)
            switch fate {
            case .stays: #expect(reply.text(.path) == program, cell)
            case .renamed: #expect(reply.text(.path) == program + "-new", cell)
            case .deleted, .unmounted, .covered:
                #expect(reply[.path] == .untold("no name on this machine"), cell)
            }
            #expect(reply[.fault] == nil, cell)
        }
    }

    @Test("with few descriptors a program is named or the fault is told; it is never an unknown one")
    func descriptors() async throws {
        var faults = 0
        for most in 6...16 {
            let broker = try await RunningBroker(descriptors: most)
            let handle = clinux_pidfd_open(getpid())
            defer { close(handle) }
            guard let reply = try await BrokerPeer(broker.path).ask(.identify, handle: handle) else {
                continue
            }
            if let reason = reply.text(.fault) {
                faults += 1
                #expect(reason.contains("Too many open files"), "\(most): \(reason)")
            } else {
                #expect(reply.text(.path) != nil, "\(most): \(reply.values)")
            }
        }
        #expect(faults > 0)
    }
}
