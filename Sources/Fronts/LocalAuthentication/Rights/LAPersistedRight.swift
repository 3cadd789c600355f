import Foundation
import KeychainClient
import KeychainModel
import Security

/// A saved right, with a key and a secret that it protects.
///
/// ``LARightStore`` saves and loads rights. The key and the secret can be used only while the right is
/// authorized, and using them never prompts: the daemon itself refuses other uses.
public final class LAPersistedRight: LARight, @unchecked Sendable {  // adds nothing that changes
    /// The right's identifier in the store.
    let identifier: String
    /// The private key, for use in the right's authorization.
    let privateKey: SecKey
    /// The public key.
    let publicKey: SecKey
    let keychain: RemoteKeychain

    /// Makes a right from its representation, in the current keychain.
    ///
    /// - Throws: ``KeychainError`` with `errSecDecode` for a representation that is not of a right's key, and
    ///   with `errSecItemNotFound` if the right was invalidated by a change of the enrolled fingers.
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

    /// The right's private key.
    public var key: LAPrivateKey { LAPrivateKey(of: self) }

    /// The right's secret.
    public var secret: LASecret { LASecret(of: self) }

    /// Throws if the right was removed or invalidated by a change of the enrolled fingers.
    ///
    /// While the keychain is locked this cannot be checked.
    override func confirm() throws(KeychainError) {
        do throws(KeychainError) {
            let prompt = try authorization.describeForKeychain().prompt
            let representation = try RightItem(identifier).representation(in: keychain, prompt: prompt)
            _ = try keychain.readKey(ReadKey(representation: representation, prompt: prompt))
        } catch  where error.status == .interactionNotAllowed {
        }
    }
}
