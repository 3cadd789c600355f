/// What can be set on a context beside what the user shows.
public enum LACredentialType: Int, Sendable {
    /// The password of items with `SecAccessControlCreateFlags.applicationPassword`.
    case applicationPassword = 0
    /// The PIN of a smart card: there is no smart card keychain here.
    case smartCardPIN = -3
}
