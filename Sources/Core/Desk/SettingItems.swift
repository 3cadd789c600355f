import KeychainModel

/// The user's choices that the daemon keeps as items of its own command, without a secret: sealed, and not put back unnoticed.
///
/// The raw value is the service of the items; the account says what was chosen.
enum SettingItems: String, CaseIterable {
    /// The programs for which fingers are switched off; the account is the program's group.
    case fingersOff = "touchstone.fingers-off"
    /// The protection against theft; the account is a ``TheftGuard/Record``.
    case theftProtection = "touchstone.theft-protection"

    /// Whether an item of the command's group holds a choice.
    static func contain(_ item: OwnedItem) -> Bool { allCases.contains { $0.account(of: item) != nil } }

    /// The account of an item of the command's group; nil if it is none of these.
    func account(of item: OwnedItem) -> String? {
        guard item.primaryKey[.service] == .string(rawValue),
            case .string(let account)? = item.primaryKey[.account]
        else { return nil }
        return account
    }

    /// The query for the item of an account; nil for any of these items.
    func query(_ account: String?) -> ItemQuery {
        var attributes: ItemAttributes = [.service: .string(rawValue)]
        if let account { attributes[.account] = .string(account) }
        return ItemQuery(
            itemClass: .genericPassword,
            attributes: attributes,
            limit: .one,
            returns: .persistentRef
        )
    }

    /// A new item for an account.
    func item(_ account: String, _ accessibility: Accessibility) -> NewItem {
        NewItem(
            itemClass: .genericPassword,
            attributes: [.service: .string(rawValue), .account: .string(account)],
            accessControl: AccessControl(accessibility: accessibility),
            data: nil
        )
    }
}
