import Glibc
import KeychainModel
import Testing
import TouchstoneTesting

@Suite("Floods", .serialized, .enabled(if: Programs.isBuilt, "touchstoned is not built"))
struct FloodTests {
    @Test("100 000 random frames neither end nor slow the daemon")
    func randomFrames() async throws {
        let daemon = try await RunningDaemon(DaemonHome(["log-level = critical"]))
        let bystander = try await daemon.client()
        var generator = SplitMix64(seed: 7)
        for _ in 0..<500 {
            // Turned away while the daemon has not yet seen the end of those before.
            let client = try await Deadline.wait(for: "a place") { try? await daemon.client() }
            var octets: [UInt8] = []
            // Most would end the connection by themselves; those behind must do no harm either.
            for id in 2...201 {
                let noise = (0..<Int.random(in: 0...40)).map { _ in
                    UInt8.random(in: 0...255, using: &generator)
                }
                let message = [0x84, 1, UInt8(id % 24), UInt8.random(in: 0...23)] + noise
                octets += TestClient.header(message.count) + message
            }
            _ = await client.writeSome(octets)
            await client.hangUp()
        }
        #expect(try await bystander.call(.status, EmptyBody()).status == .success)
        #expect(daemon.process.isRunning)
    }

    @Test("many more connections than are allowed are turned away, and the daemon recovers")
    func connections() async throws {
        let daemon = try await RunningDaemon(DaemonHome(["log-level = critical"]))
        for _ in 0..<4 {
            var sockets: [CInt] = []
            for _ in 0..<500 {
                if let socket = try? RunningDaemon.socket(at: daemon.home.layout.socket) {
                    sockets.append(socket)
                }
            }
            for socket in sockets { close(socket) }
        }
        try await Deadline.wait(for: "a place") {
            (try? await daemon.client()) != nil ? true : nil
        }
        #expect(daemon.process.isRunning)
    }

    @Test("without descriptors the daemon waits quietly, and serves again once there are some")
    func descriptors() async throws {
        let daemon = try await RunningDaemon(
            DaemonHome(["log-level = critical"]),
            through: ["/usr/bin/prlimit", "--nofile=32"]
        )
        var sockets: [CInt] = []
        for _ in 0..<60 {
            if let socket = try? RunningDaemon.socket(at: daemon.home.layout.socket) {
                sockets.append(socket)
            }
        }
        // Once it has taken in what came: ticks of 10 ms in a second, 5 % are 5.
        try await Deadline.wait(for: "a quiet second") {
            let before = try Self.processorTime(of: daemon.process.processID)
            try await Task.sleep(for: .seconds(1))
            return try Self.processorTime(of: daemon.process.processID) - before <= 5 ? true : nil
        }
        for socket in sockets { close(socket) }
        try await Deadline.wait(for: "a client") {
            (try? await daemon.client()) != nil ? true : nil
        }
    }

    @Test("descriptors that a client passes are not kept")
    func passedDescriptors() async throws {
        let daemon = try await RunningDaemon(DaemonHome(["log-level = critical"]))
        let quiet = try await daemon.client()
        let before = try Self.descriptorCount(of: daemon.process.processID)
        let socket = try RunningDaemon.socket(at: daemon.home.layout.socket)
        for _ in 0..<100 where Self.send(descriptors: 250, to: socket) {}
        #expect(try Self.descriptorCount(of: daemon.process.processID) <= before + 3)
        close(socket)
        #expect(try await quiet.call(.status, EmptyBody()).status == .success)
    }

    /// User and system time, in ticks (`/proc/PID/stat`, fields 14 and 15).
    private static func processorTime(of pid: Int32) throws -> Int {
        let fields = try String(contentsOf: "/proc/\(pid)/stat").split(separator: " ")
        return (Int(fields[13]) ?? 0) + (Int(fields[14]) ?? 0)
    }

    private static func descriptorCount(of pid: Int32) throws -> Int {
        guard let directory = opendir("/proc/\(pid)/fd") else { throw TestFailure.system(errno) }
        defer { closedir(directory) }
        var count = 0
        while readdir(directory) != nil { count += 1 }
        return count
    }

    /// One octet of a frame and as many descriptors as asked for, in one message; false when nobody reads.
    private static func send(descriptors count: Int, to socket: CInt) -> Bool {
        // struct cmsghdr on 64-bit Linux: length, SOL_SOCKET, SCM_RIGHTS; the descriptors follow.
        var control = [UInt64](repeating: 0, count: 2 + (count + 1) / 2)
        control[0] = UInt64(16 + 4 * count)
        control[1] = 1 | 1 << 32
        let controlLength = control.count * 8
        var octet: UInt8 = 0
        return withUnsafeMutablePointer(to: &octet) { octet in
            control.withUnsafeMutableBytes { control in
                var part = iovec(iov_base: octet, iov_len: 1)
                return withUnsafeMutablePointer(to: &part) { part in
                    var message = msghdr()
                    message.msg_iov = part
                    message.msg_iovlen = 1
                    message.msg_control = control.baseAddress
                    message.msg_controllen = controlLength
                    return sendmsg(socket, &message, CInt(MSG_NOSIGNAL) | CInt(MSG_DONTWAIT)) == 1
                }
            }
        }
    }
}
