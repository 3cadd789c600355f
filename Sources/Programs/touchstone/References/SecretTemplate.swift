import ArgumentParser
import SecretMemory

/// A text with references to secrets: `touchstone://NAME`, or `{{ touchstone://NAME }}`; with `?field=FIELD` behind the
/// name, to a field of it.
///
/// In a name, `%` and two hexadecimal digits stand for a byte. Without braces a name ends before the first ASCII byte that
/// is neither a letter, a digit nor one of `-`, `_`, `.`, `/`, `%`.
struct SecretTemplate {
    /// A part of the template.
    enum Part {
        case text(ArraySlice<UInt8>)
        case secret(SecretReference)
    }

    private static let scheme = Array("touchstone://".utf8)
    private static let query = Array("?field=".utf8)

    private(set) var parts: [Part] = []

    /// The secrets it refers to, in order.
    var secrets: [SecretReference] {
        parts.compactMap { part in
            guard case .secret(let secret) = part else { return nil }
            return secret
        }
    }

    /// Creates a template that consists of one secret.
    init(_ secret: SecretReference) { parts = [.secret(secret)] }

    /// Parses a text.
    ///
    /// - Throws: `ValidationError` for a reference with an invalid name; it quotes no other text.
    init(_ text: ArraySlice<UInt8>) throws(ValidationError) {
        var rest = text
        var plain = text.startIndex
        while let found = Self.firstReference(in: rest) {
            if plain < found.range.lowerBound { parts.append(.text(text[plain..<found.range.lowerBound])) }
            parts.append(.secret(try Self.secret(found.reference)))
            plain = found.range.upperBound
            rest = text[plain...]
        }
        if plain < text.endIndex { parts.append(.text(text[plain...])) }
    }

    /// Parses a value; if it starts as a reference, the reference extends to its end: `touchstone://two words`.
    init(value text: ArraySlice<UInt8>) throws(ValidationError) {
        if text.starts(with: Self.scheme) {
            self.init(try Self.secret(text.dropFirst(Self.scheme.count)))
        } else {
            try self.init(text)
        }
    }

    /// The secret that a text refers to as a whole; nil if it does not start as a reference.
    static func reference(_ text: String) throws(ValidationError) -> SecretReference? {
        let octets = Array(text.utf8)
        return octets.starts(with: scheme) ? try secret(octets.dropFirst(scheme.count)) : nil
    }

    /// Appends the text and the secrets to a buffer.
    func render(_ secrets: ReleasedSecrets, to buffer: inout SecretBuffer) {
        for part in parts {
            switch part {
            case .text(let text): unsafe text.withUnsafeBytes { unsafe buffer.append(contentsOf: $0) }
            case .secret(let reference):
                secrets.withSecret(reference) { secret in secret.withOctets { buffer.append(contentsOf: $0) }
                }
            }
        }
    }

    private static func firstReference(
        in text: ArraySlice<UInt8>
    ) -> (range: Range<Int>, reference: ArraySlice<UInt8>)? {
        guard let start = firstIndex(of: scheme, in: text) else { return nil }
        let name = text[(start + scheme.count)...]
        // With braces: `{{`, blanks, the reference, blanks, `}}`.
        let before = text[..<start].lastIndex { !isBlank($0) }
        if let before, before > text.startIndex, text[before] == UInt8(ascii: "{"),
            text[before - 1] == UInt8(ascii: "{"), let end = firstIndex(of: Array("}}".utf8), in: name)
        {
            let last = name[..<end].lastIndex { !isBlank($0) }
            return (before - 1..<end + 2, name[..<(last.map { $0 + 1 } ?? name.startIndex)])
        }
        var end = name.firstIndex { !isPlain($0) } ?? name.endIndex
        if text[end...].starts(with: query) {
            let field = text[(end + query.count)...].prefix(while: isPlain)
            if !field.isEmpty { end = field.endIndex }
        }
        return (start..<end, name[..<end])
    }

    private static func firstIndex(of part: [UInt8], in text: ArraySlice<UInt8>) -> Int? {
        guard let first = part.first else { return nil }
        var rest = text
        while let start = rest.firstIndex(of: first) {
            if text[start...].starts(with: part) { return start }
            rest = text[(start + 1)...]
        }
        return nil
    }

    private static func secret(_ octets: ArraySlice<UInt8>) throws(ValidationError) -> SecretReference {
        let end = firstIndex(of: query, in: octets)
        do throws(ValidationError) {
            return SecretReference(
                name: try ItemName(argument: decoded(octets[..<(end ?? octets.endIndex)])),
                field: try end.map { end throws(ValidationError) in
                    try FieldName(argument: decoded(octets[(end + query.count)...]))
                }
            )
        } catch {
            throw ValidationError("a reference names no secret: \(error.message)")
        }
    }

    private static func decoded(_ octets: ArraySlice<UInt8>) throws(ValidationError) -> String {
        var decoded: [UInt8] = []
        var rest = octets
        while let octet = rest.popFirst() {
            guard octet == UInt8(ascii: "%") else {
                decoded.append(octet)
                continue
            }
            let digits = String(decoding: rest.prefix(2), as: UTF8.self)
            guard digits.utf8.count == 2, digits.utf8.allSatisfy({ $0 != UInt8(ascii: "+") }),
                let value = UInt8(digits, radix: 16)
            else {
                throw ValidationError(
                    "in a reference, % is followed by two hexadecimal digits; %25 stands for %"
                )
            }
            decoded.append(value)
            rest = rest.dropFirst(2)
        }
        return String(decoding: decoded, as: UTF8.self)
    }

    private static func isBlank(_ octet: UInt8) -> Bool { octet == 0x20 || octet == 0x09 }

    private static func isPlain(_ octet: UInt8) -> Bool {
        switch octet {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), 0x80...0xFF:
            true
        default: Array("-_./%".utf8).contains(octet)
        }
    }
}
