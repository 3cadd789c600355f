public import CoreFoundation

/// The authentication that an item's access control requires.
///
/// Several constraints must all be met unless ``or`` is given. ``SecAccessControlCreateWithFlags(_:_:_:_:)``
/// rejects contradictory flags.
public struct SecAccessControlCreateFlags: OptionSet, Sendable {
    /// The bits.
    public let rawValue: CFOptionFlags

    /// Accepts any bits.
    public init(rawValue: CFOptionFlags) { self.rawValue = rawValue }

    /// A finger or the passcode; can be combined only with ``applicationPassword`` and ``privateKeyUsage``.
    public static let userPresence = SecAccessControlCreateFlags(rawValue: 1 << 0)
    /// Any enrolled finger, including one enrolled later.
    public static let biometryAny = SecAccessControlCreateFlags(rawValue: 1 << 1)
    /// The old name of ``biometryAny``.
    public static let touchIDAny = biometryAny
    /// A finger of the currently enrolled set; the item is invalidated when the set changes.
    public static let biometryCurrentSet = SecAccessControlCreateFlags(rawValue: 1 << 3)
    /// The old name of ``biometryCurrentSet``.
    public static let touchIDCurrentSet = biometryCurrentSet
    /// The passcode.
    public static let devicePasscode = SecAccessControlCreateFlags(rawValue: 1 << 4)
    /// A paired companion device; never available here.
    public static let companion = SecAccessControlCreateFlags(rawValue: 1 << 5)
    /// The old name of ``companion``.
    public static let watch = companion
    /// One constraint is sufficient.
    public static let or = SecAccessControlCreateFlags(rawValue: 1 << 14)
    /// All constraints must be met; the default.
    public static let and = SecAccessControlCreateFlags(rawValue: 1 << 15)
    /// The constraints apply to the use of a private key.
    public static let privateKeyUsage = SecAccessControlCreateFlags(rawValue: 1 << 30)
    /// The data is also encrypted with an application password: that of the context (`LAContext.setCredential`), or else one that the
    /// user is asked for.
    public static let applicationPassword = SecAccessControlCreateFlags(rawValue: 1 << 31)
}
