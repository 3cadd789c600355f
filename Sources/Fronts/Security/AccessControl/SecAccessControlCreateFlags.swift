public import CoreFoundation

/// What a user must show before an item is released.
///
/// Several constraints are all needed unless ``or`` is given.
/// ``SecAccessControlCreateWithFlags(_:_:_:_:)`` refuses contradictions.
public struct SecAccessControlCreateFlags: OptionSet, Sendable {
    /// The bits.
    public let rawValue: CFOptionFlags

    /// Takes the bits as they are.
    public init(rawValue: CFOptionFlags) { self.rawValue = rawValue }

    /// A finger or the passcode; beside it only ``applicationPassword`` and ``privateKeyUsage``.
    public static let userPresence = SecAccessControlCreateFlags(rawValue: 1 << 0)
    /// Any enrolled finger, also one enrolled later.
    public static let biometryAny = SecAccessControlCreateFlags(rawValue: 1 << 1)
    /// ``biometryAny`` by its old name.
    public static let touchIDAny = biometryAny
    /// A finger of the present set; the item is lost when the set changes.
    public static let biometryCurrentSet = SecAccessControlCreateFlags(rawValue: 1 << 3)
    /// ``biometryCurrentSet`` by its old name.
    public static let touchIDCurrentSet = biometryCurrentSet
    /// The passcode.
    public static let devicePasscode = SecAccessControlCreateFlags(rawValue: 1 << 4)
    /// A paired companion device; there is none here.
    public static let companion = SecAccessControlCreateFlags(rawValue: 1 << 5)
    /// ``companion`` by its old name.
    public static let watch = companion
    /// One constraint is enough.
    public static let or = SecAccessControlCreateFlags(rawValue: 1 << 14)
    /// All constraints are needed; the default.
    public static let and = SecAccessControlCreateFlags(rawValue: 1 << 15)
    /// The constraints guard the use of a private key.
    public static let privateKeyUsage = SecAccessControlCreateFlags(rawValue: 1 << 30)
    /// The data is encrypted by an application password too (`LAContext.setCredential`).
    public static let applicationPassword = SecAccessControlCreateFlags(rawValue: 1 << 31)
}
