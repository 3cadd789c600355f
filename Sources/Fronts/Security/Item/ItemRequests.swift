import Foundation
import KeychainClient
import KeychainModel
import SecretMemory

/// The requests that parsed dictionaries stand for.
extension ParsedQuery {
    /// The item to add.
    func addRequest() throws(KeychainError) -> AddItem {
        guard let itemClass else { throw .param("no class") }
        let (context, prompt) = try wishes.describe()
        let accessControl =
            attributes.accessControl
            ?? AccessControl(accessibility: attributes.accessibility ?? .whenUnlocked)
        let item = try itemClass == .key ? KeyItem(self, accessControl) : nil
        return AddItem(
            itemClass: itemClass,
            attributes: item?.attributes ?? attributes.values,
            accessControl: item?.accessControl ?? accessControl,
            data: item == nil ? try secret(data) : try item?.secret(),
            returns: wireReturns,
            context: context,
            prompt: prompt
        )
    }

    /// The items to look up.
    func copyRequest() throws(KeychainError) -> CopyItems {
        let (context, prompt) = try wishes.describe()
        let request = CopyItems(query: try itemQuery(limit: limit), context: context, prompt: prompt)
        return looseMatch.isEmpty ? request : try looseMatch.resolve(request)
    }

    /// The items to change.
    func updateRequest(_ changes: ParsedChanges) throws(KeychainError) -> UpdateItems {
        let (context, prompt) = try wishes.describe()
        return UpdateItems(
            query: try itemQuery(limit: .all),
            attributes: changes.attributes.values,
            accessControl: changes.accessControl,
            data: try secret(changes.data),
            context: context,
            prompt: prompt
        )
    }

    /// The items to delete.
    func deleteRequest() throws(KeychainError) -> DeleteItems {
        DeleteItems(query: try itemQuery(limit: .all), prompt: try wishes.describe().prompt)
    }

    /// An access control is accepted in a search and not matched on, as Apple does.
    private func itemQuery(limit: ItemQuery.Limit) throws(KeychainError) -> ItemQuery {
        // An empty list names no item; to the daemon it would mean that no list was given.
        if let references, references.isEmpty { throw KeychainError(.itemNotFound) }
        var wanted = attributes.values
        if let accessibility = attributes.accessibility {
            wanted[.accessible] = .string(accessibility.rawValue)
        }
        return ItemQuery(
            itemClass: itemClass,
            attributes: wanted,
            limit: limit,
            returns: wireReturns,
            references: references ?? [],
            authenticationUI: authenticationUI
        )
    }

    /// What is asked of the daemon: a key's reference is made here, of its data and attributes, and those tell
    /// which keys have no data for an app.
    private var wireReturns: ItemQuery.Returns {
        switch itemClass {
        case .genericPassword, .internetPassword: returns
        default:
            if returns.contains(.ref) {
                returns.subtracting(.ref).union([.attributes, .data, .persistentRef])
            } else if returns.contains(.data) {
                returns.union(.attributes)
            } else {
                returns
            }
        }
    }
}

/// Copies an app's data; the app's own copy stays its own.
func secret(_ data: Data?) throws(KeychainError) -> SecretBytes? {
    guard let data else { return nil }
    return try SecretBytes(lent: data)
}
