import BrokerProtocol
import CLinux
import Foundation
import Glibc
import KeychainModel
import Testing
import TouchstoneTesting

@Suite(
    "The broker",
    .serialized,
    .enabled(if: RunningBroker.isPossible, "needs python3, and as root CAP_SYS_PTRACE")
)
struct BrokerTests {
    /// Whether this process can create mount namespaces.
    static let canUnshare: Bool = {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/unshare")
        process.arguments = ["-m", "true"]
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }()
    static let isRoot = FileManager.default.isReadableFile(atPath: "/proc/1/environ")

    private func identify(_ pid: Int32, _ broker: RunningBroker) async throws -> BrokerReply {
        let handle = clinux_pidfd_open(pid)
        try #require(handle >= 0)
        defer { close(handle) }
        return try #require(try await BrokerPeer(broker.path).ask(.identify, handle: handle))
    }

    /// Waits until a process has executed the program at a path.
    private func runs(_ pid: Int32, _ path: String) async throws {
        try await Deadline.wait(for: "the program \(path)") {
            let link = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/exe")
            return link == path ? true : nil
        }
    }

    @Test("a process is named by its file, with its start time")
    func ordinary() async throws {
        let broker = try await RunningBroker()
        let reply = try await identify(getpid(), broker)
        var status = stat()
        #expect(stat("/proc/self/exe", &status) == 0)
        let path = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        #expect(reply.text(.path) == path)
        #expect(
            reply.number(.device) == UInt64(status.st_dev) && reply.number(.inode) == UInt64(status.st_ino)
        )
        #expect(reply.number(.owner) == UInt64(status.st_uid))
        #expect(reply.number(.mode) == UInt64(status.st_mode))
        #expect(reply.number(.deleted) == 0 && reply.number(.namespaces) == 1)
        #expect(reply.number(.tracer) == 0)
        let standing = try #require(ProcessStat(of: getpid()))
        #expect(reply.number(.start) == standing.start)
        #expect(reply.number(.session) == UInt64(standing.session))
        #expect(reply.number(.terminal) == standing.terminal)
    }

    @Test("the last executed program is named, and nothing for a process that has ended")
    func changes() async throws {
        let broker = try await RunningBroker()
        let sleeper = try await ChildProcess.start("/bin/sh", ["-c", "exec sleep 600"])
        let sleep = URL(fileURLWithPath: "/bin/sleep").resolvingSymlinksInPath().path
        try await runs(sleeper.processID, sleep)
        #expect(try await identify(sleeper.processID, broker).text(.path) == sleep)
        let handle = clinux_pidfd_open(sleeper.processID)
        defer { close(handle) }
        sleeper.stop()
        let reply = try await BrokerPeer(broker.path).ask(.identify, handle: handle)
        #expect(reply == BrokerReply(refused: "no process"))
    }

    @Test("a deleted program has no path")
    func deleted() async throws {
        let broker = try await RunningBroker()
        let directory = try TemporaryDirectory()
        let copy = directory.appending("program")
        #expect(try await ChildProcess.start("/bin/cp", ["/bin/sleep", copy]).waitUntilEnd() == 0)
        let process = try await ChildProcess.start(copy, ["600"])
        try await runs(process.processID, copy)
        #expect(try await identify(process.processID, broker).text(.path) == copy)
        unlink(copy)
        let reply = try await identify(process.processID, broker)
        #expect(reply[.path] == .untold("no name on this machine") && reply.number(.deleted) == 1)
    }

    @Test(
        "a program in its own mount namespace has no path",
        .enabled(if: canUnshare, "needs mount namespaces")
    )
    func namespaces() async throws {
        let broker = try await RunningBroker()
        let directory = try TemporaryDirectory()
        let trusted = try directory.write("", to: "trusted")
        let script = "mount --bind /bin/sleep \(trusted) && exec \(trusted) 600"
        let process = try await ChildProcess.start("/usr/bin/unshare", ["-m", "sh", "-c", script])
        try await runs(process.processID, trusted)
        let reply = try await identify(process.processID, broker)
        #expect(reply[.path] == .untold("other namespaces") && reply.number(.namespaces) == 0)
    }

    /// Asks as another user; returns the number of bytes received, nil if the connection was closed.
    private func ask(_ broker: RunningBroker, as user: UInt32) async throws -> Int? {
        let script = """
            import socket, sys
            peer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            peer.connect(sys.argv[1])
            try:
                peer.send(bytes.fromhex(sys.argv[2]))
                print("answered", len(peer.recv(1 << 16)))
            except (BrokenPipeError, ConnectionResetError):
                print("answered 0")
            """
        let packet = BrokerRequest.enrolment(uid: 0).packet.map { String(format: "%02x", $0) }.joined()
        let log = broker.directory.appending("asked-\(user)")
        let process = try await ChildProcess.start(
            "/usr/bin/setpriv",
            [
                "--reuid=\(user)", "--regid=\(user)", "--clear-groups", RunningBroker.python, "-c", script,
                broker.path, packet,
            ],
            log: log
        )
        _ = try await process.waitUntilEnd()
        let text = try String(contentsOfFile: log, encoding: .utf8)
        let count = text.split(whereSeparator: \.isWhitespace).last.flatMap { Int($0) }
        return try #require(count, "\(text)") == 0 ? nil : count
    }

    @Test(
        "users other than its account and root are refused, and the broker keeps a single capability",
        .enabled(if: isRoot, "needs root")
    )
    func privileges() async throws {
        let broker = try await RunningBroker(account: "nobody")
        #expect(chmod(broker.directory.path, 0o711) == 0 && chmod(broker.path, 0o666) == 0)
        let account = try #require(Owner.named("nobody")?.uid)
        #expect(try await ask(broker, as: 4_321) == nil)
        for user in [account, 0] { #expect(try await ask(broker, as: user) != nil) }
        let status = try String(contentsOfFile: "/proc/\(broker.process.processID)/status", encoding: .utf8)
        for set in ["CapPrm", "CapEff", "CapBnd"] { #expect(status.contains("\(set):\t0000000000080000")) }
        for set in ["CapInh", "CapAmb"] { #expect(status.contains("\(set):\t0000000000000000")) }
        #expect(status.contains("NoNewPrivs:\t1") && status.contains("Threads:\t1"))
    }

    @Test("an invalid request ends its connection, and the next one is served")
    func malformed() async throws {
        let broker = try await RunningBroker()
        var random = SystemRandomNumberGenerator()
        let good = [BrokerRequest.identify.packet, BrokerRequest.enrolment(uid: 1000).packet]
        for number in 0..<CaseSize.of(300, full: 10_000) {
            var octets = good[number % 2]
            octets[Int.random(in: 0..<octets.count, using: &random)] ^= UInt8.random(
                in: 1...255,
                using: &random
            )
            guard BrokerRequest(packet: octets) == nil else { continue }
            #expect(try await { try BrokerPeer(broker.path) }().refuses(octets))
        }
        #expect(
            try await BrokerPeer(broker.path).refuses([UInt8](repeating: 0, count: BrokerRequest.longest + 1))
        )
        #expect(try await BrokerPeer(broker.path).refuses(BrokerRequest.identify.packet))
        #expect(try await identify(getpid(), broker).text(.path) != nil)
    }

    @Test("a silent peer, and one that never reads, delay nobody")
    func silent() async throws {
        let broker = try await RunningBroker()
        let silent = try BrokerPeer(broker.path)
        let deaf = try BrokerPeer(broker.path)
        while deaf.send(BrokerRequest.enrolment(uid: 0).packet) {}
        #expect(try await identify(getpid(), broker).text(.path) != nil)
        #expect(try await silent.receive() == nil)
    }

    @Test("a replaced, an added and a re-enrolled finger each change the digest")
    func enrolment() async throws {
        let directory = try TemporaryDirectory()
        let user = try #require(Owner.ofThisProcess().name)
        let owner = Owner.ofThisProcess().uid
        for name in [user, "\(user)/driver", "\(user)/driver/0"] { _ = try directory.makeDirectory(name) }
        let broker = try await RunningBroker(templates: directory.path)
        var seen: [[UInt8]] = []
        func look(count: UInt64) async throws {
            let reply = try await BrokerPeer(broker.path).ask(.enrolment(uid: owner))
            let again = try await BrokerPeer(broker.path).ask(.enrolment(uid: owner))
            let digest = try #require(reply?.bytes(.digest))
            #expect(reply == again && digest.count == 32 && reply?.number(.count) == count)
            #expect(!seen.contains(digest))
            seen.append(digest)
        }
        try await look(count: 0)
        _ = try directory.write("one", to: "\(user)/driver/0/7")
        try await look(count: 1)
        _ = try directory.write("two", to: "\(user)/driver/0/7")
        try await look(count: 1)
        _ = try directory.write("three", to: "\(user)/driver/0/8")
        try await look(count: 2)
        // Kept under another name, so that the new file gets another inode.
        rename(directory.appending("\(user)/driver/0/8"), directory.appending("kept"))
        _ = try directory.write("three", to: "\(user)/driver/0/8")
        try await look(count: 2)
        let stranger = try await BrokerPeer(broker.path).ask(.enrolment(uid: 4_000_000_000))
        #expect(stranger == BrokerReply(refused: "no such user"))
    }
}

extension BrokerPeer {
    /// Whether the connection is closed without an answer.
    func refuses(_ octets: [UInt8]) async throws -> Bool {
        send(octets)
        do {
            return try await receive() == nil
        } catch TestKitError.system {
            return true
        }
    }
}
