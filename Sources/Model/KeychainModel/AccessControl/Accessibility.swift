/// When an item's data can be read, by the string values of Apple's `kSecAttrAccessible` constants.
public enum Accessibility: String, Sendable, CaseIterable {
    /// `kSecAttrAccessibleWhenUnlocked`, the default.
    case whenUnlocked = "ak"
    /// `kSecAttrAccessibleAfterFirstUnlock`.
    case afterFirstUnlock = "ck"
    /// `kSecAttrAccessibleAlways`: accepted, treated as after first unlock.
    case always = "dk"
    /// `kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly`.
    case whenPasscodeSetThisDeviceOnly = "akpu"
    /// `kSecAttrAccessibleWhenUnlockedThisDeviceOnly`.
    case whenUnlockedThisDeviceOnly = "aku"
    /// `kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly`.
    case afterFirstUnlockThisDeviceOnly = "cku"
    /// `kSecAttrAccessibleAlwaysThisDeviceOnly`: accepted, treated as after first unlock.
    case alwaysThisDeviceOnly = "dku"

    /// The class key that wraps the item's key.
    public var classKey: ClassKeyName {
        switch self {
        case .whenUnlocked: .whenUnlocked
        case .afterFirstUnlock, .always: .afterFirstUnlock
        case .whenPasscodeSetThisDeviceOnly: .whenPasscodeSetThisDeviceOnly
        case .whenUnlockedThisDeviceOnly: .whenUnlockedThisDeviceOnly
        case .afterFirstUnlockThisDeviceOnly, .alwaysThisDeviceOnly: .afterFirstUnlockThisDeviceOnly
        }
    }
}

/// The class keys of a keybag.
public enum ClassKeyName: UInt8, Sendable, CaseIterable {
    /// In memory while the keybag is unlocked.
    case whenUnlocked = 1
    /// In memory from the first unlock until the daemon ends.
    case afterFirstUnlock = 2
    /// As ``whenUnlocked``; excluded from exports.
    case whenUnlockedThisDeviceOnly = 3
    /// As ``afterFirstUnlock``; excluded from exports.
    case afterFirstUnlockThisDeviceOnly = 4
    /// As ``whenUnlocked``; destroyed when the passcode is removed; excluded from exports.
    case whenPasscodeSetThisDeviceOnly = 5

    /// Whether the key stays in memory when the keybag is locked.
    public var survivesLock: Bool {
        self == .afterFirstUnlock || self == .afterFirstUnlockThisDeviceOnly
    }
}
