import ArgumentParser

/// An entry of an export, before it is a secret: places of its texts.
struct ImportEntry {
    /// The folders that it is in, the outermost first.
    var folders: [String] = []
    var title = ""
    var password: ExportText?
    /// The fields, `user` and `url` among them, in the order of the export; the same name may occur several times.
    var fields: [(name: String, value: ExportText)] = []
    var oneTimeKeys: [OneTimeKey] = []
    var notes: [ExportText] = []
    /// What stays behind, in words.
    var leftOut: [String] = []

    /// The key of one-time codes: an `otpauth` URI, or the key in base32 with how its codes are made.
    struct OneTimeKey {
        var text: ExportText
        var algorithm: String?
        var digits: String?
        var period: String?
    }

    /// The first user name.
    var user: ExportText? { fields.first { $0.name == FieldName.user.text }?.value }

    /// The fields, the user names and addresses before the others.
    var orderedFields: [(name: String, value: ExportText)] {
        let known = [FieldName.user.text, FieldName.url.text]
        return known.flatMap { name in fields.filter { $0.name == name } }
            + fields.filter { !known.contains($0.name) }
    }

    /// The host of its first address, as a title; the address itself if it has none.
    func host(in document: ExportDocument) -> String {
        guard let value = fields.first(where: { $0.name == FieldName.url.text })?.value else { return "" }
        let address = document.string(value)
        let parts = address.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count > 2, parts[0].last == ":", parts[1].isEmpty else { return address }
        let authority = parts[2].prefix { $0 != "?" && $0 != "#" }
        return String(authority.split(separator: "@").last ?? authority)
    }

    /// Adds a field, unless it is empty.
    mutating func add(_ name: String, _ value: ExportText?, in document: ExportDocument) {
        guard let value, !document.isEmpty(value) else { return }
        fields.append((name, value))
    }

    /// Adds a password; a second one becomes a field.
    mutating func addPassword(_ value: ExportText?, in document: ExportDocument) {
        guard let value, !document.isEmpty(value) else { return }
        if password == nil {
            password = value
        } else {
            fields.append((FieldName.password.text, value))
        }
    }

    mutating func addNote(_ value: ExportText?, in document: ExportDocument) {
        if let value, !document.isEmpty(value) { notes.append(value) }
    }

    mutating func addOneTimeKey(_ value: ExportText?, in document: ExportDocument) {
        if let value, !document.isEmpty(value) { oneTimeKeys.append(OneTimeKey(text: value)) }
    }
}

extension FieldName {
    /// The name that a field of an export gets: without colons, control characters and blanks at its ends, at most 64 bytes.
    ///
    /// A later field of the same name gets a number: `url 2`.
    static func imported(_ text: String, taken: inout [[UInt8]: Int]) -> String {
        var name = ""
        for scalar in text.unicodeScalars {
            let isKept = scalar != ":" && scalar != "\u{FFFD}" && !Printable.isHarmful(scalar)
            let next = isKept ? String(scalar) : " "
            guard name.utf8.count + next.utf8.count <= 56 else { break }
            if next != " " || !name.isEmpty && name.last != " " { name += next }
        }
        while name.last == " " { name.removeLast() }
        if (try? FieldName(argument: name)) == nil { name = "field" }
        let folded = name.utf8.map { FieldName.folded($0) }
        let count = taken[folded, default: 0] + 1
        taken[folded] = count
        return count == 1 ? name : "\(name) \(count)"
    }
}
