import CSystemd
import Glibc

/// An owned connection to a message bus; lives on the thread of a ``BusExecutor`` and nowhere else.
///
/// Incoming messages and replies are handed over on that thread, one at a time, in the order in which the
/// bus sent them.
@safe
package final class Bus {
    /// Where a call goes.
    package struct Target: Sendable {
        /// A bus name, unique or well known.
        let destination: String
        /// An object path.
        let path: String
        /// The interface of the method.
        let interface: String

        /// Names an interface of an object.
        package init(_ destination: String, _ path: String, _ interface: String) {
            self.destination = destination
            self.path = path
            self.interface = interface
        }

        /// The bus itself.
        package static let bus = Target("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus")
    }

    /// A reply: the arguments, or why there are none.
    package typealias Reply = Result<[BusValue], BusError>

    /// fprintd answers nothing while it compares a picture: 1 to 3 s were measured.
    package static let callTimeout = Duration.seconds(10)

    private let loop: BusLoop
    /// `sd_bus *`; nil once closed.
    private var handle: OpaquePointer?
    private var pending: [ObjectIdentifier: PendingCall] = [:]
    private let onMessage: (borrowing BusMessage, Bus) -> Bool
    private let onClosed: () -> Void

    /// Connects; the handshake goes on while the first calls wait.
    ///
    /// - Parameters:
    ///   - address: a D-Bus address, for example `unix:path=/run/dbus/system_bus_socket`.
    ///   - executor: the executor on whose thread this is called.
    ///   - onMessage: gets every signal and method call; returns whether it answered.
    ///   - onClosed: the connection is gone and was not closed by ``close()``.
    package init(
        address: String,
        executor: BusExecutor,
        onMessage: @escaping (borrowing BusMessage, Bus) -> Bool,
        onClosed: @escaping () -> Void
    ) throws(BusError) {
        executor.checkIsolated()
        loop = executor.loop
        self.onMessage = onMessage
        self.onClosed = onClosed
        var handle: OpaquePointer?
        try check(unsafe sd_bus_new(&handle))
        guard let bus = unsafe handle else { throw .system(errno: ENOMEM) }
        do throws(BusError) {
            try check(unsafe sd_bus_set_address(bus, address))
            try check(unsafe sd_bus_set_bus_client(bus, 1))
            try check(unsafe sd_bus_negotiate_fds(bus, 0))
            try check(unsafe sd_bus_start(bus))
        } catch {
            _ = unsafe sd_bus_close_unref(bus)
            throw error
        }
        unsafe self.handle = bus
        do throws(BusError) {
            try unsafe addFilter(bus)
        } catch {
            close()
            throw error
        }
        loop.attach(self)
    }

    private func addFilter(_ bus: OpaquePointer) throws(BusError) {
        // Not retained: the loop holds this object until `close` has freed the connection and its callbacks.
        let this = unsafe Unmanaged.passUnretained(self).toOpaque()
        try check(
            unsafe sd_bus_add_filter(
                bus,
                nil,
                { message, this, _ in
                    guard let message = unsafe message, let this = unsafe this else { return 0 }
                    let bus = unsafe Unmanaged<Bus>.fromOpaque(this).takeUnretainedValue()
                    return bus.receive(unsafe BusMessage(retaining: message)) ? 1 : 0
                },
                this
            )
        )
    }

    private func receive(_ message: consuming BusMessage) -> Bool {
        guard message.isSignal || message.isMethodCall else { return false }
        return onMessage(message, self)
    }

    // MARK: Calling

    /// Sends a call; `reply` is called on the bus's thread, exactly once.
    package func send(
        _ target: Target,
        _ method: String,
        _ arguments: [BusValue] = [],
        timeout: Duration = callTimeout,
        reply: @escaping (Reply) -> Void
    ) {
        let call = PendingCall(bus: self, reply: reply)
        do throws(BusError) {
            guard let handle = unsafe handle else { throw .system(errno: ENOTCONN) }
            let message = try makeCall(target, method, arguments)
            let userdata = unsafe Unmanaged.passRetained(call).toOpaque()
            let result = unsafe sd_bus_call_async(
                handle,
                nil,
                message.handle,
                { message, call, _ in
                    guard let call = unsafe call else { return 0 }
                    let pending = unsafe Unmanaged<PendingCall>.fromOpaque(call).takeRetainedValue()
                    guard let message = unsafe message else { return 0 }
                    pending.finish(unsafe BusMessage(retaining: message))
                    return 1
                },
                userdata,
                timeout.microseconds
            )
            if result < 0 { unsafe Unmanaged<PendingCall>.fromOpaque(userdata).release() }
            try check(result)
            pending[ObjectIdentifier(call)] = call
        } catch {
            call.end(.failure(error))
        }
    }

    /// Sends a call and waits for the reply; cancelling the task does not end the wait.
    package nonisolated(nonsending) func call(
        _ target: Target,
        _ method: String,
        _ arguments: [BusValue] = [],
        timeout: Duration = callTimeout
    ) async throws(BusError) -> [BusValue] {
        let reply = await withCheckedContinuation { continuation in
            send(target, method, arguments, timeout: timeout) { continuation.resume(returning: $0) }
        }
        return try reply.get()
    }

    private func makeCall(
        _ target: Target,
        _ method: String,
        _ arguments: [BusValue]
    ) throws(BusError) -> BusMessage {
        guard let handle = unsafe handle else { throw .system(errno: ENOTCONN) }
        var message: OpaquePointer?
        try check(
            unsafe sd_bus_message_new_method_call(
                handle,
                &message,
                target.destination,
                target.path,
                target.interface,
                method
            )
        )
        guard let message = unsafe message else { throw .system(errno: ENOMEM) }
        let call = unsafe BusMessage(adopting: message)
        for argument in arguments { try call.append(argument) }
        return call
    }

    fileprivate func forget(_ call: PendingCall) {
        pending[ObjectIdentifier(call)] = nil
    }

    // MARK: Answering and announcing, for those who own a name

    /// Answers a call.
    package func reply(to call: borrowing BusMessage, _ arguments: [BusValue] = []) throws(BusError) {
        var message: OpaquePointer?
        try check(unsafe sd_bus_message_new_method_return(call.handle, &message))
        try unsafe send(message, arguments)
    }

    /// Answers a call with an error.
    package func reply(to call: borrowing BusMessage, error name: String, _ text: String) throws(BusError) {
        var error = unsafe sd_bus_error()
        defer { unsafe sd_bus_error_free(&error) }
        _ = unsafe sd_bus_error_set(&error, name, text)
        var message: OpaquePointer?
        try check(unsafe sd_bus_message_new_method_error(call.handle, &message, &error))
        try unsafe send(message, [])
    }

    /// Sends a signal to everybody, or to `destination` alone.
    package func emit(
        path: String,
        interface: String,
        member: String,
        _ arguments: [BusValue],
        to destination: String? = nil
    ) throws(BusError) {
        guard let handle = unsafe handle else { throw .system(errno: ENOTCONN) }
        var message: OpaquePointer?
        try check(unsafe sd_bus_message_new_signal(handle, &message, path, interface, member))
        if let destination { try check(unsafe sd_bus_message_set_destination(message, destination)) }
        try unsafe send(message, arguments)
    }

    private func send(_ message: OpaquePointer?, _ arguments: [BusValue]) throws(BusError) {
        guard let message = unsafe message else { throw .system(errno: ENOMEM) }
        let owned = unsafe BusMessage(adopting: message)
        guard let handle = unsafe handle else { throw .system(errno: ENOTCONN) }
        for argument in arguments { try owned.append(argument) }
        try check(unsafe sd_bus_send(handle, owned.handle, nil))
    }

    // MARK: The loop

    /// Handles at most one message or time-out; false when nothing was there to do.
    func processOne() -> Bool {
        guard let handle = unsafe handle else { return false }
        let result = unsafe sd_bus_process(handle, nil)
        guard result < 0 else { return result > 0 }
        close()
        onClosed()
        return true
    }

    var pollDescriptor: pollfd {
        guard let handle = unsafe handle else { return pollfd(fd: -1, events: 0, revents: 0) }
        let events = unsafe sd_bus_get_events(handle)
        return pollfd(fd: unsafe sd_bus_get_fd(handle), events: Int16(truncatingIfNeeded: max(events, 0)), revents: 0)
    }

    /// Milliseconds until libsystemd wants to be called again; -1 for ever.
    var pollTimeout: CInt {
        guard let handle = unsafe handle else { return -1 }
        var deadline: UInt64 = 0
        guard unsafe sd_bus_get_timeout(handle, &deadline) >= 0 else { return 0 }
        guard deadline != UInt64.max else { return -1 }
        var now = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &now)
        let microseconds = UInt64(now.tv_sec) * 1_000_000 + UInt64(now.tv_nsec) / 1000
        guard deadline > microseconds else { return 0 }
        return CInt(clamping: (deadline - microseconds) / 1000 + 1)
    }

    /// Frees the connection; calls that wait end with `ENOTCONN`. May be called twice.
    package func close() {
        guard let handle = unsafe handle else { return }
        unsafe self.handle = nil
        _ = unsafe sd_bus_flush_close_unref(handle)
        loop.attach(nil)
        let waiting = pending.values
        pending.removeAll()
        for call in waiting { call.abandon() }
    }
}

/// A call that waits for its reply; libsystemd holds one reference, ``Bus`` another.
private final class PendingCall {
    private let bus: Bus
    private var reply: ((Bus.Reply) -> Void)?

    init(bus: Bus, reply: @escaping (Bus.Reply) -> Void) {
        self.bus = bus
        self.reply = reply
    }

    func finish(_ message: consuming BusMessage) {
        bus.forget(self)
        if let error = message.error { return end(.failure(error)) }
        do throws(BusError) {
            end(.success(try message.arguments()))
        } catch {
            end(.failure(.malformed))
        }
    }

    func end(_ result: Bus.Reply) { reply.take()?(result) }

    /// The connection was freed before the reply: libsystemd has forgotten its reference.
    func abandon() {
        unsafe Unmanaged.passUnretained(self).release()
        end(.failure(.system(errno: ENOTCONN)))
    }
}

extension Duration {
    /// Whole microseconds, as libsystemd counts.
    var microseconds: UInt64 {
        let (seconds, attoseconds) = components
        return UInt64(clamping: seconds) * 1_000_000 + UInt64(clamping: attoseconds / 1_000_000_000_000)
    }
}
