import Foundation

/// The encodings of an ECDSA signature.
enum ECDSAForm: Equatable, Sendable {
    /// DER of a sequence of r and s (ANSI X9.62).
    case x962
    /// r and s, of a coordinate's length each (RFC 4754).
    case rfc4754

    /// Encodes a signature; `raw` is r and s.
    func encode(_ raw: [UInt8]) -> [UInt8] {
        guard self == .x962 else { return raw }
        let half = raw.count / 2
        let numbers = Self.integer(raw[..<half]) + Self.integer(raw[half...])
        return [0x30] + Self.length(numbers.count) + numbers
    }

    /// Decodes a signature to r and s; nil for invalid bytes, including DER that is not minimal.
    func decode(_ signature: [UInt8], coordinateByteCount: Int) -> [UInt8]? {
        guard self == .x962 else { return signature.count == 2 * coordinateByteCount ? signature : nil }
        guard signature.count <= 2 * coordinateByteCount + 9 else { return nil }
        var rest = signature[...]
        guard var numbers = Self.take(0x30, from: &rest), rest.isEmpty,
            let r = Self.take(0x02, from: &numbers), let s = Self.take(0x02, from: &numbers), numbers.isEmpty
        else { return nil }
        var raw: [UInt8] = []
        for number in [r, s] {
            guard let first = number.first, first < 0x80 else { return nil }
            let digits = first == 0 ? number.dropFirst() : number
            // A leading zero is valid only if the number would be negative without it.
            if first == 0, let next = digits.first, next < 0x80 { return nil }
            guard digits.count <= coordinateByteCount else { return nil }
            raw += [UInt8](repeating: 0, count: coordinateByteCount - digits.count) + digits
        }
        return raw
    }

    private static func integer(_ octets: ArraySlice<UInt8>) -> [UInt8] {
        var digits = Array(octets.drop { $0 == 0 })
        if digits.first.map({ $0 >= 0x80 }) ?? true { digits.insert(0, at: 0) }
        return [0x02] + length(digits.count) + digits
    }

    /// Only the sequence of P-521 can be longer than 127 bytes.
    private static func length(_ count: Int) -> [UInt8] {
        count < 0x80 ? [UInt8(count)] : [0x81, UInt8(count)]
    }

    private static func take(_ tag: UInt8, from octets: inout ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        guard octets.popFirst() == tag, var count = octets.popFirst().map(Int.init) else { return nil }
        if count == 0x81 {
            guard let long = octets.popFirst(), long >= 0x80 else { return nil }
            count = Int(long)
        } else if count >= 0x80 {
            return nil
        }
        guard octets.count >= count else { return nil }
        defer { octets = octets.dropFirst(count) }
        return octets.prefix(count)
    }
}
