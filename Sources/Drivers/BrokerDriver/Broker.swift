internal import BrokerProtocol
internal import CLinux
internal import Glibc
public import KeychainModel
internal import SecretMemory
internal import SystemFacts
internal import Threads

/// The broker's socket and the user it must belong to.
public struct BrokerAddress: Sendable, Equatable {
    /// The path of the socket.
    public let path: String
    /// The user who called listen(2) on it: root for a socket made by the service manager.
    public let owner: UInt32
    /// How many seconds a request may take.
    public let patience: Int

    /// Describes a broker; a test's may belong to the test's own user and be slower.
    public init(path: String = "/run/touchstone-broker/socket", owner: UInt32 = 0, patience: Int = 1) {
        self.path = path
        self.owner = owner
        self.patience = patience
    }
}

/// A client of the broker, which identifies callers and reports the digest of enrolled templates.
///
/// Each request has its own connection, so that a restarted broker is found again. No request takes longer than
/// ``BrokerAddress/patience``; a broker that is absent, slow, another user's or sends a malformed reply counts as no
/// reply.
public final class Broker: Sendable {
    /// A reply, and the descriptor that came with it.
    struct Answer {
        let reply: BrokerReply
        let image: ProgramImage?
    }

    /// Why there is no reply.
    struct Silence: Error {
        let reason: String
    }

    private let address: BrokerAddress
    private let onAway: @Sendable (String) -> Void
    /// Whether the last request failed: each outage is reported once.
    private let isAway = Guarded(false)

    /// Prepares a client; sends nothing yet.
    ///
    /// - Parameters:
    ///   - address: the broker's socket.
    ///   - onAway: called with the reason when the broker does not reply, once per outage.
    public init(at address: BrokerAddress, onAway: @escaping @Sendable (String) -> Void = { _ in }) {
        self.address = address
        self.onAway = onAway
    }

    /// Why the broker does not reply; nil if it does.
    public func fault() async -> DriverCause? {
        await onThread(.brokerAway) { [self] in waitForFault() }
    }

    /// ``fault()`` on the calling thread, which waits for the reply.
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

    /// Sends a request and waits for the reply, at most the address's ``BrokerAddress/patience``.
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

    /// Runs `body`, which may wait, on a new thread; returns `failure` if no thread can be started.
    func onThread<R: Sendable>(_ failure: R, _ body: @escaping @Sendable () -> R) async -> R {
        await withCheckedContinuation { continuation in
            let result = BlockingThread.start { continuation.resume(returning: body()) }
            if result != 0 { continuation.resume(returning: failure) }
        }
    }

    // MARK: One request

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
        // connect(2) waits while the broker's backlog is full.
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

    /// Milliseconds on a clock that never goes back.
    private static var now: Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}
