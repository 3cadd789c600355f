import Foundation
import KeychainClient
package import KeychainModel
package import SecretMemory

/// A private key that the keychain makes, stores and uses.
package struct TokenKey: ECPrivateKey {
    /// The key as the daemon returned it.
    package let key: EnclaveKey
    package let publicKey: ECPublicKey
    private let wishes: PromptWishes
    private let keychain: RemoteKeychain

    /// Makes a key with a query's access control; the query's prompt settings apply to all uses.
    init(making query: ParsedQuery) throws(KeychainError) {
        var accessControl =
            query.attributes.accessControl
            ?? AccessControl(accessibility: query.attributes.accessibility ?? .whenUnlocked)
        // An empty access control has no constraint for `privateKeyUsage` to apply to, so apps omit the flag.
        if accessControl.flags.isEmpty {
            accessControl = try AccessControl(
                accessibility: accessControl.accessibility,
                flags: .privateKeyUsage
            )
        }
        let (context, prompt) = try query.wishes.describe()
        let keychain = KeychainConnection.current
        let request = MakeKey(
            accessControl: accessControl,
            group: query.attributes.accessGroup,
            context: context,
            prompt: prompt
        )
        try self.init(try keychain.makeKey(request), query.wishes, keychain)
    }

    /// Restores a key from its representation.
    ///
    /// - Throws: `errSecDecode` for an invalid representation, `errSecItemNotFound` if the key was
    ///   invalidated by a change of the enrolled fingers.
    package init(reading representation: [UInt8], _ wishes: PromptWishes) throws(KeychainError) {
        let keychain = KeychainConnection.current
        let request = ReadKey(representation: representation, prompt: try wishes.describe().prompt)
        try self.init(try keychain.readKey(request), wishes, keychain)
    }

    private init(
        _ key: EnclaveKey,
        _ wishes: PromptWishes,
        _ keychain: RemoteKeychain
    ) throws(KeychainError) {
        self.key = key
        self.wishes = wishes
        self.keychain = keychain
        publicKey = try ECPublicKey(x963: key.publicKey)
    }

    package func canSign(digestByteCount: Int) -> Bool {
        KeyUse.sign(digest: [UInt8](repeating: 0, count: digestByteCount)).isWellFormed
    }

    package func signature(for digest: [UInt8]) throws(KeychainError) -> [UInt8] {
        try use(.sign(digest: digest)).withUnsafeBytes { [UInt8]($0) }
    }

    package func sharedSecret(
        with publicKey: ECPublicKey,
        forDecryption isDecryption: Bool
    ) throws(KeychainError) -> SecretBytes {
        guard publicKey.curve == .p256 else { throw .key(.param, "the public key is of another curve") }
        return try use(isDecryption ? .decrypt(publicKey: publicKey.x963) : .agree(publicKey: publicKey.x963))
    }

    private func use(_ use: KeyUse) throws(KeychainError) -> SecretBytes {
        let (context, prompt) = try wishes.describe()
        let request = UseKey(
            representation: key.representation,
            use: use,
            context: context,
            prompt: prompt
        )
        return try keychain.useKey(request)
    }
}
