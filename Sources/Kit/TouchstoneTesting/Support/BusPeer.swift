import FingerprintDriver
import Glibc
package import MessageBus

/// A connection to a private bus: sends calls, receives signals, and answers calls to the names it owns.
package actor BusPeer {
    /// An incoming method call.
    package struct Call: Sendable {
        /// The caller's unique name.
        package let sender: String
        /// The object.
        package let path: String
        /// The interface.
        package let interface: String
        /// The method.
        package let member: String
        /// Its arguments.
        package let arguments: [BusValue]
    }

    /// A signal, received or to be sent.
    package struct Signal: Sendable {
        /// The sender's unique name; nil before the signal is sent.
        package var sender: String?
        /// The object.
        package var path: String
        /// The interface.
        package var interface: String
        /// The signal.
        package var member: String
        /// Its arguments.
        package var arguments: [BusValue]

        /// Describes a signal.
        package init(_ path: String, _ interface: String, _ member: String, _ arguments: [BusValue]) {
            self.path = path
            self.interface = interface
            self.member = member
            self.arguments = arguments
        }
    }

    /// The answer to a call.
    package struct Answer: Sendable {
        /// Sent before the reply.
        package var before: [Signal] = []
        /// The reply; nil to leave the caller waiting.
        package var reply: Result<[BusValue], BusError>? = .success([])
        /// Sent after the reply.
        package var after: [Signal] = []

        /// Creates a reply without arguments.
        package init() {}
        /// Creates a reply.
        package init(_ arguments: [BusValue]) { reply = .success(arguments) }
        /// Creates an error.
        package init(error name: String, _ message: String = "") {
            reply = .failure(.remote(name: name, message: message))
        }
    }

    private let executor = BusExecutor()
    /// The thread that reads the bus.
    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe executor.asUnownedSerialExecutor()
    }

    /// All received signals.
    package nonisolated let signals: AsyncStream<Signal>
    private let signalSink: AsyncStream<Signal>.Continuation
    private let answer: @Sendable (Call) -> Answer?
    private var bus: Bus?

    /// Connects.
    ///
    /// - Parameters:
    ///   - address: the address of the bus.
    ///   - user: the user that connects; nil for this process's own. Another one takes root.
    ///   - answer: returns the answer to a call; nil for an unknown method.
    /// - Throws: `BusError` when nothing listens at the address; ``TestKitError``.
    package init(
        address: String,
        as user: UInt32? = nil,
        answer: @escaping @Sendable (Call) -> Answer? = { _ in nil }
    ) async throws {
        (signals, signalSink) = AsyncStream.makeStream(of: Signal.self)
        self.answer = answer
        // The kernel tells the bus whose effective user connected the socket.
        if let user { try ThreadUser.set(user) }
        defer { if user != nil { try? ThreadUser.set(getuid()) } }
        try connect(address)
    }

    private func connect(_ address: String) throws {
        bus = try Bus(
            address: address,
            executor: executor,
            callTimeout: Deadline.patience,
            onMessage: { [weak self] message, bus in self?.receive(message, bus) ?? false },
            onClosed: { [weak self] in self?.signalSink.finish() }
        )
    }

    private nonisolated func receive(_ message: borrowing BusMessage, _ bus: Bus) -> Bool {
        guard let sender = message.sender, let path = message.path, let interface = message.interface,
            let member = message.member, let arguments = try? message.arguments()
        else { return false }
        guard message.isMethodCall else {
            var signal = Signal(path, interface, member, arguments)
            signal.sender = sender
            signalSink.yield(signal)
            return false
        }
        let call = Call(
            sender: sender,
            path: path,
            interface: interface,
            member: member,
            arguments: arguments
        )
        guard let answer = answer(call) else { return false }
        do throws(BusError) {
            for signal in answer.before { try emit(signal, on: bus) }
            switch answer.reply {
            case .success(let arguments)?: try bus.reply(to: message, arguments)
            case .failure(.remote(let name, let text))?: try bus.reply(to: message, error: name, text)
            case .failure, nil: break
            }
            for signal in answer.after { try emit(signal, on: bus) }
        } catch {
            return false
        }
        return true
    }

    private nonisolated func emit(_ signal: Signal, on bus: Bus, to destination: String? = nil)
        throws(BusError)
    {
        try bus.emit(
            path: signal.path,
            interface: signal.interface,
            member: signal.member,
            signal.arguments,
            to: destination
        )
    }

    /// Sends a call and waits for its reply.
    package func call(
        _ target: Bus.Target,
        _ method: String,
        _ arguments: [BusValue] = []
    ) async throws(BusError) -> [BusValue] {
        guard let bus else { throw .system(errno: ENOTCONN) }
        return try await bus.call(target, method, arguments)
    }

    /// Takes a well-known name, retrying until its previous owner has left.
    package func own(_ name: String) async throws {
        try await Deadline.wait(for: "the name \(name)") {
            // 4: do not queue; 1: DBUS_REQUEST_NAME_REPLY_PRIMARY_OWNER
            let reply = try await call(.bus, "RequestName", [.string(name), .uint32(4)])
            return reply == [.uint32(1)] ? true : nil
        }
    }

    /// Waits until a name has no owner.
    package func waitUntilUnowned(_ name: String) async throws {
        try await Deadline.wait(for: "the end of \(name)") {
            try await owner(of: name) == nil ? true : nil
        }
    }

    /// Adds a match rule for signals.
    package func subscribe(_ rule: String) async throws {
        _ = try await call(.bus, "AddMatch", [.string(rule)])
    }

    /// Sends a signal as a broadcast, or to one connection.
    package func emit(_ signal: Signal, to destination: String? = nil) throws {
        guard let bus else { throw TestKitError.unexpected("not connected") }
        try emit(signal, on: bus, to: destination)
    }

    /// Sends a signal `count` times, as a broadcast and to each of the connections.
    package func emit(_ signal: Signal, alsoTo destinations: [String], count: Int) throws {
        for _ in 0..<count {
            try emit(signal)
            for destination in destinations { try emit(signal, to: destination) }
        }
    }

    /// Waits until the bus has processed everything sent before.
    package func flush() async throws { _ = try await call(.bus, "GetId") }

    /// The owner of a name; nil for none.
    package func owner(of name: String) async throws -> String? {
        do {
            return try await call(.bus, "GetNameOwner", [.string(name)]).first?.text
        } catch BusError.remote(name: "org.freedesktop.DBus.Error.NameHasNoOwner", _) {
            return nil
        }
    }

    /// Closes the connection, which ends its names, claims and match rules.
    package func close() {
        bus?.close()
        bus = nil
        signalSink.finish()
    }
}

/// The effective user of the calling thread alone; seteuid(3) of glibc changes that of all threads.
private enum ThreadUser {
    // The number of setresuid(2), a macro that is not imported.
    #if arch(x86_64)
        private static let number: CLong = 117
    #else
        private static let number: CLong = 147
    #endif

    static func set(_ user: UInt32) throws(TestKitError) {
        // syscall(2) is variadic, and not imported. All of its arguments are words.
        typealias SystemCall = @convention(c) (CLong, CLong, CLong, CLong) -> CLong
        guard let function = unsafe dlsym(nil, "syscall") else { throw .missingProgram("syscall") }
        let call = unsafe unsafeBitCast(function, to: SystemCall.self)
        guard call(number, -1, CLong(user), -1) == 0 else {
            throw .system("setresuid", errno: errno)
        }
    }
}
