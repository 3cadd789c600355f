import CLinux
import Desk
import Glibc
import KeychainModel
import PeerSockets
import Primitives
import SSHFormat
import SecretMemory

/// One client of the agent: its socket and its requests, one after the other as the protocol has them.
final class AgentConnection: Sendable {
    /// How long the rest of a frame, or the peer's reading, may take.
    private static let frameDeadline = Duration.seconds(5)
    /// Who connected.
    struct Client: Sendable {
        let socket: CInt
        let pid: Int32
        /// The device number of its terminal, if the namer was told.
        let terminal: UInt64?
        let asker: Asker
    }

    let visit: Visit
    private let client: Client
    private let names: HostNames
    private let list: KeyList
    private let desk: Desk
    /// Signalled when an answer is ready.
    private let ready: CInt
    /// Whether the socket is open: its descriptor number may else be reused.
    private let isOpen = Guarded(true)

    /// Takes over a connected socket; if this throws, the caller keeps it.
    init(_ client: Client, at desk: Desk, names: HostNames, list: KeyList) throws(ServerError) {
        ready = clinux_eventfd(0)
        guard ready >= 0 else { throw ServerError(call: "eventfd", errno: errno) }
        self.client = client
        self.desk = desk
        self.names = names
        self.list = list
        visit = desk.visit(by: client.asker)
    }

    deinit { Glibc.close(ready) }

    /// Serves the client until it disconnects, on its own thread.
    func run() {
        var bindings = SessionBindings()
        var number: UInt64 = 0
        while let body = receive() {
            number += 1
            let reply: [UInt8]?
            do throws(SSHFormatError) {
                switch try AgentRequest(body) {
                case .bindSession(let binding):
                    reply = bind(binding, &bindings) ? AgentReply.success : AgentReply.extensionFailure
                case .query: reply = AgentReply.extensions(["session-bind@openssh.com"])
                // Keys come and go by the command alone, with the user's authentication.
                case .otherExtension, .unsupported: reply = AgentReply.failure
                case .identities:
                    let bound = bindings.bindings
                    reply = answer { [number] in await self.identities(bound, number) }
                case .sign(let key, let data, _):
                    if let asked = asked(key, data, bindings.bindings) {
                        reply = answer { [number] in await self.signature(asked, number) }
                    } else {
                        reply = AgentReply.failure
                    }
                }
            } catch {
                desk.failures.recordRefusal("malformed request to the ssh-agent", by: visit.caller)
                return
            }
            guard let reply, send(reply) else { return }
        }
    }

    /// Ends the connection because the daemon stops.
    func stop() {
        visit.stop()
        isOpen.withLock { isOpen in
            if isOpen { _ = shutdown(client.socket, CInt(SHUT_RDWR)) }
        }
    }

    /// Closes the socket and wipes the proofs of its context.
    func close() {
        isOpen.withLock { isOpen in
            isOpen = false
            _ = Glibc.close(client.socket)
        }
        visit.end()
    }

    // MARK: Answers

    private func bind(_ binding: SessionBinding, _ bindings: inout SessionBindings) -> Bool {
        do throws(SSHFormatError) {
            try bindings.add(binding)
            return true
        } catch {
            desk.failures.recordRefusal("ssh session not bound", by: visit.caller)
            return false
        }
    }

    /// The keys that the client may use on this connection.
    private func identities(_ bindings: [SessionBinding], _ request: UInt64) async -> [UInt8] {
        do throws(KeychainError) {
            let bound = bindings.last.flatMap { $0.isForwarding ? nil : $0.hostKey.fingerprint }
            let all = try await Keys(visit: visit).all(request: request)
            list.note(all.map(\.publicKey))
            let keys = all.filter { key in
                // As OpenSSH's agent does: a host that a key is not for does not see it.
                bound.map { bound in key.hosts.isEmpty || key.hosts.contains { $0.fingerprint == bound } }
                    ?? true
            }
            return Self.identities(keys.map { ($0.publicKey, $0.name) })
        } catch {
            // Locked must not look like empty.
            guard error.cause == .locked, let known = list.known else { return AgentReply.failure }
            return Self.identities(known.map { ($0, "touchstone") })
        }
    }

    private static func identities(_ keys: [(publicKey: [UInt8], name: String)]) -> [UInt8] {
        AgentReply.identities(
            keys.prefix(NamedKey.most).compactMap { key in
                (try? SSHPublicKey(p256: key.publicKey)).map { ($0.blob, key.name) }
            }
        )
    }

    /// A request that somebody can be asked for.
    private struct Asked {
        let data: [UInt8]
        let point: [UInt8]
        let signing: Signing
        let prompt: PromptFields
    }

    /// Understands a request, on this connection's thread: it reads files, which may take a while.
    ///
    /// - Returns: nil for one that is refused.
    private func asked(_ keyBlob: [UInt8], _ data: [UInt8], _ bindings: [SessionBinding]) -> Asked? {
        do {
            let publicKey = try SSHPublicKey(blob: keyBlob)
            guard let point = publicKey.x963 else { return nil }
            let signed = try SignedData(data, by: publicKey)
            let place = ClientPlace(of: client.pid, terminal: client.terminal)
            let known = bindings.isEmpty ? .none : try names.read(arguments: place.arguments)
            let signing = try Signing(signed, bindings, known)
            let prompt = PromptFields(
                origin: place.origin,
                reason: signing.reason(for: nil),
                details: PromptDetails(items: signing.lines())
            )
            return Asked(data: data, point: point, signing: signing, prompt: prompt)
        } catch let error as SigningRefusal {
            refuse(error)
        } catch {
            refuse(SigningRefusal(reason: "neither a login nor a message to be signed"))
        }
        return nil
    }

    private func refuse(_ refusal: SigningRefusal) {
        desk.failures.recordRefusal(
            "ssh: \(refusal.reason)",
            kind: "ssh signature",
            by: visit.callerWithStarters
        )
    }

    private func signature(_ asked: Asked, _ request: UInt64) async -> [UInt8] {
        // A gesture is for one signature.
        let context = request
        defer { _ = visit.invalidateContext(context) }
        do {
            let key = try await Keys(visit: visit)
                .key(of: asked.point, asked.prompt, context: context, request: request)
            guard asked.signing.isAllowed(for: key.hosts) else {
                let record = asked.signing.record(for: key)
                throw SigningRefusal(reason: "a key that is for other hosts: \(record)")
            }
            var prompt = asked.prompt
            prompt.reason = asked.signing.reason(for: key)
            let use = UseKey(
                representation: key.representation,
                use: .sign(digest: SHA256.digest(of: asked.data)),
                context: context,
                prompt: prompt
            )
            let result = try await visit.useKey(
                use,
                request: request,
                purpose: asked.signing.record(for: key)
            )
            let octets = result.withOctets { octets in octets.indices.map { octets[$0] } }
            return AgentReply.signature(try SSHSignature.p256(rawRepresentation: octets))
        } catch let error as SigningRefusal {
            refuse(error)
        } catch {
            // The desk has recorded it.
        }
        return AgentReply.failure
    }

    /// Waits for an answer; if the client goes meanwhile, its prompt does too.
    ///
    /// - Returns: nil once the client has gone.
    private func answer(_ work: @escaping @Sendable () async -> [UInt8]) -> [UInt8]? {
        let result = Guarded<[UInt8]?>(nil)
        let task = Task { [ready] in
            let reply = await work()
            result.withLock { $0 = reply }
            var one: UInt64 = 1
            _ = unsafe write(ready, &one, MemoryLayout<UInt64>.size)
        }
        var isGone = false
        while true {
            var descriptors = (
                pollfd(fd: ready, events: Int16(POLLIN), revents: 0),
                // Only a hang-up: the next request may have come already.
                pollfd(fd: isGone ? -1 : client.socket, events: 0, revents: 0)
            )
            _ = unsafe withUnsafeMutablePointer(to: &descriptors) { pair in
                unsafe pair.withMemoryRebound(to: pollfd.self, capacity: 2) { unsafe poll($0, 2, -1) }
            }
            if descriptors.0.revents != 0 { break }
            if descriptors.1.revents != 0 {
                isGone = true
                task.cancel()
            }
        }
        var count: UInt64 = 0
        _ = unsafe read(ready, &count, MemoryLayout<UInt64>.size)
        return isGone ? nil : result.withLock { $0 }
    }

    // MARK: Frames

    /// The body of the next frame; nil at the end, or after a frame that is too long or late.
    private func receive() -> [UInt8]? {
        guard let head = receive(4, deadline: nil) else { return nil }
        let length = head.reduce(0) { $0 << 8 | Int($1) }
        guard length > 0, length <= AgentRequest.longest else {
            desk.failures.recordRefusal("frame length at the ssh-agent", by: visit.caller)
            return nil
        }
        return receive(length, deadline: .after(Self.frameDeadline))
    }

    private func receive(_ count: Int, deadline: MonotonicTime?) -> [UInt8]? {
        var octets: [UInt8] = []
        var deadline = deadline
        var part = [UInt8](repeating: 0, count: min(count, 1 << 14))
        while octets.count < count {
            var descriptor = pollfd(fd: client.socket, events: Int16(POLLIN), revents: 0)
            guard unsafe poll(&descriptor, 1, deadline?.pollTimeout ?? -1) != 0 else { return nil }
            var sender: Int32 = 0
            let wanted = min(part.count, count - octets.count)
            let got = unsafe clinux_receive(client.socket, &part, wanted, CInt(MSG_DONTWAIT), &sender)
            if got < 0, [EINTR, EAGAIN].contains(errno) { continue }
            guard got > 0 else { return nil }
            visit.checkAsker(sender: sender)
            octets += part[..<got]
            if deadline == nil { deadline = .after(Self.frameDeadline) }
        }
        return octets
    }

    private func send(_ reply: [UInt8]) -> Bool {
        let deadline = MonotonicTime.after(Self.frameDeadline)
        var sent = 0
        while sent < reply.count {
            let flags = CInt(MSG_NOSIGNAL | MSG_DONTWAIT)
            let count = unsafe reply[sent...].withUnsafeBytes {
                unsafe Glibc.send(client.socket, $0.baseAddress, $0.count, flags)
            }
            if count > 0 {
                sent += count
                continue
            }
            guard count < 0, [EINTR, EAGAIN].contains(errno) else { return false }
            var descriptor = pollfd(fd: client.socket, events: Int16(POLLOUT), revents: 0)
            guard unsafe poll(&descriptor, 1, deadline.pollTimeout) != 0 else { return false }
        }
        return true
    }
}
