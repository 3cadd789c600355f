internal import KeychainModel

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

/// The keys that are in memory now.
struct KeyRing {
    /// Wraps the others; gone with a lock.
    var keybagKey: Key?
    private var keys: [KeybagKeyName: Key] = [:]

    /// A key; nil while it is locked.
    subscript(_ name: KeybagKeyName) -> Key? {
        get { keys[name] }
        set { keys[name] = newValue }
    }

    /// Whether no key is in memory.
    var isEmpty: Bool { keys.isEmpty }

    /// Lets go of the keys that must not outlive a lock; the last to let go wipes them.
    mutating func lock() {
        keybagKey = nil
        keys = keys.filter { $0.key.survivesLock }
    }

    /// The key, or the error of a locked keybag.
    func require(_ name: KeybagKeyName) throws(KeychainError) -> Key {
        guard let key = keys[name] else { throw .locked }
        return key
    }

    /// The key that something new is bound to the enrolled fingers with: there is none while no finger is enrolled,
    /// or none was seen.
    func requireCurrentSet() throws(KeychainError) -> Key {
        if keybagKey != nil, keys[.biometryCurrentSet] == nil { throw .noCurrentSet }
        return try require(.biometryCurrentSet)
    }
}

extension KeychainError {
    /// Nothing can be bound to fingers that nobody enrolled.
    static var noCurrentSet: KeychainError {
        KeychainError(AuthenticationError(.biometryNotEnrolled, cause: .noCurrentSet, remedy: .enrolFinger))
    }

    static var locked: KeychainError {
        KeychainError(.interactionNotAllowed, cause: .locked, remedy: .unlock)
    }
}
