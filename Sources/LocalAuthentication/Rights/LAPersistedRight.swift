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
    /// The key that it guards.
    let enclaveKey: EnclaveKey
    let keychain: RemoteKeychain

    init(
        identifier: String,
        requirement: LAAuthenticationRequirement,
        key: EnclaveKey,
        keychain: RemoteKeychain
    ) {
        self.identifier = identifier
        enclaveKey = key
        self.keychain = keychain
        super.init(requirement: requirement)
    }

    /// The secret.
    public var secret: LASecret { LASecret(of: self) }

    /// A right whose key is gone cannot be authorized any more.
    override func obstacle(in context: LAContext) -> (any Error)? {
        do throws(KeychainError) {
            _ = try keychain.readKey(
                ReadKey(representation: enclaveKey.representation, prompt: context.prompt(reason: ""))
            )
        } catch {
            return error.errorForApps
        }
        return super.obstacle(in: context)
    }
}

/// A right's context for the use of what it guards: nobody is asked, what was shown counts or not.
final class RightContext: AuthenticationContextProviding {
    private let right: LARight

    init(of right: LARight) { self.right = right }

    func describeForKeychain() throws(KeychainError) -> AuthenticationContextDescription {
        var description = try right.context.describeForKeychain()
        description.prompt.interactionAllowed = false
        return description
    }
}
