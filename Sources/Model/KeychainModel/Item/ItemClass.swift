/// The class of a keychain item, by the string values of Apple's `kSecClass` constants.
public enum ItemClass: String, Sendable, CaseIterable {
    /// `kSecClassGenericPassword`.
    case genericPassword = "genp"
    /// `kSecClassInternetPassword`.
    case internetPassword = "inet"
    /// `kSecClassKey`.
    case key = "keys"
    /// `kSecClassCertificate`.
    case certificate = "cert"
    /// `kSecClassIdentity`.
    case identity = "idnt"
}
