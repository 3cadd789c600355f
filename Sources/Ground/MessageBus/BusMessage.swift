import CSystemd
import Glibc
import SecretMemory

/// An owned `sd_bus_message`; unreferenced exactly once, when it is destroyed, on the bus's thread.
@safe
package struct BusMessage: ~Copyable {
    /// The most values in one message, nested ones included, unless its reader allows more.
    package static let valueLimit = 4096
    /// How deep values may be nested.
    static let depthLimit = 16

    /// `sd_bus_message *`.
    let handle: OpaquePointer

    /// Takes over the reference that libsystemd returned.
    init(adopting handle: OpaquePointer) { unsafe self.handle = handle }

    /// Takes its own reference to a message that libsystemd lends to a callback.
    init(retaining handle: OpaquePointer) {
        unsafe sd_bus_message_ref(handle)
        unsafe self.handle = handle
    }

    /// A second reference to the message.
    package borrowing func another() -> BusMessage { unsafe BusMessage(retaining: handle) }

    deinit { unsafe sd_bus_message_unref(handle) }

    /// The unique name of the sending connection, as set by the bus itself.
    package var sender: String? { unsafe Self.text(sd_bus_message_get_sender(handle)) }
    /// The object path.
    package var path: String? { unsafe Self.text(sd_bus_message_get_path(handle)) }
    /// The interface.
    package var interface: String? { unsafe Self.text(sd_bus_message_get_interface(handle)) }
    /// The name of the method or signal.
    package var member: String? { unsafe Self.text(sd_bus_message_get_member(handle)) }

    /// Whether the message is a signal.
    package var isSignal: Bool { unsafe sd_bus_message_is_signal(handle, nil, nil) > 0 }
    /// Whether the message is a method call.
    package var isMethodCall: Bool { unsafe sd_bus_message_is_method_call(handle, nil, nil) > 0 }

    /// The error that an error reply carries.
    package var error: BusError? {
        guard let error = unsafe sd_bus_message_get_error(handle) else { return nil }
        return unsafe .remote(
            name: Self.text(error.pointee.name) ?? "",
            message: Self.text(error.pointee.message) ?? ""
        )
    }

    private static func text(_ pointer: UnsafePointer<CChar>?) -> String? {
        guard let pointer = unsafe pointer else { return nil }
        return unsafe String(cString: pointer)
    }

    // MARK: Reading

    /// All arguments, from the first; at most `limit` values, nested ones included.
    package func arguments(atMost limit: Int = Self.valueLimit) throws(BusError) -> [BusValue] {
        try check(unsafe sd_bus_message_rewind(handle, 1))
        var left = limit
        return try readAll(depth: 0, left: &left)
    }

    private func readAll(depth: Int, left: inout Int) throws(BusError) -> [BusValue] {
        var values: [BusValue] = []
        while let value = try read(depth: depth, left: &left) { values.append(value) }
        return values
    }

    /// The next value; nil at the end of the container.
    private func read(depth: Int, left: inout Int) throws(BusError) -> BusValue? {
        var type: CChar = 0
        var contents: UnsafePointer<CChar>?
        guard try check(unsafe sd_bus_message_peek_type(handle, &type, &contents)) > 0 else { return nil }
        guard left > 0, depth < Self.depthLimit else { throw .malformed }
        left -= 1
        switch UnicodeScalar(UInt8(bitPattern: type)) {
        case "y": return .byte(try readNumber(type))
        case "b": return .boolean(try readNumber(type) as CInt != 0)
        case "i": return .int32(try readNumber(type))
        case "u": return .uint32(try readNumber(type))
        case "x": return .int64(try readNumber(type))
        case "t": return .uint64(try readNumber(type))
        case "d": return .double(Double(bitPattern: try readNumber(type)))
        case "s": return .string(try readText(type))
        case "o": return .objectPath(try readText(type))
        case "g": return .signature(try readText(type))
        case "h": return .descriptor(try readDescriptor(type))
        default:
            let contents = unsafe Self.text(contents) ?? ""
            if type == Self.character("a"), contents == "y" { return .octets(try readOctets()) }
            return try readContainer(type, contents: contents, depth, &left)
        }
    }

    private func readNumber<Number: FixedWidthInteger>(_ type: CChar) throws(BusError) -> Number {
        var number: Number = 0
        try check(unsafe sd_bus_message_read_basic(handle, type, &number))
        return number
    }

    private func readText(_ type: CChar) throws(BusError) -> String {
        var text: UnsafePointer<CChar>?
        let result = unsafe withUnsafeMutablePointer(to: &text) {
            unsafe sd_bus_message_read_basic(handle, type, $0)
        }
        try check(result)
        guard let text = unsafe Self.text(text) else { throw .malformed }
        return text
    }

    private func readDescriptor(_ type: CChar) throws(BusError) -> BusDescriptor {
        // The message keeps its own descriptor.
        let copy = fcntl(try readNumber(type) as CInt, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { throw .system(errno: errno) }
        return BusDescriptor(adopting: copy)
    }

    /// Reads an array of bytes, which is wiped in the message when that is released.
    private func readOctets() throws(BusError) -> BusOctets {
        var start: UnsafeRawPointer?
        var count = 0
        try check(unsafe sd_bus_message_read_array(handle, Self.character("y"), &start, &count))
        try check(unsafe sd_bus_message_sensitive(handle))
        let octets = unsafe UnsafeRawBufferPointer(start: start, count: count)
        do throws(SecretMemoryError) {
            return BusOctets(
                try unsafe SecretBytes(lockedCopy: octets.assumingMemoryBound(to: UInt8.self).span)
            )
        } catch {
            throw .system(errno: ENOMEM)
        }
    }

    private func readContainer(
        _ type: CChar,
        contents: String,
        _ depth: Int,
        _ left: inout Int
    ) throws(BusError) -> BusValue {
        try check(unsafe sd_bus_message_enter_container(handle, type, contents))
        let values = try readAll(depth: depth + 1, left: &left)
        try check(unsafe sd_bus_message_exit_container(handle))
        switch UnicodeScalar(UInt8(bitPattern: type)) {
        case "a": return .array(of: contents, values)
        case "r": return .structure(values)
        case "e" where values.count == 2: return .entry(values[0], values[1])
        case "v" where values.count == 1: return .variant(values[0])
        default: throw .malformed
        }
    }

    // MARK: Writing

    /// Appends an argument.
    package func append(_ value: BusValue) throws(BusError) {
        switch value {
        case .byte(let number): try appendNumber("y", number)
        case .boolean(let truth): try appendNumber("b", CInt(truth ? 1 : 0))
        case .int32(let number): try appendNumber("i", number)
        case .uint32(let number): try appendNumber("u", number)
        case .int64(let number): try appendNumber("x", number)
        case .uint64(let number): try appendNumber("t", number)
        case .double(let number): try appendNumber("d", number.bitPattern)
        case .string(let text): try appendText("s", text)
        case .objectPath(let text): try appendText("o", text)
        case .signature(let text): try appendText("g", text)
        case .octets(let octets): try appendOctets(octets)
        case .array(let element, let values): try appendContainer("a", element, values)
        case .structure(let values): try appendContainer("r", values.map(\.signature).joined(), values)
        case .entry(let key, let content):
            try appendContainer("e", key.signature + content.signature, [key, content])
        case .variant(let content): try appendContainer("v", content.signature, [content])
        case .descriptor(let descriptor): try appendNumber("h", descriptor.number)
        }
    }

    private func appendNumber<Number: FixedWidthInteger>(
        _ type: UnicodeScalar,
        _ number: Number
    ) throws(BusError) {
        let result = unsafe withUnsafePointer(to: number) {
            unsafe sd_bus_message_append_basic(handle, Self.character(type), $0)
        }
        try check(result)
    }

    private func appendText(_ type: UnicodeScalar, _ text: String) throws(BusError) {
        let result = unsafe text.withCString {
            unsafe sd_bus_message_append_basic(handle, Self.character(type), $0)
        }
        try check(result)
    }

    private func appendOctets(_ octets: BusOctets) throws(BusError) {
        try check(unsafe sd_bus_message_sensitive(handle))
        let result = unsafe octets.secret.withUnsafeBytes { octets in
            unsafe sd_bus_message_append_array(
                handle,
                Self.character("y"),
                octets.baseAddress,
                octets.count
            )
        }
        try check(result)
    }

    private func appendContainer(
        _ type: UnicodeScalar,
        _ contents: String,
        _ values: [BusValue]
    ) throws(BusError) {
        try check(unsafe sd_bus_message_open_container(handle, Self.character(type), contents))
        for value in values { try append(value) }
        try check(unsafe sd_bus_message_close_container(handle))
    }

    private static func character(_ type: UnicodeScalar) -> CChar { CChar(truncatingIfNeeded: type.value) }
}
