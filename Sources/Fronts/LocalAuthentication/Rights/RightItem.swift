import Foundation
import KeychainClient
import KeychainModel
import SecretMemory
import Security

/// Stores a right in the keychain, as one password item, so that it is saved atomically.
///
/// The item's data is the right's secret, under the right's access control; the key's representation, which is
/// sealed by itself, is an attribute.
struct RightItem {
    /// `kSecAttrService` of all rights.
    private static let service = AttributeValue.string("LARightStore")

    private let attributes: ItemAttributes

    /// The item of the right with this name.
    init(_ identifier: String) {
        attributes = [.service: Self.service, .account: .string(identifier)]
    }

    private init() { attributes = [.service: Self.service] }

    /// The items of all rights of this program.
    static let all = RightItem()

    /// Stores a right.
    ///
    /// - Throws: ``KeychainError`` with `errSecDuplicateItem` if a right of this name exists.
    func add(
        _ key: EnclaveKey,
        secret: Data,
        accessControl: AccessControl,
        to keychain: RemoteKeychain,
        prompt: PromptFields
    ) throws(KeychainError) {
        let room = try LockedRoom.shared.reserve(secret.count)
        defer { withExtendedLifetime(room) {} }
        let item = AddItem(
            itemClass: .genericPassword,
            attributes: attributes.merging([
                .generic: .data(key.representation), .isInvisible: .boolean(true),
                .namedKeys: .keys([key.representation]),
            ]) { $1 },
            accessControl: accessControl,
            data: try SecretBytes(lent: secret),
            returns: [],
            context: nil,
            prompt: prompt
        )
        _ = try keychain.add(item)
    }

    /// The representation of a right's key; prompts only for the passcode of a locked keychain.
    ///
    /// - Throws: ``KeychainError`` with `errSecItemNotFound` if there is no such right.
    func representation(
        in keychain: RemoteKeychain,
        prompt: PromptFields
    ) throws(KeychainError) -> [UInt8] {
        let request = CopyItems(query: query(returns: .attributes), context: nil, prompt: prompt)
        var attributes: ItemAttributes?
        try keychain.copy(request).forEach { attributes = $0.attributes }
        guard case .data(let representation)? = attributes?[.generic] else {
            throw KeychainError(.decode, cause: .damaged)
        }
        return representation
    }

    /// The secret of a right, with the authentication in the right's context.
    func secret(of right: LAPersistedRight) throws(KeychainError) -> Data {
        let context = try right.authorization.describeForKeychain()
        let request = CopyItems(
            query: query(returns: .data),
            context: context.number,
            prompt: context.prompt
        )
        var copy: Data?
        try right.keychain.copy(request).forEach { item in
            copy = item.withData { secret in secret.withUnsafeBytes { Data($0) } }
        }
        guard let copy else { throw KeychainError(.itemNotFound) }
        return copy
    }

    /// Deletes the right, or all rights.
    ///
    /// - Throws: ``KeychainError`` with `errSecItemNotFound` if there is none.
    func delete(from keychain: RemoteKeychain, prompt: PromptFields) throws(KeychainError) {
        let query = query(returns: [], limit: .all)
        let deleted = try keychain.delete(DeleteItems(query: query, prompt: prompt))
        guard deleted.count > 0 else { throw KeychainError(.itemNotFound) }
    }

    private func query(returns: ItemQuery.Returns, limit: ItemQuery.Limit = .one) -> ItemQuery {
        ItemQuery(itemClass: .genericPassword, attributes: attributes, limit: limit, returns: returns)
    }
}
