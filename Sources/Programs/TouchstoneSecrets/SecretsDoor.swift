import Glibc
import KeychainClient
import KeychainModel
import MessageBus
import SecretMemory

/// The service on the bus: owns the name, knows its clients, and passes calls and replies between them.
///
/// Its thread only reads and writes the bus; whatever may wait happens on the clients' own threads.
actor SecretsDoor {
    /// Why the service ended.
    private enum End: Sendable, Equatable {
        /// It was told to.
        case stopped
        /// The connection to the bus was lost.
        case busLost
        /// Another program took the name over.
        case nameLost
    }

    /// A client, from its first call on.
    private enum Client {
        /// The bus is asked which process it is; its calls wait.
        case arriving([SecretsClient.Call])
        case here(SecretsClient)
    }

    /// The most programs at a time.
    static let mostClients = 512
    /// The most values of a message: a request for the secrets of 100,000 items.
    private static let mostValues = 1 << 17
    private static let callTimeout = Duration.seconds(10)

    private let executor = BusExecutor()
    /// The thread that reads the bus.
    nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe executor.asUnownedSerialExecutor()
    }

    /// Yields once, when the service has ended.
    private nonisolated let ends: AsyncStream<End>
    private let endSink: AsyncStream<End>.Continuation
    private let keychain: RemoteKeychain
    private let shared: SecretsShared
    private var bus: Bus?
    private var clients: [String: Client] = [:]
    private let held = HeldCalls()

    /// Prepares the service; nothing is connected yet.
    init(keychain: RemoteKeychain, place: PromptOrigin) {
        self.keychain = keychain
        shared = SecretsShared(of: keychain, place: place)
        (ends, endSink) = AsyncStream.makeStream(of: End.self)
    }

    /// Connects to the bus and takes the name.
    ///
    /// - Parameters:
    ///   - address: the address of the session bus.
    ///   - replaces: whether the name is taken from a program that allows it.
    /// - Throws: ``SecretsFailure`` if there is no bus, or the name is another program's.
    func start(_ address: String, replaces: Bool) async throws(SecretsFailure) {
        shared.onPost { [weak self, executor] in
            _ = Task(executorPreference: executor) { await self?.sendPosted() }
        }
        let reply: [BusValue]
        do throws(BusError) {
            let bus = try Bus(
                address: address,
                executor: executor,
                callTimeout: Self.callTimeout,
                onMessage: { [weak self] message, _ in self?.receive(message) ?? false },
                onClosed: { [weak self] in self?.assumeIsolated { $0.finish(.busLost) } }
            )
            self.bus = bus
            for member in ["NameOwnerChanged", "NameLost"] {
                let rule =
                    "type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',"
                    + "member='\(member)'"
                _ = try await bus.call(.bus, "AddMatch", [.string(rule)])
            }
            // 4: do not wait for it; 2: take it from another that allows it.
            let flags: UInt32 = replaces ? 4 | 2 : 4
            reply = try await bus.call(.bus, "RequestName", [.string(SecretNames.bus), .uint32(flags)])
            // Without it sandboxed programs alone get nothing.
            _ = try? await bus.call(.bus, "RequestName", [.string(SecretNames.portalBus), .uint32(flags)])
        } catch {
            stop()
            throw .noBus(address, error)
        }
        // 1: this connection owns the name.
        guard reply != [.uint32(1)] else { return }
        let failure = await nameTaken()
        stop()
        throw failure
    }

    /// Which program has the name.
    private func nameTaken() async -> SecretsFailure {
        let reply = try? await bus?.call(.bus, NameOwner.method, [.string(SecretNames.bus)])
        return .nameTaken(by: reply.flatMap(NameOwner.program).map { "process \($0)" })
    }

    /// Waits for the end.
    ///
    /// - Throws: ``SecretsFailure`` if another program took the name.
    nonisolated func wait() async throws(SecretsFailure) {
        for await end in ends where end == .nameLost { throw .nameTaken(by: nil) }
    }

    /// Leaves the bus: the name is free, and clients' prompts end.
    func stop() { finish(.stopped) }

    private func finish(_ end: End) {
        endSink.yield(end)
        endSink.finish()
        // Prompts that are shown are taken from the screen; the bus tells their clients that the name has gone.
        for case .here(let client) in clients.values { client.end() }
        clients = [:]
        held.forgetAll()
        bus?.close()
        bus = nil
    }

    // MARK: Messages

    private nonisolated func receive(_ message: borrowing BusMessage) -> Bool {
        guard let sender = message.sender, let member = message.member else { return false }
        if message.isSignal {
            guard sender == "org.freedesktop.DBus" else { return false }
            let arguments = ((try? message.arguments()) ?? []).map(\.text)
            assumeIsolated { $0.noteBus(member, arguments) }
            return false
        }
        guard message.isMethodCall, let path = message.path,
            path == "/" || SecretNames.root.hasPrefix(path) || path.hasPrefix(SecretNames.root)
                || path.hasPrefix(SecretNames.portalRoot),
            message.interface != "org.freedesktop.DBus.Peer"
        else { return false }
        let number = held.hold(message)
        do throws(BusError) {
            let call = SecretsClient.Call(
                number: number,
                path: path,
                interface: message.interface,
                member: member,
                arguments: try message.arguments(atMost: Self.mostValues)
            )
            assumeIsolated { $0.pass(call, of: sender) }
        } catch {
            let fault = BusFault.limit(
                "a message that is malformed or has more than \(Self.mostValues) values"
            )
            assumeIsolated { $0.reply(number, .failure(fault)) }
        }
        return true
    }

    private func noteBus(_ member: String, _ arguments: [String?]) {
        switch (member, arguments.first ?? nil) {
        case ("NameLost", SecretNames.bus?): finish(.nameLost)
        case ("NameOwnerChanged", let name?) where arguments.count == 3 && arguments[2] == "":
            guard let client = clients.removeValue(forKey: name) else { return }
            switch client {
            case .here(let client): client.end()
            case .arriving(let calls): for call in calls { held.forget(call.number) }
            }
        default: break
        }
    }

    private func pass(_ call: SecretsClient.Call, of sender: String) {
        switch clients[sender] {
        case .here(let client)?: client.enqueue(call)
        case .arriving(let calls)?:
            guard calls.count < SecretsClient.mostCalls else {
                return reply(call.number, .failure(.limit("too many calls are waiting")))
            }
            clients[sender] = .arriving(calls + [call])
        case nil:
            guard clients.count < Self.mostClients else {
                return reply(call.number, .failure(.limit("\(Self.mostClients) programs are connected")))
            }
            clients[sender] = .arriving([call])
            bus?.send(.bus, "GetConnectionCredentials", [.string(sender)]) { [weak self] result in
                self?.assumeIsolated { $0.identify(sender, try? result.get().first) }
            }
        }
    }

    /// Starts to serve a client whose process the bus has told.
    private func identify(_ name: String, _ credentials: BusValue?) {
        guard case .arriving(let calls)? = clients[name] else { return }
        guard case .uint32(let uid)? = credentials?.property("UnixUserID"), uid == ProcessUser.uid,
            case .uint32(let pid)? = credentials?.property("ProcessID"), let process = Int32(exactly: pid)
        else {
            clients[name] = nil
            let fault = BusFault("org.freedesktop.DBus.Error.AccessDenied", "not a program of this user")
            for call in calls { reply(call.number, .failure(fault)) }
            return
        }
        let program = RepresentedProgram(process: process, start: ProcessStat(of: process)?.start ?? 0)
        let client = SecretsClient(name, program, of: keychain, shared: shared)
        clients[name] = .here(client)
        for call in calls { client.enqueue(call) }
    }

    // MARK: Replies and signals

    private func sendPosted() {
        for message in shared.takePosted() {
            switch message {
            case .reply(let number, let result): reply(number, result)
            case .signal(let path, let interface, let member, let arguments, let destination):
                // A client that has left gets nothing.
                if let destination, clients[destination] == nil { continue }
                try? bus?.emit(
                    path: path,
                    interface: interface,
                    member: member,
                    arguments,
                    to: destination
                )
            }
        }
    }

    private func reply(_ number: UInt64, _ result: Result<[BusValue], BusFault>) {
        guard let bus else { return }
        held.answer(number) { message in
            do throws(BusError) {
                switch result {
                case .success(let arguments): try bus.reply(to: message, arguments)
                case .failure(let fault): try bus.reply(to: message, error: fault.name, fault.text)
                }
            } catch {
                // A text that is no D-Bus string: the client gets an error all the same.
                let name = "org.freedesktop.DBus.Error.Failed"
                try? bus.reply(to: message, error: name, "the reply cannot be sent")
            }
        }
    }
}

/// Calls that are answered later, by number.
final class HeldCalls: @unchecked Sendable {  // touched on the thread of the bus alone
    private final class Held {
        let message: BusMessage
        init(_ message: consuming BusMessage) { self.message = message }
    }

    private var messages: [UInt64: Held] = [:]
    private var lastNumber: UInt64 = 0

    /// Keeps a message; returns its number.
    func hold(_ message: borrowing BusMessage) -> UInt64 {
        lastNumber += 1
        messages[lastNumber] = Held(message.another())
        return lastNumber
    }

    /// Calls `body` with a message, which is released then; does nothing for one that was answered or forgotten.
    func answer(_ number: UInt64, _ body: (borrowing BusMessage) -> Void) {
        guard let held = messages.removeValue(forKey: number) else { return }
        body(held.message)
    }

    /// Releases a message without an answer.
    func forget(_ number: UInt64) { messages[number] = nil }

    /// Releases all messages without an answer.
    func forgetAll() { messages = [:] }
}
