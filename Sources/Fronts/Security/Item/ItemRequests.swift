import Foundation
import KeychainClient
import KeychainModel
import SecretMemory

/// Converts parsed dictionaries to requests.
extension ParsedQuery {
    /// The request to add an item.
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

    /// The request to look up items.
    func copyRequest() throws(KeychainError) -> CopyItems {
        let (context, prompt) = try wishes.describe()
        let request = CopyItems(query: try itemQuery(limit: limit), context: context, prompt: prompt)
        return looseMatch.isEmpty ? request : try looseMatch.resolve(request)
    }

    /// The request to change items.
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

    /// The request to delete items.
    func deleteRequest() throws(KeychainError) -> DeleteItems {
        DeleteItems(query: try itemQuery(limit: .all), prompt: try wishes.describe().prompt)
    }

    /// The query for the daemon; an access control in a search is accepted but not compared, as on Apple's
    /// systems.
    private func itemQuery(limit: ItemQuery.Limit) throws(KeychainError) -> ItemQuery {
        // An empty list matches no item, but in a request it would mean that there is no list.
        if let references, references.isEmpty { throw KeychainError(.itemNotFound) }
        if let itemClass, !itemClass.isStored { throw KeychainError(.itemNotFound) }
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

    /// The parts to request from the daemon: a key's reference is made here from its data and attributes, and
    /// the attributes tell which keys have no data for apps.
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

/// Copies an app's data into locked memory; the app keeps its own copy.
func secret(_ data: Data?) throws(KeychainError) -> SecretBytes? {
    guard let data else { return nil }
    return try SecretBytes(lent: data)
}
