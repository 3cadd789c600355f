internal import BrokerProtocol
internal import CLinux
internal import Glibc
public import KeychainModel
internal import SecretMemory
internal import SystemFacts
internal import Threads

/// Where the broker is, and who it has to be.
public struct BrokerAddress: Sendable, Equatable {
    /// Its socket.
    public let path: String
    /// The user who called listen(2) on it: root, for a socket that the service manager made.
    public let owner: UInt32
    /// How many seconds a question may take.
    public let patience: Int

    /// Names a broker; a test's may be its own user's, and slower.
    public init(path: String = "/run/touchstone-broker/socket", owner: UInt32 = 0, patience: Int = 1) {
        self.path = path
        self.owner = owner
        self.patience = patience
    }
}

/// The other end of the broker's socket: names callers, and tells the digest of enrolled templates.
///
/// Each question has a connection of its own, so that a broker that was started anew is found again. No question takes
/// longer than a second; a broker that is away, slow or another user's, or that says what is no answer, tells nothing.
public final class Broker: Sendable {
    /// An answer, and the descriptor that came with it.
    struct Answer {
        let reply: BrokerReply
        let image: ProgramImage?
    }

    /// Why nothing is told.
    struct Silence: Error {
        let reason: String
    }

    private let address: BrokerAddress
    private let onAway: @Sendable (String) -> Void
    /// Whether the last question had no answer: each absence is told once.
    private let isAway = Guarded(false)

    /// Gets ready to ask; nothing is asked yet.
    ///
    /// - Parameters:
    ///   - address: where it is.
    ///   - onAway: called with the reason when it does not answer, once until it does again.
    public init(at address: BrokerAddress, onAway: @escaping @Sendable (String) -> Void = { _ in }) {
        self.address = address
        self.onAway = onAway
    }

    /// Why the broker answers nobody; nil when it does.
    public func fault() async -> DriverCause? {
        await onThread(.brokerAway) { [self] in waitForFault() }
    }

    /// The same, on the caller's thread, which waits for the answer.
    public func waitForFault() -> DriverCause? {
        let handle = clinux_pidfd_open(getpid())
        guard handle >= 0 else { return nil }
        defer { close(handle) }
        do throws(Silence) {
            _ = try ask(.identify, handle: handle)
            return nil
        } catch {
            return DriverCause(.brokerAway, detail: error.reason)
        }
    }

    /// Asks, and waits for the answer for at most the address's ``BrokerAddress/patience``.
    func ask(_ request: BrokerRequest, handle: CInt = -1) throws(Silence) -> Answer {
        do throws(Silence) {
            let answer = try exchange(request, handle)
            isAway.withLock { $0 = false }
            return answer
        } catch {
            let isNews = isAway.withLock { isAway in
                defer { isAway = true }
                return !isAway
            }
            if isNews { onAway(error.reason) }
            throw error
        }
    }

    /// Runs `body`, which may wait, on a thread of its own; `failure` where there is none.
    func onThread<R: Sendable>(_ failure: R, _ body: @escaping @Sendable () -> R) async -> R {
        await withCheckedContinuation { continuation in
            let result = BlockingThread.start { continuation.resume(returning: body()) }
            if result != 0 { continuation.resume(returning: failure) }
        }
    }

    // MARK: One question

    private func exchange(_ request: BrokerRequest, _ handle: CInt) throws(Silence) -> Answer {
        let deadline = Self.now + Int64(address.patience) * 1000
        let socket = socket(AF_UNIX, CInt(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else { throw Silence(reason: "socket: \(SystemError.name(of: errno))") }
        defer { close(socket) }
        try connect(socket)
        var peer = clinux_peer()
        guard unsafe clinux_peer_credentials(socket, &peer) == 0, peer.uid == address.owner else {
            throw Silence(reason: "the socket is user \(peer.uid)'s")
        }
        let packet = request.packet
        guard unsafe clinux_send_packet(socket, packet, packet.count, handle) == packet.count else {
            throw Silence(reason: "send: \(SystemError.name(of: errno))")
        }
        var octets = [UInt8](repeating: 0, count: BrokerRequest.longest)
        var descriptor: CInt = -1
        while true {
            let left = deadline - Self.now
            guard left > 0 else { throw Silence(reason: "no answer in time") }
            var pending = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
            guard unsafe poll(&pending, 1, CInt(left)) > 0 else { continue }
            let count = unsafe clinux_receive_packet(socket, &octets, octets.count, &descriptor)
            if count < 0, errno == EAGAIN || errno == EINTR { continue }
            let image = descriptor < 0 ? nil : ProgramImage(taking: descriptor)
            guard count > 0, let reply = BrokerReply(packet: Array(octets[..<count])) else {
                throw Silence(reason: count == 0 ? "it hung up" : "what came is no answer")
            }
            if reply.text(.refused) == BrokerReply.noDaemon { throw Silence(reason: BrokerReply.noDaemon) }
            return Answer(reply: reply, image: image)
        }
    }

    private func connect(_ socket: CInt) throws(Silence) {
        var patience = timeval(tv_sec: address.patience, tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        let octets = address.path.utf8
        guard octets.count < MemoryLayout.size(ofValue: name.sun_path) else {
            throw Silence(reason: "the path is too long")
        }
        unsafe withUnsafeMutableBytes(of: &name.sun_path) { unsafe $0.copyBytes(from: octets) }
        // Connecting waits while the broker has more callers than it takes.
        let isConnected =
            unsafe setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &patience, size) == 0
            && withUnsafeBytes(of: &name) { octets in
                unsafe Glibc.connect(
                    socket,
                    octets.assumingMemoryBound(to: sockaddr.self).baseAddress,
                    socklen_t(octets.count)
                ) == 0
            }
        guard isConnected else { throw Silence(reason: "connect: \(SystemError.name(of: errno))") }
    }

    /// Milliseconds that never go back.
    private static var now: Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}
