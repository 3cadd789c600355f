import KeychainClient
import KeychainModel

/// A value that a secret had before it was replaced or deleted.
///
/// It is an item of its own, sealed as the secret was: reading it requires what reading the secret required. The daemon deletes
/// it when its end has come.
struct KeptValue {
    /// `kSecAttrService` of all of them.
    static let service = "touchstone.former"

    /// What ended it.
    enum Change: String {
        case replaced, deleted
    }

    /// The name of the secret when it was changed.
    let name: String
    let change: Change
    /// When it was replaced or deleted, in microseconds since 1970.
    let time: Int64
    /// Until when it is kept, in microseconds since 1970.
    let end: Int64
    /// The secret that had it: a renamed one keeps its values.
    let owner: [UInt8]
    /// The value itself as an item.
    let item: StoredSecret

    /// Nil for an item with other attributes.
    init?(_ item: StoredSecret) {
        guard case .string(let name) = item.attributes[.label],
            case .string(let word) = item.attributes[.comment], let change = Change(rawValue: word),
            case .date(let end) = item.attributes[.ends], case .data(let owner) = item.attributes[.generic],
            let time = item.name.split(separator: " ").first.flatMap({ Int64($0) })
        else { return nil }
        self.name = name
        self.change = change
        self.time = time
        self.end = end
        self.owner = owner
        self.item = item
    }

    /// The attributes that a secret gets when it is kept.
    static func attributes(
        of name: ItemName,
        _ owner: PersistentReference,
        _ change: Change,
        at time: Int64,
        _ setting: HistorySetting
    ) -> ItemAttributes {
        [
            .service: .string(service),
            // With the time, two values of a name are two items.
            .account: .string("\(time) \(name.text)"),
            .label: .string(name.text),
            .comment: .string(change.rawValue),
            .generic: .data(owner.octets),
            .ends: .date(setting.end(from: time)),
        ]
    }
}
