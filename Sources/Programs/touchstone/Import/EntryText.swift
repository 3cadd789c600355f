import KeychainModel
import SecretMemory

/// The secret that an entry of an export becomes, in the form of ``SecretFields``.
///
/// The first line is the password. Fields of one line follow, then the `otpauth` URIs, then fields of several lines, each below a line
/// with its name, and the notes at the end, so that a line of a note does not hide a field. An entry that is only a note is its text.
enum EntryText {
    /// The secret of an entry.
    ///
    /// - Throws: ``CommandError`` if memory cannot be locked.
    static func content(of entry: ImportEntry, in document: ExportDocument) throws(CommandError)
        -> ImportContent
    {
        var writer = Writer(document, try CommandMemory.buffer(256))
        let hasOnlyNotes = entry.password == nil && entry.fields.isEmpty && entry.oneTimeKeys.isEmpty
        if hasOnlyNotes, entry.notes.isEmpty { return .empty }
        if let password = entry.password { writer.append(password) }
        if !hasOnlyNotes {
            var taken = [FieldName.password.folded: 1]
            let fields = entry.orderedFields.map { (FieldName.imported($0.name, taken: &taken), $0.value) }
            for (name, value) in fields where !document.hasLineBreak(value) { writer.field(name, value) }
            for key in entry.oneTimeKeys { writer.oneTimeKey(key, of: entry) }
            for (name, value) in fields where document.hasLineBreak(value) {
                writer.line("\(name):")
                writer.line(value)
            }
        }
        for (index, note) in entry.notes.enumerated() {
            if index > 0 || !hasOnlyNotes { writer.append("\n") }
            writer.append(note)
        }
        let secret = try CommandMemory.finish(writer.buffer)
        guard secret.count <= ItemLimits.longestData else { return .unreadable(tooLong) }
        return .secret(secret)
    }

    static let tooLong = "it is longer than \(ItemLimits.longestData) bytes, the limit for a secret"

    private struct Writer: ~Copyable {
        let document: ExportDocument
        var buffer: SecretBuffer

        init(_ document: ExportDocument, _ buffer: consuming SecretBuffer) {
            self.document = document
            self.buffer = buffer
        }

        mutating func append(_ text: ExportText) { document.append(text, to: &buffer) }
        mutating func append(_ text: String) { buffer.append(text: text) }

        mutating func line(_ text: String) { append("\n\(text)") }

        mutating func line(_ text: ExportText) {
            append("\n")
            append(text)
        }

        mutating func field(_ name: String, _ value: ExportText) {
            line("\(name): ")
            append(value)
        }

        /// The URI as it is, or one that is made of a key; what is neither becomes a field.
        mutating func oneTimeKey(_ key: ImportEntry.OneTimeKey, of entry: ImportEntry) {
            guard !document.begins(key.text, with: OneTimePassword.scheme) || document.hasLineBreak(key.text)
            else { return line(key.text) }
            guard document.isBase32(key.text) else {
                if document.hasLineBreak(key.text) {
                    line("totp:")
                    return line(key.text)
                }
                return field("totp", key.text)
            }
            let label = CredentialName.escaped(Array(entry.title.utf8), keeping: "/?#&=:\"<>\\^`{|}")
            line("\(OneTimePassword.scheme)totp/\(label)?secret=")
            document.appendBase32(key.text, to: &buffer)
            for (name, value) in [
                ("algorithm", key.algorithm?.uppercased()), ("digits", key.digits), ("period", key.period),
            ] {
                if let value {
                    append("&\(name)=\(CredentialName.escaped(Array(value.utf8), keeping: "&#"))")
                }
            }
        }
    }
}

extension ExportDocument {
    /// Whether a text is base32 (RFC 4648, section 6) with blanks, hyphens and padding, as apps show a key.
    fileprivate func isBase32(_ text: ExportText) -> Bool {
        contains(text) { Base32.isDigit($0) }
            && !contains(text) { !Base32.isDigit($0) && !Base32.isFiller($0) }
    }

    fileprivate func appendBase32(_ text: ExportText, to buffer: inout SecretBuffer) {
        append(text, to: &buffer, where: Base32.isDigit)
    }
}
