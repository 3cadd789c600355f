import KeychainModel
import SecretMemory

/// The fields of a secret, as pass and gopass write them: the first line is the password, each line below it may be
/// `name: value`, and a line of the form `otpauth://…` is the key of one-time passwords.
enum SecretFields {
    /// The place of a field's value, of the first one of this name; nil if the secret has no such field.
    static func place(of field: FieldName, in octets: Span<UInt8>) -> Range<Int>? {
        place(of: field, in: octets) { _ in true }
    }

    /// Whether a field has a value that matches, in any of its lines.
    static func has(_ field: FieldName, matching pattern: FieldPattern, in secret: borrowing SecretBytes)
        -> Bool
    {
        secret.withOctets { octets in
            place(of: field, in: octets) { pattern.matches(octets.extracting($0)) } != nil
        }
    }

    /// The place of a field's first value that `isMeant` takes.
    private static func place(
        of field: FieldName,
        in octets: Span<UInt8>,
        where isMeant: (_ value: Range<Int>) -> Bool
    ) -> Range<Int>? {
        let isPassword = field.folded == FieldName.password.folded
        return firstLine(of: octets) { line, isFirst in
            if isFirst { return isPassword && isMeant(line) ? line : nil }
            guard !isPassword, let colon = line.first(where: { octets[$0] == UInt8(ascii: ":") }) else {
                return nil
            }
            let name = trimmed(line.lowerBound..<colon, octets)
            guard field.matches(octets.extracting(name)) else { return nil }
            let value = trimmed((colon + 1)..<line.upperBound, octets)
            return isMeant(value) ? value : nil
        }
    }

    /// The place of the URI with the key of one-time passwords, alone on its line or as the value of a field; nil if there is none.
    static func placeOfOneTimeKey(in octets: Span<UInt8>) -> Range<Int>? {
        firstLine(of: octets) { line, _ in
            let line = trimmed(line, octets)
            if startsAsOneTimeKey(line, octets) { return line }
            guard let colon = line.first(where: { octets[$0] == UInt8(ascii: ":") }) else { return nil }
            let value = trimmed((colon + 1)..<line.upperBound, octets)
            return startsAsOneTimeKey(value, octets) ? value : nil
        }
    }

    /// The value of a field; nil if the secret has no such field.
    static func value(of field: FieldName, in secret: borrowing SecretBytes) throws(CommandError)
        -> SecretBytes?
    {
        try secret.withOctets { octets throws(CommandError) in
            guard let place = place(of: field, in: octets) else { return nil }
            return try CommandMemory.copy(octets.extracting(place))
        }
    }

    /// The password, for a program that takes at most `limit` bytes.
    ///
    /// - Throws: ``CommandError`` if it is longer, or empty.
    static func password(in secret: borrowing SecretBytes, atMost limit: Int) throws(CommandError)
        -> SecretBytes
    {
        guard let password = try value(of: .password, in: secret), (1...limit).contains(password.count) else {
            throw CommandError("its first line does not have 1 to \(limit) bytes")
        }
        return password
    }

    /// The secret with another value of a field, which becomes its last line if it has no such field.
    ///
    /// - Throws: ``CommandError`` for a value of several lines, or if the secret becomes too large.
    static func setting(
        _ field: FieldName,
        to value: borrowing SecretBytes,
        in secret: borrowing SecretBytes
    ) throws(CommandError) -> SecretBytes {
        let place = secret.withOctets { Self.place(of: field, in: $0) }
        return try replacing(place, in: secret, by: value, lead: "\(field.text): ")
    }

    /// The secret with another key of one-time passwords, an `otpauth` URI.
    static func settingOneTimeKey(
        to uri: borrowing SecretBytes,
        in secret: borrowing SecretBytes
    ) throws(CommandError) -> SecretBytes {
        let place = secret.withOctets { placeOfOneTimeKey(in: $0) }
        return try replacing(place, in: secret, by: uri, lead: "")
    }

    private static func replacing(
        _ place: Range<Int>?,
        in secret: borrowing SecretBytes,
        by value: borrowing SecretBytes,
        lead: String
    ) throws(CommandError) -> SecretBytes {
        let isOneLine = value.withOctets { octets in
            octets.indices.allSatisfy { octets[$0] != 0x0A && octets[$0] != 0x0D }
        }
        guard isOneLine else {
            throw CommandError(
                "a field is one line; nothing was changed",
                hint: "touchstone edit writes several"
            )
        }
        var buffer = try CommandMemory.buffer(secret.count + value.count + lead.utf8.count + 2)
        secret.withOctets { octets -> Void in
            let end = octets.count
            let endsWithNewline = end > 0 && octets[end - 1] == 0x0A
            guard let place else {
                // A new line, which ends as the last one did.
                buffer.append(contentsOf: octets)
                if end > 0, !endsWithNewline { buffer.append(0x0A) }
                buffer.append(text: lead)
                value.withOctets { buffer.append(contentsOf: $0) }
                if endsWithNewline { buffer.append(0x0A) }
                return
            }
            buffer.append(contentsOf: octets.extracting(..<place.lowerBound))
            value.withOctets { buffer.append(contentsOf: $0) }
            buffer.append(contentsOf: octets.extracting(place.upperBound...))
        }
        guard buffer.count <= ItemLimits.longestData else { throw SecretInput.tooLarge }
        return try CommandMemory.finish(buffer)
    }

    /// The first result that `body` has for a line; of a line that ends as on Windows, without its carriage return.
    private static func firstLine(
        of octets: Span<UInt8>,
        _ body: (_ line: Range<Int>, _ isFirst: Bool) -> Range<Int>?
    ) -> Range<Int>? {
        var start = 0
        while start < octets.count {
            let end = (start..<octets.count).first { octets[$0] == 0x0A } ?? octets.count
            let hasReturn = end > start && octets[end - 1] == 0x0D
            if let found = body(start..<(hasReturn ? end - 1 : end), start == 0) { return found }
            start = end + 1
        }
        return nil
    }

    private static func trimmed(_ range: Range<Int>, _ octets: Span<UInt8>) -> Range<Int> {
        func isBlank(_ index: Int) -> Bool { octets[index] == 0x20 || octets[index] == 0x09 }
        guard let first = range.first(where: { !isBlank($0) }), let last = range.last(where: { !isBlank($0) })
        else { return range.upperBound..<range.upperBound }
        return first..<(last + 1)
    }

    private static func startsAsOneTimeKey(_ range: Range<Int>, _ octets: Span<UInt8>) -> Bool {
        let scheme = Array(OneTimePassword.scheme.utf8)
        return range.count > scheme.count
            && scheme.indices.allSatisfy { scheme[$0] == octets[range.lowerBound + $0] }
    }
}
