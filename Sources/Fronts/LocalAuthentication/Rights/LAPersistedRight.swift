import Foundation
import KeychainClient
import KeychainModel
import Security

/// A saved right, with a key that it guards and a secret.
///
/// Saving and loading: ``LARightStore``. Key and secret can be used while the right is authorized, and never
/// prompt: the daemon refuses them otherwise, whatever this process holds.
public final class LAPersistedRight: LARight, @unchecked Sendable {  // adds nothing that changes
    /// Its name in the store.
    let identifier: String
    /// The private key that it guards, for use in its authorization.
    let privateKey: SecKey
    /// The public half.
    let publicKey: SecKey
    let keychain: RemoteKeychain

    /// A right that lies in the keychain of now.
    ///
    /// - Throws: ``KeychainError`` with `errSecDecode` for a representation that stands for no key or for no
    ///   right, and with `errSecItemNotFound` when its enrolled set is gone.
    init(identifier: String, representation: [UInt8]) throws(KeychainError) {
        let authorization = RightAuthorization()
        var wishes = PromptWishes()
        wishes.context = authorization
        let token = try TokenKey(reading: representation, wishes)
        let flags = token.key.accessControl.flags.subtracting(.privateKeyUsage).rawValue
        guard
            let requirement = LAAuthenticationRequirement(
                SecAccessControlCreateFlags(rawValue: CFOptionFlags(flags))
            )
        else { throw KeychainError(.decode, cause: .damaged) }
        let privateKey = SecKey(.ecPrivate(token))
        guard let publicKey = SecKeyCopyPublicKey(privateKey) else {
            throw KeychainError(.decode, cause: .damaged)
        }
        self.identifier = identifier
        self.privateKey = privateKey
        self.publicKey = publicKey
        keychain = KeychainConnection.current
        super.init(requirement, authorization)
    }

    /// The key.
    public var key: LAPrivateKey { LAPrivateKey(of: self) }

    /// The secret.
    public var secret: LASecret { LASecret(of: self) }

    /// A right that was removed, or whose fingers have changed, cannot be authorized any more.
    ///
    /// While the keychain is locked that cannot be told.
    override func confirm() throws(KeychainError) {
        do throws(KeychainError) {
            let prompt = try authorization.describeForKeychain().prompt
            let representation = try RightItem(identifier).representation(in: keychain, prompt: prompt)
            _ = try keychain.readKey(ReadKey(representation: representation, prompt: prompt))
        } catch  where error.status == .interactionNotAllowed {
        }
    }
}
