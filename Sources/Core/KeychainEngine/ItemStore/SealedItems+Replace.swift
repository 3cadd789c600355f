public import KeychainModel
internal import Primitives
public import SecretMemory

/// Calls that change items without opening them.
extension SealedItems {
    /// Stores an item in place of all that match, or as a new one.
    public func replace(
        _ query: ItemQuery,
        groups: [AccessGroup],
        with new: consuming ReplacingItem,
        group: AccessGroup,
        authorization: ItemAuthorization
    ) throws(KeychainError) -> VaultOutcome<Replacement> {
        try new.item.attributes.checkLimits()
        guard new.item.data.octetCount <= ItemLimits.longestData else { throw KeychainError(.dataTooLarge) }
        let context = try keys.context()
        var password: Key?
        if new.item.accessControl.needsApplicationPassword {
            guard authorization.applicationPassword != nil else { throw .newPasswordMissing }
            guard let key = authorization.passwordKey else { return .needsKey }
            password = key.key
        }
        knownGroups.note(group.name)
        let swap = ItemSwap(
            search: try ItemSearch(query, groups: groups, in: context),
            new: Box(new),
            group: group,
            password: password,
            time: wallClock()
        )
        let (outcome, isBehind) = try commit(.replace(swap))
        guard case .replaced(let replacement) = outcome else { throw KeychainError(.internalComponent) }
        return isBehind ? .needsHardware(replacement) : .done(replacement)
    }

    /// Deletes the matching items whose mark or secret is `secret`, with one commit for up to 512 that match.
    ///
    /// More are compared in parts, so that others get their turn; what is deleted stays so if a later part fails.
    public func erase(
        _ query: ItemQuery,
        groups: [AccessGroup],
        secret: consuming SecretBytes
    ) throws(KeychainError) -> VaultOutcome<Erasure> {
        let search = try ItemSearch(query, groups: groups, in: try keys.context())
        let erasure = ItemErasure(search: search, secret: Box(secret))
        let isBehind = try commitInParts(.erase(erasure)) { outcome in
            guard case .erased(let part) = outcome else { return nil }
            erasure.done = part
            return part.progress
        }
        return isBehind ? .needsHardware(erasure.done.outcome) : .done(erasure.done.outcome)
    }
}
