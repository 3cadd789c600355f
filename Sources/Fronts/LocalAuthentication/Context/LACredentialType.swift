/// Credentials that an app can set on a context.
public enum LACredentialType: Int, Sendable {
    /// A password for items with `SecAccessControlCreateFlags.applicationPassword`.
    case applicationPassword = 0
    /// A smart card's PIN; not supported here, because there is no smart card keychain.
    case smartCardPIN = -3
}
