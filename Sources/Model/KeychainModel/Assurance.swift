/// How strong the protection of a keybag is, weakest first; a decrease is always logged.
public enum Assurance: Int, Comparable, Sendable, CaseIterable {
    /// A component is for tests: a simulator, a private bus, or a reduced key derivation.
    case test = 0
    /// Keys are protected by a file of this user and the passcode.
    case softwareUser = 1
    /// Keys are in a file of the daemon's own account.
    case softwareSystem = 2
    /// A TPM holds the device key, but any program may reset its lockout.
    case tpmWeak = 3
    /// A TPM holds the device key and limits guesses.
    case tpm = 4

    /// Orders by strength.
    public static func < (lhs: Self, rhs: Self) -> Bool { lhs.rawValue < rhs.rawValue }

    /// The name printed by `status`: `test`, `softwareUser`, `softwareSystem`, `tpmWeak`, `tpm`.
    public var name: String {
        switch self {
        case .test: "test"
        case .softwareUser: "softwareUser"
        case .softwareSystem: "softwareSystem"
        case .tpmWeak: "tpmWeak"
        case .tpm: "tpm"
        }
    }
}
