/// How strong the protection of a keybag is, weakest first; it goes down only with a logged event.
public enum Assurance: Int, Comparable, Sendable, CaseIterable {
    /// A part of it is a test part: simulator, private bus, reduced key derivation.
    case test = 0
    /// Keys are as safe as a file of this user and the passcode.
    case softwareUser = 1
    /// Keys are in a file of the daemon's own account.
    case softwareSystem = 2
    /// A TPM holds the device key, but its lockout can be reset by anyone.
    case tpmWeak = 3
    /// A TPM holds the device key and limits guesses.
    case tpm = 4

    /// Orders by strength.
    public static func < (lhs: Self, rhs: Self) -> Bool { lhs.rawValue < rhs.rawValue }

    /// The name printed by `status`: `test`, `softwareUser`, `softwareSystem`, `tpmWeak`, `tpm`.
    public var name: String { String(describing: self) }
}
