import ArgumentParser
import SecretMemory

/// A text with references to secrets: `touchstone://NAME`, or `{{ touchstone://NAME }}`.
///
/// In a name, `%` and two hexadecimal digits stand for a byte. Without braces a reference ends before the first ASCII
/// byte that is neither a letter, a digit nor one of `-`, `_`, `.`, `/`, `%`.
struct SecretTemplate {
    /// A part of the template.
    enum Part {
        case text(ArraySlice<UInt8>)
        case secret(ItemName)
    }

    private static let scheme = Array("touchstone://".utf8)

    private(set) var parts: [Part] = []

    /// The secrets it refers to, in order.
    var names: [ItemName] {
        parts.compactMap { part in
            guard case .secret(let name) = part else { return nil }
            return name
        }
    }

    /// Creates a template that consists of one secret.
    init(_ name: ItemName) { parts = [.secret(name)] }

    /// Parses a text.
    ///
    /// - Throws: `ValidationError` for a reference with an invalid name; it quotes no other text.
    init(_ text: ArraySlice<UInt8>) throws(ValidationError) {
        var rest = text
        var plain = text.startIndex
        while let found = Self.firstReference(in: rest) {
            if plain < found.range.lowerBound { parts.append(.text(text[plain..<found.range.lowerBound])) }
            parts.append(.secret(try Self.name(found.name)))
            plain = found.range.upperBound
            rest = text[plain...]
        }
        if plain < text.endIndex { parts.append(.text(text[plain...])) }
    }

    /// Parses a value; if it starts as a reference, the reference extends to its end: `touchstone://two words`.
    init(value text: ArraySlice<UInt8>) throws(ValidationError) {
        if text.starts(with: Self.scheme) {
            self.init(try Self.name(text.dropFirst(Self.scheme.count)))
        } else {
            try self.init(text)
        }
    }

    /// The secret that a text refers to as a whole; nil if it does not start as a reference.
    static func reference(_ text: String) throws(ValidationError) -> ItemName? {
        let octets = Array(text.utf8)
        return octets.starts(with: scheme) ? try name(octets.dropFirst(scheme.count)) : nil
    }

    /// Appends the text and the secrets to a buffer.
    func render(_ secrets: ReleasedSecrets, to buffer: inout SecretBuffer) {
        for part in parts {
            switch part {
            case .text(let text): unsafe text.withUnsafeBytes { unsafe buffer.append(contentsOf: $0) }
            case .secret(let name):
                secrets.withSecret(name) { secret in secret.withOctets { buffer.append(contentsOf: $0) } }
            }
        }
    }

    private static func firstReference(
        in text: ArraySlice<UInt8>
    ) -> (range: Range<Int>, name: ArraySlice<UInt8>)? {
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
        let end = name.firstIndex { !isPlain($0) } ?? name.endIndex
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

    private static func name(_ octets: ArraySlice<UInt8>) throws(ValidationError) -> ItemName {
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
        do throws(ValidationError) {
            return try ItemName(argument: String(decoding: decoded, as: UTF8.self))
        } catch {
            throw ValidationError("a reference names no secret: \(error.message)")
        }
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
