import ArgumentParser
import SecretMemory

/// Text with references to secrets in it: `touchstone://NAME`, or `{{ touchstone://NAME }}`.
///
/// In a name `%` and two hexadecimal digits stand for a byte. Without braces a reference ends before the first byte
/// that is neither a letter, a digit, one of `-`, `_`, `.`, `/`, `%`, nor outside ASCII.
struct SecretTemplate {
    /// A piece of it.
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

    /// A template that is one secret and nothing else.
    init(_ name: ItemName) { parts = [.secret(name)] }

    /// Reads text.
    ///
    /// - Throws: `ValidationError` for a reference whose name cannot be one; it names no other text.
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

    /// Reads a value that, when it starts as a reference, is one to its end: `touchstone://two words`.
    init(value text: ArraySlice<UInt8>) throws(ValidationError) {
        if text.starts(with: Self.scheme) {
            self.init(try Self.name(text.dropFirst(Self.scheme.count)))
        } else {
            try self.init(text)
        }
    }

    /// The secret that a text names as a reference, all of it; nil where it does not start as one.
    static func reference(_ text: String) throws(ValidationError) -> ItemName? {
        let octets = Array(text.utf8)
        return octets.starts(with: scheme) ? try name(octets.dropFirst(scheme.count)) : nil
    }

    /// Writes text and secrets, one after the other.
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
        // With braces around it: `{{`, blanks, the reference, blanks, `}}`.
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
