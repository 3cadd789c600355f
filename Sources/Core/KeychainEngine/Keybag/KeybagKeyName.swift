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

    /// The keys that open items for a state of the keybag alone.
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

    /// Whether a lock leaves the key in memory.
    var survivesLock: Bool {
        switch self {
        case .biometryAny, .biometryCurrentSet: false
        case .metadata, .lookup, .itemSet: true
        default: ClassKeyName(rawValue: rawValue)?.survivesLock ?? false
        }
    }
}

/// The keys of a keybag that is open, or was since the start.
///
/// Those that survive a lock are always there.
struct KeyRing {
    /// Seals attributes.
    let metadata: Key
    /// Digests attributes for look-ups.
    let lookup: Key
    /// Digests the set of items.
    let itemSet: Key
    private var others: [KeybagKeyName: Key]
    /// Whether the current set's key is held back, because nobody can tell now whether the set is still the same.
    var withholdsCurrentSet = false

    /// Opens all keys; the one of the current set may be missing: destroyed by a change of the enrolled set that came
    /// while the keybag was locked.
    ///
    /// - Parameter open: opens the wrapped key of a name; nil where the keybag has none.
    /// - Throws: ``KeychainError`` with `errSecDecode` when another key is missing.
    init(opening open: (KeybagKeyName) throws(KeychainError) -> Key?) throws(KeychainError) {
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

    /// Opens items for the fingers of the enrolled set; nil while it is locked, and while there is none.
    var currentSet: Key? {
        get { others[.biometryCurrentSet] }
        set { others[.biometryCurrentSet] = newValue }
    }

    /// The keys that may outlive a lock.
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

    /// The key that something new is bound to the enrolled fingers with: there is none while no finger is enrolled,
    /// or none was seen.
    func requireCurrentSet() throws(KeychainError) -> Key {
        if others[.whenUnlocked] != nil, currentSet == nil, !withholdsCurrentSet { throw .noCurrentSet }
        return try require(.biometryCurrentSet)
    }
}

extension KeychainError {
    /// Nothing can be bound to fingers that nobody enrolled.
    static var noCurrentSet: KeychainError {
        KeychainError(AuthenticationError(.biometryNotEnrolled, cause: .noCurrentSet, remedy: .enrolFinger))
    }

    /// Nothing is bound to fingers, or opened for them, that nobody can tell from others now.
    static var currentSetUntold: KeychainError {
        KeychainError(AuthenticationError(.biometryNotAvailable, cause: .brokerAway, remedy: .check))
    }

    static var locked: KeychainError {
        KeychainError(.interactionNotAllowed, cause: .locked, remedy: .unlock)
    }
}
