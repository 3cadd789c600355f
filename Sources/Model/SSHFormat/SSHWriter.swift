/// Writes values of RFC 4251, section 5, one after the other.
package struct SSHWriter {
    /// What has been written.
    package private(set) var bytes: [UInt8] = []

    /// Creates a writer that has written nothing.
    package init() {}

    /// Writes a `byte`.
    package mutating func write(byte: UInt8) { bytes.append(byte) }

    /// Writes a `uint32`.
    package mutating func write(uint32 number: UInt32) {
        for shift: UInt32 in [24, 16, 8, 0] { bytes.append(UInt8(truncatingIfNeeded: number >> shift)) }
    }

    /// Writes a `boolean`, as 0 or 1.
    package mutating func write(bool: Bool) { bytes.append(bool ? 1 : 0) }

    /// Writes a `string`: a length of four bytes, and the bytes, fewer than 2³².
    package mutating func write(string: [UInt8]) {
        write(uint32: UInt32(string.count))
        bytes += string
    }

    /// Writes a `string` that is text, in UTF-8.
    package mutating func write(text: String) { write(string: Array(text.utf8)) }

    /// Writes an `mpint`, in its shortest form, from a number without sign, big-endian, with or without leading zeros.
    package mutating func write(mpint magnitude: [UInt8]) { write(string: Self.integer(magnitude)) }

    /// Shortest two's complement of a number without sign, big-endian: the content of an `mpint`; zero is empty.
    static func integer(_ magnitude: [UInt8]) -> [UInt8] {
        let digits = magnitude.drop { $0 == 0 }
        return (digits.first ?? 0) < 0x80 ? Array(digits) : [0] + digits
    }
}
