/// The destination of a ``CBORWriter``'s bytes.
public protocol CBORSink: ~Copyable {
    /// Appends one byte.
    mutating func append(_ octet: UInt8)
    /// Appends `octets`.
    mutating func append(contentsOf octets: UnsafeRawBufferPointer)
}

extension [UInt8]: CBORSink {}

/// Writes CBOR in the deterministic form of RFC 8949, section 4.2.1: shortest heads and floats, definite lengths.
///
/// Two rules are left to the caller: exactly as many items follow a head as it announces, and a map's keys come in
/// bytewise lexicographic order of their encodings (``CBORReader`` refuses any other).
public struct CBORWriter<Sink: CBORSink & ~Copyable>: ~Copyable {
    @usableFromInline
    internal var sink: Sink

    /// Writes to the end of `sink`.
    @inlinable
    public init(_ sink: consuming Sink) {
        self.sink = sink
    }

    /// Returns the sink with all bytes written.
    @inlinable
    public consuming func finish() -> Sink { sink }

    /// Writes an unsigned integer (major type 0).
    @inlinable
    public mutating func write(unsigned: UInt64) {
        writeHead(0x00, unsigned)
    }

    /// Writes a signed integer (major types 0 and 1).
    @inlinable
    public mutating func write(_ integer: Int64) {
        if integer >= 0 {
            writeHead(0x00, UInt64(bitPattern: integer))
        } else {
            writeHead(0x20, UInt64(bitPattern: ~integer))
        }
    }

    /// Writes a signed integer (major types 0 and 1).
    @inlinable
    public mutating func write(_ integer: Int) {
        write(Int64(integer))
    }

    /// Writes a byte string (major type 2).
    @inlinable
    public mutating func write(bytes: Span<UInt8>) {
        writeHead(0x40, UInt64(bytes.count))
        unsafe bytes.withUnsafeBytes { unsafe sink.append(contentsOf: $0) }
    }

    /// Writes a byte string (major type 2).
    @inlinable
    public mutating func write(bytes: [UInt8]) {
        write(bytes: bytes.span)
    }

    /// Writes the head of a byte string; its content has to follow by ``writeRaw(_:)-(UnsafeRawBufferPointer)``.
    @inlinable
    public mutating func writeBytesHead(count: Int) {
        writeHead(0x40, UInt64(count))
    }

    /// Writes a text string (major type 3).
    @inlinable
    public mutating func write(text: String) {
        var text = text
        text.withUTF8 { octets in
            writeHead(0x60, UInt64(octets.count))
            unsafe sink.append(contentsOf: UnsafeRawBufferPointer(octets))
        }
    }

    /// Writes the head of an array of `count` items (major type 4).
    @inlinable
    public mutating func writeArrayHead(count: Int) {
        writeHead(0x80, UInt64(count))
    }

    /// Writes the head of a map of `count` pairs (major type 5).
    @inlinable
    public mutating func writeMapHead(count: Int) {
        writeHead(0xA0, UInt64(count))
    }

    /// Writes the tag that the next item carries (major type 6).
    @inlinable
    public mutating func writeTag(_ number: UInt64) {
        writeHead(0xC0, number)
    }

    /// Writes false or true.
    @inlinable
    public mutating func write(_ flag: Bool) {
        sink.append(flag ? 0xF5 : 0xF4)
    }

    /// Writes null.
    @inlinable
    public mutating func writeNull() {
        sink.append(0xF6)
    }

    /// Writes a floating-point number in the shortest of its three forms that keeps its value; every NaN in one form.
    public mutating func write(_ double: Double) {
        if let half = HalfFloat.bits(of: double) {
            sink.append(0xF9)
            append(half)
        } else if let single = Float(exactly: double) {
            sink.append(0xFA)
            append(single.bitPattern)
        } else {
            sink.append(0xFB)
            append(double.bitPattern)
        }
    }

    /// Writes a simple value by its number, except 24 to 31, which RFC 8949 reserves.
    package mutating func write(simple: UInt8) {
        precondition(!(24...31).contains(simple), "simple values 24 to 31 are reserved")
        writeHead(0xE0, UInt64(simple))
    }

    /// Writes bytes that are already CBOR, or the content that ``writeBytesHead(count:)`` announced.
    @inlinable
    public mutating func writeRaw(_ octets: UnsafeRawBufferPointer) {
        unsafe sink.append(contentsOf: octets)
    }

    /// Writes bytes that are already CBOR, or the content that ``writeBytesHead(count:)`` announced.
    @inlinable
    public mutating func writeRaw(_ octets: [UInt8]) {
        unsafe octets.withUnsafeBytes { unsafe sink.append(contentsOf: $0) }
    }

    /// Writes the initial byte and the shortest form of the argument (RFC 8949, section 3).
    @inlinable
    internal mutating func writeHead(_ major: UInt8, _ argument: UInt64) {
        if argument < 24 {
            sink.append(major | UInt8(truncatingIfNeeded: argument))
        } else if argument <= 0xFF {
            sink.append(major | 24)
            sink.append(UInt8(truncatingIfNeeded: argument))
        } else if argument <= 0xFFFF {
            sink.append(major | 25)
            append(UInt16(truncatingIfNeeded: argument))
        } else if argument <= 0xFFFF_FFFF {
            sink.append(major | 26)
            append(UInt32(truncatingIfNeeded: argument))
        } else {
            sink.append(major | 27)
            append(argument)
        }
    }

    @inlinable
    internal mutating func append(_ number: some FixedWidthInteger) {
        unsafe Swift.withUnsafeBytes(of: number.bigEndian) { unsafe sink.append(contentsOf: $0) }
    }
}
