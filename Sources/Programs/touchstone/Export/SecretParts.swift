import ArgumentParser
import SecretMemory

/// The parts of a secret in the form of ``SecretFields``, as places in its bytes: what another program keeps apart.
struct SecretParts {
    /// A key of one-time codes by time, from an `otpauth` URI.
    struct OneTimeKey {
        /// The key in base32, with blanks, hyphens and padding.
        var secret: Range<Int>
        var algorithm = "sha1"
        var digits = 6
        var period = 30
    }

    /// The first line.
    private(set) var password: Range<Int>
    /// The first field `user`.
    private(set) var user: Range<Int>?
    /// The fields `url`, `url 2` and so on.
    private(set) var addresses: [Range<Int>] = []
    private(set) var oneTimeKeys: [OneTimeKey] = []
    /// All other fields.
    private(set) var fields: [(name: String, value: Range<Int>)] = []
    /// Everything from the first line on that is no field.
    private(set) var note: Range<Int>?

    init(_ octets: Span<UInt8>) {
        var end = Self.end(ofLineAt: 0, octets)
        password = Self.content(0..<end, octets)
        while end < octets.count {
            let start = end + 1
            end = Self.end(ofLineAt: start, octets)
            guard add(Self.content(start..<end, octets), octets) else {
                note = start..<octets.count
                return
            }
        }
    }

    /// Adds a line; false if it is no field.
    private mutating func add(_ line: Range<Int>, _ octets: Span<UInt8>) -> Bool {
        if Self.begins(line, with: OneTimePassword.scheme, octets) {
            add(oneTimeKey: line, octets)
            return true
        }
        guard let colon = line.first(where: { octets[$0] == UInt8(ascii: ":") }),
            case let text = Self.text(Self.trimmed(line.lowerBound..<colon, octets), octets),
            let name = try? FieldName(argument: text)
        else { return false }
        let value = Self.trimmed((colon + 1)..<line.upperBound, octets)
        guard !value.isEmpty else { return false }
        if Self.begins(value, with: OneTimePassword.scheme, octets) {
            add(oneTimeKey: value, octets)
        } else if name.folded == FieldName.user.folded, user == nil {
            user = value
        } else if text.lowercased().split(separator: " ").first ?? "" == FieldName.url.text {
            addresses.append(value)
        } else {
            fields.append((text, value))
        }
        return true
    }

    /// A URI that CXF cannot express, such as Steam's, stays one.
    private mutating func add(oneTimeKey uri: Range<Int>, _ octets: Span<UInt8>) {
        if let key = Self.oneTimeKey(uri, octets) {
            oneTimeKeys.append(key)
        } else {
            fields.append(("otpauth", uri))
        }
    }

    private static func oneTimeKey(_ uri: Range<Int>, _ octets: Span<UInt8>) -> OneTimeKey? {
        guard begins(uri, with: OneTimePassword.scheme + "totp/", octets),
            let question = uri.first(where: { octets[$0] == UInt8(ascii: "?") })
        else { return nil }
        var key = OneTimeKey(secret: uri.upperBound..<uri.upperBound)
        var start = question + 1
        while start < uri.upperBound {
            let end = (start..<uri.upperBound).first { octets[$0] == UInt8(ascii: "&") } ?? uri.upperBound
            let equals = (start..<end).first { octets[$0] == UInt8(ascii: "=") } ?? end
            let value = min(equals + 1, end)..<end
            switch text(start..<equals, octets).lowercased() {
            case "secret": key.secret = value
            case "algorithm": key.algorithm = text(value, octets).lowercased()
            case "digits": key.digits = Int(text(value, octets)) ?? 0
            case "period": key.period = Int(text(value, octets)) ?? 0
            case "encoder": return nil
            default: break
            }
            start = end + 1
        }
        guard key.secret.contains(where: { Base32.isDigit(octets[$0]) }),
            key.secret.allSatisfy({ Base32.isDigit(octets[$0]) || Base32.isFiller(octets[$0]) }),
            ["sha1", "sha256", "sha512"].contains(key.algorithm), (6...8).contains(key.digits),
            (1...86_400).contains(key.period)
        else { return nil }
        return key
    }

    private static func end(ofLineAt start: Int, _ octets: Span<UInt8>) -> Int {
        (start..<max(start, octets.count)).first { octets[$0] == 0x0A } ?? octets.count
    }

    /// A line without the carriage return at its end.
    private static func content(_ line: Range<Int>, _ octets: Span<UInt8>) -> Range<Int> {
        guard let last = line.last, octets[last] == 0x0D else { return line }
        return line.lowerBound..<last
    }

    private static func trimmed(_ range: Range<Int>, _ octets: Span<UInt8>) -> Range<Int> {
        func isBlank(_ index: Int) -> Bool { octets[index] == 0x20 || octets[index] == 0x09 }
        guard let first = range.first(where: { !isBlank($0) }), let last = range.last(where: { !isBlank($0) })
        else { return range.upperBound..<range.upperBound }
        return first..<(last + 1)
    }

    private static func begins(_ range: Range<Int>, with text: String, _ octets: Span<UInt8>) -> Bool {
        let beginning = Array(text.utf8)
        return range.count > beginning.count
            && beginning.indices.allSatisfy { beginning[$0] == octets[range.lowerBound + $0] }
    }

    /// A text that is no secret: a field's name, or how codes are made; empty for one that is too long for both.
    private static func text(_ range: Range<Int>, _ octets: Span<UInt8>) -> String {
        guard range.count <= 64 else { return "" }
        return String(decoding: range.map { octets[$0] }, as: UTF8.self)
    }
}
