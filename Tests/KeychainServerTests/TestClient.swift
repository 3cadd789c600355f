import CBOR
import Glibc
import KeychainModel
import SecretMemory
import TouchstoneTesting

/// A reply as a client sees it.
struct TestReply: Sendable {
    let head: ReplyHead
    /// The body of a success.
    let body: CBORValue?
    /// The body of a failure.
    let error: KeychainError?

    var status: Status { head.status }
}

/// The client's end of a connection, with access to its bytes.
actor TestClient {
    private let socket: CInt
    private var receiver = FrameReceiver()
    private(set) var lastID: UInt64 = 0
    /// All bytes sent so far.
    private(set) var sent: [UInt8] = []

    init(_ socket: CInt) throws {
        self.socket = socket
        guard fcntl(socket, F_SETFL, O_NONBLOCK) == 0 else { throw TestFailure.system(errno) }
    }

    deinit { close(socket) }

    /// Reads the greeting and answers it.
    @discardableResult
    func hello() async throws -> Greeting {
        let greeting = try await greeting()
        let reply = try await call(.hello, Hello(nonce: greeting.nonce))
        guard reply.status == .success else { throw TestFailure.closed }
        return greeting
    }

    func greeting() async throws -> Greeting {
        let message = try await nextMessage()
        return try message.read { reader in
            _ = try ReplyHead(from: &reader)
            return try Greeting(from: &reader)
        }
    }

    /// Sends a request and returns the next reply, whichever request it answers.
    func call<Body: WireBody & ~Copyable>(_ method: Method, _ body: borrowing Body) async throws -> TestReply
    {
        try await request(method, body)
        return try await reply()
    }

    /// Sends a request with the next number.
    @discardableResult
    func request<Body: WireBody & ~Copyable>(_ method: Method, _ body: borrowing Body) async throws -> UInt64
    {
        lastID += 1
        try await write(Self.frame(RequestHead(id: lastID, method: method), body))
        return lastID
    }

    /// The bytes of a request.
    static func frame<Body: WireBody & ~Copyable>(_ head: RequestHead, _ body: borrowing Body) -> [UInt8] {
        guard let message = try? head.message(body) else { preconditionFailure("no locked memory") }
        return header(message.count) + message.withUnsafeBytes { Array($0) }
    }

    static func header(_ length: Int) -> [UInt8] {
        (0..<4).reversed().map { UInt8(truncatingIfNeeded: length >> (8 * $0)) }
    }

    func write(_ octets: [UInt8]) async throws {
        sent += octets
        var rest = octets[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(socket, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
            }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else {
                guard errno == EAGAIN else { throw TestFailure.closed }
                try await Task.sleep(for: .milliseconds(1))
            }
        }
    }

    /// Sends what the socket takes now.
    func writeWhatFits(_ octets: [UInt8]) {
        var rest = octets[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(socket, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL) | CInt(MSG_DONTWAIT))
            }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    /// Sends one byte together with `count` descriptors.
    func write(_ octet: UInt8, descriptors count: Int) async throws {
        // struct cmsghdr on 64-bit Linux: length, SOL_SOCKET, SCM_RIGHTS; the descriptors follow.
        var control = [UInt64](repeating: 0, count: 2 + (count + 1) / 2)
        control[0] = UInt64(16 + 4 * count)
        control[1] = 1 | 1 << 32
        while !send(octet, control: control) {
            // The kernel also limits the number of descriptors in flight.
            guard errno == EAGAIN || errno == ETOOMANYREFS else { throw TestFailure.closed }
            try await Task.sleep(for: .milliseconds(1))
        }
    }

    private func send(_ octet: UInt8, control: [UInt64]) -> Bool {
        var (octet, control) = (octet, control)
        let controlLength = control.count * 8
        return withUnsafeMutablePointer(to: &octet) { octet in
            control.withUnsafeMutableBytes { control in
                var part = iovec(iov_base: octet, iov_len: 1)
                return withUnsafeMutablePointer(to: &part) { part in
                    var message = msghdr()
                    message.msg_iov = part
                    message.msg_iovlen = 1
                    message.msg_control = control.baseAddress
                    message.msg_controllen = controlLength
                    return sendmsg(socket, &message, CInt(MSG_NOSIGNAL)) == 1
                }
            }
        }
    }

    func reply() async throws -> TestReply {
        let message = try await nextMessage()
        return try message.read { reader in
            let head = try ReplyHead(from: &reader)
            guard head.status == .success else {
                return TestReply(
                    head: head,
                    body: nil,
                    error: try Failure(from: &reader, status: head.status).error
                )
            }
            return TestReply(head: head, body: try reader.readValue(), error: nil)
        }
    }

    /// Whether the server closes the connection; skips replies before that.
    func isClosed() async throws -> Bool {
        do {
            while true { _ = try await nextMessage() }
        } catch TestFailure.closed {
            return true
        }
    }

    private func nextMessage() async throws -> ReceivedMessage {
        let end = ContinuousClock.now + Deadline.patience
        while true {
            if let message = try receiver.next() { return message }
            switch try Self.receive(&receiver, socket) {
            case .received: continue
            case .closed: throw TestFailure.closed
            case .wouldBlock:
                guard ContinuousClock.now < end else { throw TestFailure.timedOut("reply") }
                try await Task.sleep(for: .milliseconds(1))
            }
        }
    }

    private static func receive(
        _ receiver: inout FrameReceiver,
        _ socket: CInt
    ) throws -> FrameReceiver.Progress {
        do throws(WireError) {
            return try receiver.receive(from: socket)
        } catch {
            // A server that closes with bytes unread resets the connection.
            if error == .system(errno: ECONNRESET) { return .closed }
            throw error
        }
    }

    /// Disconnects.
    func hangUp() { _ = shutdown(socket, CInt(SHUT_RDWR)) }
}

extension ItemQuery {
    /// A query for generic passwords that returns their data.
    static func passwords(limit: Limit = .one, attributes: ItemAttributes = [:]) -> ItemQuery {
        ItemQuery(itemClass: .genericPassword, attributes: attributes, limit: limit, returns: .data)
    }
}

extension CopyItems {
    /// A look-up of passwords.
    static func passwords(
        context: UInt64? = nil,
        interactionAllowed: Bool = true,
        limit: ItemQuery.Limit = .one
    ) -> CopyItems {
        CopyItems(
            query: .passwords(limit: limit),
            context: context,
            prompt: PromptFields(reason: "test", interactionAllowed: interactionAllowed)
        )
    }
}

extension EvaluatePolicy {
    /// An evaluation with a reason.
    static func policy(_ number: Int64, context: UInt64 = 1, reuse: Double = 0, reason: String = "to test")
        -> Self
    {
        EvaluatePolicy(
            policy: number,
            context: context,
            reuseSeconds: reuse,
            prompt: PromptFields(reason: reason)
        )
    }
}
