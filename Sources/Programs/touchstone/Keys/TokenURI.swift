import KeychainModel

/// The name by which programs that use PKCS #11 find a key (RFC 7512).
enum TokenURI {
    /// The label of the token, as `libtouchstone-pkcs11.so` gives it.
    private static let token = "Touchstone"

    /// The URI of a private key; nil for a key that is for certain hosts, which the token does not have.
    static func text(of key: NamedKey) -> String? {
        guard key.hosts.isEmpty else { return nil }
        return "pkcs11:token=\(token);object=\(escaped(key.name));type=private"
    }

    /// A name with all but letters, digits and `-._~` of ASCII as percent and two digits each.
    private static func escaped(_ name: String) -> String {
        name.utf8.map { octet in
            let scalar = Unicode.Scalar(octet)
            let isPlain = scalar.isASCII && (scalar.properties.isAlphabetic || (0x30...0x39).contains(octet))
            if isPlain || "-._~".utf8.contains(octet) { return String(Character(scalar)) }
            let digits = String(octet, radix: 16, uppercase: true)
            return "%" + (digits.count == 1 ? "0" : "") + digits
        }.joined()
    }
}
