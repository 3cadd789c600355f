import Foundation
import Glibc
import KeychainModel
import Testing
import TouchstoneTesting

@testable import SystemMigration

@Suite(
    "Who holds a keychain's directory",
    .serialized,
    .enabled(if: access("/usr/bin/python3", X_OK) == 0, "needs python3")
)
struct DirectoryHoldTests {
    /// The size of `/proc/locks`: as it is, and with another program's locks beyond the first MiB.
    enum Locks: CaseIterable, Sendable {
        case few, many
    }

    /// A process that looks like a daemon, or only has one's lock.
    enum Holder: CaseIterable, Sendable {
        case daemon, another, unlocked
    }

    /// Takes 26,000 locks of other ranges, whose lines come before later ones or between them.
    private static let others = """
        import fcntl, sys, time
        files = [open(sys.argv[1] + "/ranges-%d" % number, "w") for number in range(26)]
        for file in files:
            for start in range(1000):
                fcntl.lockf(file, fcntl.LOCK_EX, 1, 2 * start)
        open(sys.argv[1] + "/taken", "w").close()
        time.sleep(600)
        """

    /// Takes and releases locks all the time: while `/proc/locks` is read, the kernel then skips lines.
    private static let changing = """
        import fcntl, sys
        files = [open(sys.argv[1] + "/ranges-%d" % number, "w") for number in range(26)]
        while True:
            for file in files:
                for start in range(100):
                    fcntl.lockf(file, fcntl.LOCK_EX, 1, 2 * start)
            open(sys.argv[1] + "/taken", "w").close()
            for file in files:
                fcntl.lockf(file, fcntl.LOCK_UN)
        """

    private static let holder = """
        import ctypes, fcntl, os, sys, time
        ctypes.CDLL(None).prctl(15, sys.argv[2].encode())
        directory = os.open(sys.argv[1] + "/touchstone", os.O_RDONLY)
        if sys.argv[3] == "locked":
            fcntl.flock(directory, fcntl.LOCK_EX)
        open(sys.argv[1] + "/held", "w").close()
        time.sleep(600)
        """

    private func start(_ script: String, _ arguments: [String], until file: String) async throws
        -> ChildProcess
    {
        let process = try await ChildProcess.start("/usr/bin/python3", ["-c", script] + arguments)
        try await Deadline.wait(for: file) { () -> Bool? in
            guard process.isRunning else { throw TestKitError.unexpected("python ended") }
            return access(file, F_OK) == 0 ? true : nil
        }
        return process
    }

    @Test(
        "is found whatever other programs have locked, and nobody else is",
        arguments: Locks.allCases,
        Holder.allCases
    )
    func matrix(locks: Locks, holder: Holder) async throws {
        let home = try TemporaryDirectory()
        let directory = try home.makeDirectory("touchstone")
        var others: ChildProcess?
        if locks == .many {
            others = try await start(Self.others, [home.path], until: home.appending("taken"))
            let size = try SmallFile.bytes("/proc/locks", atMost: .max).count
            #expect(size > 1 << 20, "\(size)")
        }
        let process = try await start(
            Self.holder,
            [
                home.path, holder == .another ? "other" : "touchstoned",
                holder == .unlocked ? "open" : "locked",
            ],
            until: home.appending("held")
        )
        var status = stat()
        #expect(stat(directory, &status) == 0)
        let found = try DirectoryHold.holder(device: status.st_dev, inode: status.st_ino, owner: geteuid())
        #expect(found == (holder == .unlocked ? nil : process.processID))
        let foreign = try DirectoryHold.holder(device: status.st_dev, inode: status.st_ino, owner: 4_321)
        #expect(foreign == nil)
        let directories = try DirectoryHold.directories(of: geteuid()).filter { $0.directory == directory }
        #expect(directories.map(\.process) == (holder == .daemon ? [process.processID] : []))
        others?.stop()
        process.stop()
    }

    // Catches a holder that is not asked because the kernel skipped its line of `/proc/locks` in each look.
    @Test("is asked to end while other programs' locks come and go", .timeLimit(.minutes(10)))
    func changing() async throws {
        let home = try TemporaryDirectory()
        let path = try home.makeDirectory("touchstone")
        let others = try await start(Self.changing, [home.path], until: home.appending("taken"))
        let user = Account(uid: geteuid(), gid: getegid(), groups: [getegid()])
        for _ in 0..<CaseSize.of(100, full: 2000) {
            unlink(home.appending("held"))
            let process = try await start(
                Self.holder,
                [home.path, "touchstoned", "locked"],
                until: home.appending("held")
            )
            let directory = try #require(try OpenDirectory.open(path, owner: user.uid))
            try DirectoryHold.take(directory, from: user)
            #expect(!process.isRunning)
        }
        others.stop()
    }
}
