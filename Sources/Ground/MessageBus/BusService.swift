import CSystemd
import Glibc

/// Replies and signals, for a connection that owns a name.
extension Bus {
    /// Replies to a call.
    package func reply(to call: borrowing BusMessage, _ arguments: [BusValue] = []) throws(BusError) {
        var message: OpaquePointer?
        try check(unsafe sd_bus_message_new_method_return(call.handle, &message))
        try unsafe send(message, arguments)
    }

    /// Replies to a call with an error.
    package func reply(to call: borrowing BusMessage, error name: String, _ text: String) throws(BusError) {
        var error = unsafe sd_bus_error()
        defer { unsafe sd_bus_error_free(&error) }
        _ = unsafe sd_bus_error_set(&error, name, text)
        var message: OpaquePointer?
        try check(unsafe sd_bus_message_new_method_error(call.handle, &message, &error))
        try unsafe send(message, [])
    }

    /// Broadcasts a signal, or sends it to `destination` only.
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
}
