import CSystemd
import Glibc

/// An owned connection to a message bus; confined to the thread of a ``BusExecutor``.
///
/// Incoming messages and replies are delivered on that thread, one at a time, in the order in which the bus sent
/// them.
@safe
package final class Bus {
    /// The destination of a call.
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
        package static let bus = Target(
            "org.freedesktop.DBus",
            "/org/freedesktop/DBus",
            "org.freedesktop.DBus"
        )
    }

    /// A reply: the arguments, or why there are none.
    package typealias Reply = Result<[BusValue], BusError>

    private let loop: BusLoop
    private let callTimeout: Duration
    /// `sd_bus *`; nil once closed.
    private(set) var handle: OpaquePointer?
    private var isProcessing = false
    private var pending: [ObjectIdentifier: PendingCall] = [:]
    private let onMessage: (borrowing BusMessage, Bus) -> Bool
    private let onClosed: () -> Void

    /// Connects; the handshake continues while the first calls wait.
    ///
    /// - Parameters:
    ///   - address: a D-Bus address, for example `unix:path=/run/dbus/system_bus_socket`.
    ///   - executor: the executor on whose thread this is called.
    ///   - callTimeout: how long a call may wait for its reply.
    ///   - onMessage: receives every signal and method call; returns whether it handled the message.
    ///   - onClosed: called if the connection is lost other than by ``close()``.
    /// - Throws: libsystemd's error; a connection that is refused later fails the first calls instead.
    package init(
        address: String,
        executor: BusExecutor,
        callTimeout: Duration,
        onMessage: @escaping (borrowing BusMessage, Bus) -> Bool,
        onClosed: @escaping () -> Void
    ) throws(BusError) {
        executor.checkIsolated()
        loop = executor.loop
        self.callTimeout = callTimeout
        self.onMessage = onMessage
        self.onClosed = onClosed
        var handle: OpaquePointer?
        try check(unsafe sd_bus_new(&handle))
        guard let bus = unsafe handle else { throw .system(errno: ENOMEM) }
        do throws(BusError) {
            try check(unsafe sd_bus_set_address(bus, address))
            try check(unsafe sd_bus_set_bus_client(bus, 1))
            try check(unsafe sd_bus_negotiate_fds(bus, 1))
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
        reply: @escaping (Reply) -> Void
    ) {
        assert(loop.isCurrentThread, "not on the thread of the bus")
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
                callTimeout.microseconds
            )
            if result < 0 { unsafe Unmanaged<PendingCall>.fromOpaque(userdata).release() }
            try check(result)
            pending[ObjectIdentifier(call)] = call
        } catch {
            call.end(.failure(error))
        }
    }

    /// Sends a call whose reply may be awaited later, or never.
    package func begin(_ target: Target, _ method: String, _ arguments: [BusValue] = []) -> BusCall {
        let call = BusCall()
        send(target, method, arguments) { call.end($0) }
        return call
    }

    /// Sends a call and waits for the reply; cancelling the task does not end the wait.
    package nonisolated(nonsending) func call(
        _ target: Target,
        _ method: String,
        _ arguments: [BusValue] = []
    ) async throws(BusError) -> [BusValue] {
        try await begin(target, method, arguments).reply()
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

    func forget(_ call: PendingCall) {
        pending[ObjectIdentifier(call)] = nil
    }

    // MARK: The loop

    /// Handles at most one message or timeout; false if there was nothing to do.
    func processOne() -> Bool {
        guard let handle = unsafe handle else { return false }
        isProcessing = true
        let result = unsafe sd_bus_process(handle, nil)
        isProcessing = false
        if unsafe self.handle == nil {
            unsafe free(handle)
            return true
        }
        guard result < 0 else { return result > 0 }
        close()
        onClosed()
        return true
    }

    var pollDescriptor: pollfd {
        guard let handle = unsafe handle else { return pollfd(fd: -1, events: 0, revents: 0) }
        let events = unsafe sd_bus_get_events(handle)
        return pollfd(
            fd: unsafe sd_bus_get_fd(handle),
            events: Int16(truncatingIfNeeded: max(events, 0)),
            revents: 0
        )
    }

    /// Milliseconds until libsystemd has to be called again; -1 for no limit.
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

    /// Closes the connection; may be called twice.
    ///
    /// Pending calls fail with `ENOTCONN`.
    package func close() {
        assert(loop.isCurrentThread, "not on the thread of the bus")
        guard let handle = unsafe handle else { return }
        unsafe self.handle = nil
        loop.attach(nil)
        // Inside a callback libsystemd still references pending calls: `processOne` frees the connection afterwards.
        if !isProcessing { unsafe free(handle) }
    }

    private func free(_ handle: OpaquePointer) {
        _ = unsafe sd_bus_flush_close_unref(handle)
        let waiting = pending.values
        pending.removeAll()
        for call in waiting { call.abandon() }
    }
}

extension Duration {
    /// Whole microseconds, libsystemd's unit.
    var microseconds: UInt64 {
        let (seconds, attoseconds) = components
        return UInt64(clamping: seconds) * 1_000_000 + UInt64(clamping: attoseconds / 1_000_000_000_000)
    }
}
