import Foundation
import KeychainClient
import KeychainModel
import SecretMemory

/// The requests that parsed dictionaries stand for.
extension ParsedQuery {
    /// The item to add.
    func addRequest() throws(KeychainError) -> AddItem {
        guard let itemClass else { throw .param("no class") }
        let context = try context?.describeForKeychain()
        return AddItem(
            itemClass: itemClass,
            attributes: attributes.values,
            accessControl: attributes.accessControl
                ?? AccessControl(accessibility: attributes.accessibility ?? .whenUnlocked),
            data: secret(data),
            returns: returns,
            context: context?.number,
            prompt: prompt(context)
        )
    }

    /// The items to look up.
    func copyRequest() throws(KeychainError) -> CopyItems {
        let context = try context?.describeForKeychain()
        return CopyItems(
            query: try itemQuery(limit: limit),
            context: context?.number,
            prompt: prompt(context)
        )
    }

    /// The items to change.
    func updateRequest(_ changes: ParsedChanges) throws(KeychainError) -> UpdateItems {
        let context = try context?.describeForKeychain()
        return UpdateItems(
            query: try itemQuery(limit: .all),
            attributes: changes.attributes.values,
            accessControl: changes.accessControl,
            data: secret(changes.data),
            context: context?.number,
            prompt: prompt(context)
        )
    }

    /// The items to delete.
    func deleteRequest() throws(KeychainError) -> DeleteItems {
        DeleteItems(query: try itemQuery(limit: .all), prompt: prompt(try context?.describeForKeychain()))
    }

    /// An access control is accepted in a search and not matched on (`keychain.md`, rule 4).
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
            returns: returns,
            references: references ?? [],
            authenticationUI: authenticationUI
        )
    }

    private func prompt(_ context: AuthenticationContextDescription?) -> PromptFields {
        var prompt = context?.prompt ?? PromptFields(origin: KeychainConnection.originOfNow)
        if let operationPrompt { prompt.reason = operationPrompt }
        if authenticationUI == .fail { prompt.interactionAllowed = false }
        return prompt
    }
}

/// Copies an app's data; the app's own copy stays its own.
private func secret(_ data: Data?) -> SecretBytes? {
    guard let data else { return nil }
    return SecretBytes(count: data.count) { octets in
        // Foundation cannot copy nothing to nowhere.
        guard !data.isEmpty else { return }
        octets.withUnsafeMutableBytes { _ = data.copyBytes(to: $0) }
    }
}
