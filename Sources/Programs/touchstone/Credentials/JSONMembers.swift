import SecretMemory

/// The string members of a JSON object (RFC 8259), decoded into locked memory; other members are skipped.
final class JSONMembers {
    fileprivate final class Held {
        let secret: SecretBytes
        init(_ secret: consuming SecretBytes) { self.secret = secret }
    }

    private var members: [String: Held] = [:]

    /// Parses an object; nil for anything else.
    ///
    /// - Throws: ``CommandError`` if memory cannot be locked.
    init?(_ text: consuming SecretBytes) throws(CommandError) {
        var reader = Reader(text: Held(text))
        let isObject = try reader.readObject { name, value in
            if let value = value.take() { members[name] = Held(value) }
        }
        guard isObject, reader.isAtEnd else { return nil }
    }

    /// A non-secret member.
    func plain(_ name: String) -> [UInt8]? {
        members[name]?.secret.withOctets { octets in octets.indices.map { octets[$0] } }
    }

    /// A member; empty if it is missing.
    func secret(_ name: String) throws(CommandError) -> SecretBytes {
        guard let member = members[name] else { return SecretBytes(copying: []) }
        return try CommandMemory.copy(of: member.secret)
    }

    private struct Reader {
        let text: Held
        var index = 0

        var isAtEnd: Bool {
            mutating get {
                skipBlanks()
                return index == text.secret.count
            }
        }

        private var next: UInt8? {
            text.secret.withOctets { octets in index < octets.count ? octets[index] : nil }
        }

        private mutating func skipBlanks() {
            while let octet = next, [0x20, 0x09, 0x0A, 0x0D].contains(octet) { index += 1 }
        }

        private mutating func take(_ character: Character) -> Bool {
            skipBlanks()
            guard let octet = next, octet == character.asciiValue else { return false }
            index += 1
            return true
        }

        mutating func readObject(_ member: (String, inout SecretBytes?) -> Void) throws(CommandError) -> Bool
        {
            guard take("{") else { return false }
            if take("}") { return true }
            repeat {
                skipBlanks()
                guard let name = try readText(), take(":") else { return false }
                skipBlanks()
                var value: SecretBytes?
                if next == UInt8(ascii: "\"") {
                    value = try readText()
                    guard value != nil else { return false }
                } else if try !skipValue(depth: 0) {
                    return false
                }
                let key = name.withOctets { octets in
                    String(decoding: octets.indices.map { octets[$0] }, as: UTF8.self)
                }
                member(key, &value)
            } while take(",")
            return take("}")
        }

        /// Skips a value that is not a string of this object.
        private mutating func skipValue(depth: Int) throws(CommandError) -> Bool {
            guard depth < 16 else { return false }
            skipBlanks()
            switch next {
            case UInt8(ascii: "\"")?: return try readText() != nil
            case UInt8(ascii: "[")?:
                index += 1
                if take("]") { return true }
                repeat { guard try skipValue(depth: depth + 1) else { return false } } while take(",")
                return take("]")
            case UInt8(ascii: "{")?:
                index += 1
                if take("}") { return true }
                repeat {
                    skipBlanks()
                    guard try readText() != nil, take(":"), try skipValue(depth: depth + 1) else {
                        return false
                    }
                } while take(",")
                return take("}")
            default:
                let start = index
                while let octet = next, octet > 0x20, ![0x2C, 0x5D, 0x7D].contains(octet) { index += 1 }
                return index > start
            }
        }

        private mutating func readText() throws(CommandError) -> SecretBytes? {
            guard next == UInt8(ascii: "\"") else { return nil }
            index += 1
            var text = try CommandMemory.buffer(64)
            while let octet = next {
                index += 1
                switch octet {
                case UInt8(ascii: "\""): return try CommandMemory.finish(text)
                case UInt8(ascii: "\\"): guard readEscape(into: &text) else { return nil }
                case 0..<0x20: return nil
                default: text.append(octet)
                }
            }
            return nil
        }

        private mutating func readEscape(into text: inout SecretBuffer) -> Bool {
            guard let octet = next else { return false }
            index += 1
            switch octet {
            case UInt8(ascii: "n"): text.append(0x0A)
            case UInt8(ascii: "r"): text.append(0x0D)
            case UInt8(ascii: "t"): text.append(0x09)
            case UInt8(ascii: "b"): text.append(0x08)
            case UInt8(ascii: "f"): text.append(0x0C)
            case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(octet)
            case UInt8(ascii: "u"):
                guard let scalar = readScalar() else { return false }
                for octet in String(Character(scalar)).utf8 { text.append(octet) }
            default: return false
            }
            return true
        }

        private mutating func readScalar() -> Unicode.Scalar? {
            guard let first = readUnit() else { return nil }
            guard (0xD800..<0xDC00).contains(first) else { return Unicode.Scalar(first) }
            guard next == UInt8(ascii: "\\") else { return nil }
            index += 1
            guard next == UInt8(ascii: "u") else { return nil }
            index += 1
            guard let second = readUnit(), (0xDC00..<0xE000).contains(second) else { return nil }
            return Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
        }

        private mutating func readUnit() -> UInt32? {
            guard index + 4 <= text.secret.count else { return nil }
            let digits = text.secret.withOctets { octets in
                String(decoding: (index..<index + 4).map { octets[$0] }, as: UTF8.self)
            }
            index += 4
            return digits.hasPrefix("+") ? nil : UInt32(digits, radix: 16)
        }
    }
}

extension SecretBuffer {
    /// Appends text.
    mutating func append(text: String) { for octet in text.utf8 { append(octet) } }

    /// Appends bytes as a JSON string; a terminal may show it, so that control and format characters are escaped.
    mutating func append(quoted octets: Span<UInt8>) {
        append(UInt8(ascii: "\""))
        var index = 0
        while index < octets.count {
            let octet = octets[index]
            switch octet {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                append(UInt8(ascii: "\\"))
                append(octet)
                index += 1
            case 0x20..<0x7F:
                append(octet)
                index += 1
            default: index += append(quotedScalarIn: octets, at: index)
            }
        }
        append(UInt8(ascii: "\""))
    }

    /// Appends the character that begins at an index, and returns its length; for bytes that are not UTF-8, U+FFFD each.
    private mutating func append(quotedScalarIn octets: Span<UInt8>, at index: Int) -> Int {
        let lead = octets[index]
        let length = lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4
        let end = min(index + length, octets.count)
        var value = UInt32(length == 1 ? lead : lead & (0x7F >> UInt8(length)))
        for next in octets.indices where next > index && next < end {
            value = value << 6 | UInt32(octets[next] & 0x3F)
        }
        guard end == index + length, let scalar = Unicode.Scalar(value),
            String(scalar).utf8.elementsEqual((index..<end).map { octets[$0] })
        else {
            append(text: "\\ufffd")
            return 1
        }
        if Printable.isHarmful(scalar) {
            append(text: JSONText.escape(scalar))
        } else {
            for place in index..<end { append(octets[place]) }
        }
        return length
    }
}
