/// Reads values of RFC 4251, section 5, from bytes, one after the other.
///
/// After an error, the place in the bytes is unspecified. No length reserves memory before that many bytes are there.
package struct SSHReader {
    private let bytes: [UInt8]
    private var offset = 0

    /// Begins at the first byte.
    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Whether all bytes have been read.
    package var isAtEnd: Bool { offset == bytes.count }

    /// Checks that all bytes have been read.
    ///
    /// - Throws: ``SSHFormatError`` if some are left.
    package func requireEnd() throws(SSHFormatError) {
        guard isAtEnd else { throw SSHFormatError() }
    }

    /// Reads a `byte`.
    ///
    /// - Throws: ``SSHFormatError`` at the end.
    package mutating func readByte() throws(SSHFormatError) -> UInt8 {
        guard offset < bytes.count else { throw SSHFormatError() }
        defer { offset += 1 }
        return bytes[offset]
    }

    /// Reads a `uint32`.
    ///
    /// - Throws: ``SSHFormatError`` if fewer than four bytes are left.
    package mutating func readUInt32() throws(SSHFormatError) -> UInt32 {
        try read(4).reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// Reads a `uint64`.
    ///
    /// - Throws: ``SSHFormatError`` if fewer than eight bytes are left.
    mutating func readUInt64() throws(SSHFormatError) -> UInt64 {
        try read(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// Reads a `boolean`, of which only the values are accepted that a program may store: 0 and 1.
    ///
    /// - Throws: ``SSHFormatError`` at the end, and for another value.
    package mutating func readBool() throws(SSHFormatError) -> Bool {
        switch try readByte() {
        case 0: return false
        case 1: return true
        default: throw SSHFormatError()
        }
    }

    /// Reads a `string`: its bytes, without the length.
    ///
    /// - Throws: ``SSHFormatError`` if it is longer than the bytes that are left.
    package mutating func readString() throws(SSHFormatError) -> [UInt8] {
        Array(try read(Int(try readUInt32())))
    }

    /// Reads a `string` that is text.
    ///
    /// - Throws: ``SSHFormatError`` if it is longer than the bytes that are left, or not UTF-8.
    package mutating func readText() throws(SSHFormatError) -> String {
        guard let text = String(validating: try readString(), as: UTF8.self) else { throw SSHFormatError() }
        return text
    }

    /// Reads a positive `mpint` in its shortest form: its bytes, big-endian, the first of which is not zero.
    ///
    /// - Throws: ``SSHFormatError`` for zero, a negative number, needless leading zeros, and at the end.
    mutating func readPositive() throws(SSHFormatError) -> [UInt8] {
        let number = try readString()
        let magnitude = Array(number.drop { $0 == 0 })
        var shortest = SSHWriter()
        shortest.write(mpint: magnitude)
        guard !magnitude.isEmpty, shortest.bytes.count == 4 + number.count else { throw SSHFormatError() }
        return magnitude
    }

    private mutating func read(_ count: Int) throws(SSHFormatError) -> ArraySlice<UInt8> {
        guard count <= bytes.count - offset else { throw SSHFormatError() }
        defer { offset += count }
        return bytes[offset..<offset + count]
    }
}
