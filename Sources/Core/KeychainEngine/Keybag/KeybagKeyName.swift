internal import KeychainModel
internal import Primitives

/// The keys of a keybag, each wrapped by the keybag key under its own name.
enum KeybagKeyName: UInt8, CaseIterable {
    case whenUnlocked = 1
    case afterFirstUnlock = 2
    case whenUnlockedThisDeviceOnly = 3
    case afterFirstUnlockThisDeviceOnly = 4
    case whenPasscodeSetThisDeviceOnly = 5
    /// Seals attributes.
    case metadata = 16
    /// Digests attributes for look-ups.
    case lookup = 17
    /// Digests the set of items.
    case itemSet = 18
    /// Opens items for any enrolled finger.
    case biometryAny = 32
    /// Opens items for the fingers of one enrolled set.
    case biometryCurrentSet = 33

    /// The keys for items that depend only on the keybag's state.
    static let classKeys = allCases.filter { ClassKeyName(rawValue: $0.rawValue) != nil }

    init(_ name: ClassKeyName) {
        switch name {
        case .whenUnlocked: self = .whenUnlocked
        case .afterFirstUnlock: self = .afterFirstUnlock
        case .whenUnlockedThisDeviceOnly: self = .whenUnlockedThisDeviceOnly
        case .afterFirstUnlockThisDeviceOnly: self = .afterFirstUnlockThisDeviceOnly
        case .whenPasscodeSetThisDeviceOnly: self = .whenPasscodeSetThisDeviceOnly
        }
    }

    /// Whether the key stays in memory after a lock.
    var survivesLock: Bool {
        switch self {
        case .biometryAny, .biometryCurrentSet: false
        case .metadata, .lookup, .itemSet: true
        default: ClassKeyName(rawValue: rawValue)?.survivesLock ?? false
        }
    }
}

/// The keys of a keybag that is open, or was opened since the start.
///
/// The keys that survive a lock are always present.
struct KeyRing {
    /// Seals attributes.
    let metadata: Key
    /// Digests attributes for look-ups.
    let lookup: Key
    /// Digests the set of items.
    let itemSet: Key
    /// Seals the record (``StoredKeybag``).
    let seal: Key
    private var others: [KeybagKeyName: Key]
    /// Whether the current set's key is withheld, because the set cannot be compared with the known one now.
    var withholdsCurrentSet = false

    /// Unwraps all keys; only the current set's key may be missing: a change of the enrolled set while the keybag was
    /// locked destroys it.
    ///
    /// - Parameters:
    ///   - seal: the key that seals the record.
    ///   - open: unwraps the key of a name; nil if the keybag has none.
    /// - Throws: ``KeychainError`` with `errSecDecode` if another key is missing.
    init(
        seal: Key,
        opening open: (KeybagKeyName) throws(KeychainError) -> Key?
    ) throws(KeychainError) {
        var keys: [KeybagKeyName: Key] = [:]
        for name in KeybagKeyName.allCases { keys[name] = try open(name) }
        let isWhole = KeybagKeyName.allCases.allSatisfy { $0 == .biometryCurrentSet || keys[$0] != nil }
        guard isWhole, let metadata = keys.removeValue(forKey: .metadata),
            let lookup = keys.removeValue(forKey: .lookup),
            let itemSet = keys.removeValue(forKey: .itemSet)
        else { throw .damaged }
        self.metadata = metadata
        self.lookup = lookup
        self.itemSet = itemSet
        self.seal = seal
        others = keys
    }

    /// A key; nil while it is locked.
    subscript(_ name: KeybagKeyName) -> Key? {
        switch name {
        case .metadata: metadata
        case .lookup: lookup
        case .itemSet: itemSet
        default: others[name]
        }
    }

    /// The key for items bound to the enrolled set; nil while locked, and if there is none.
    var currentSet: Key? {
        get { others[.biometryCurrentSet] }
        set { others[.biometryCurrentSet] = newValue }
    }

    /// The keys that may stay in memory after a lock.
    func survivingLock() -> KeyRing {
        var ring = self
        ring.others = others.filter { $0.key.survivesLock }
        return ring
    }

    /// The key, or the error of a locked keybag.
    func require(_ name: KeybagKeyName) throws(KeychainError) -> Key {
        if name == .biometryCurrentSet, withholdsCurrentSet { throw .currentSetUntold }
        guard let key = self[name] else { throw .locked }
        return key
    }

    /// The key that binds something new to the enrolled fingers; throws while no finger is enrolled, or the enrolment was
    /// not read yet.
    func requireCurrentSet() throws(KeychainError) -> Key {
        if others[.whenUnlocked] != nil, currentSet == nil, !withholdsCurrentSet { throw .noCurrentSet }
        return try require(.biometryCurrentSet)
    }
}

extension KeychainError {
    /// Nothing can be bound to enrolled fingers if there are none.
    static var noCurrentSet: KeychainError {
        KeychainError(AuthenticationError(.biometryNotEnrolled, cause: .noCurrentSet, remedy: .enrolFinger))
    }

    /// The enrolled set cannot be compared now, so nothing is bound to it or opened for it.
    static var currentSetUntold: KeychainError {
        KeychainError(AuthenticationError(.biometryNotAvailable, cause: .brokerAway, remedy: .check))
    }

    static var locked: KeychainError {
        KeychainError(.interactionNotAllowed, cause: .locked, remedy: .unlock)
    }
}
