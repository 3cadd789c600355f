import KeychainModel

/// The items of a backup, in words and as JSON; their names are text of others.
extension ExportedItem {
    /// The columns of a list.
    static let headings = ["NAME", "REQUIRES", "PROGRAM", "KIND"]

    /// What a list says of the item; nothing in it is escaped yet.
    var columns: [String] { [name, accessControl.requirementName, group, String(describing: itemClass)] }

    /// One line about what a merge did; nil for an item that the keychain had already.
    var mergeLine: String? {
        let item = "\(Printable.text(group)): \(Printable.text(name))"
        return switch outcome {
        case .read, .same: nil
        case .added: "added     \(item)"
        case .kept: "kept      \(item), which differs; the backup's was not stored"
        case .replaced: "replaced  \(item), which differed"
        case .besides: "added     \(item), which differs, as \(Printable.text(newName ?? ""))"
        }
    }

    /// All that is told, for programs.
    var json: JSONText {
        .object([
            ("name", .text(name)), ("require", .text(accessControl.requirementName)),
            ("group", .text(group)), ("class", .text(String(describing: itemClass))),
            ("outcome", .text(String(describing: outcome))), ("newName", .optional(newName)),
        ])
    }
}
