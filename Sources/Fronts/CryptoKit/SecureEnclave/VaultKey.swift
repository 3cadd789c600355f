import Crypto
import Foundation
import KeychainClient
import KeychainModel
import LocalAuthentication
import SecretMemory
import Security

/// A public key of P-256, whatever it is used for.
protocol P256PublicKey: Sendable {
    /// Takes an uncompressed point (X9.63).
    init<Octets: ContiguousBytes>(x963Representation octets: Octets) throws
}

extension P256.Signing.PublicKey: P256PublicKey {}
extension P256.KeyAgreement.PublicKey: P256PublicKey {}

/// A key of the daemon's vault, with the context that it is used in: what the private keys for signing and for agreement
/// share.
///
/// They are types of their own, as Apple's are, and not one generic type: apps conform both to the same protocol.
struct VaultKey<PublicKey: P256PublicKey>: Sendable {
    private let key: EnclaveKey
    /// The public half.
    let publicKey: PublicKey
    private let context: LAContext?
    private let keychain: RemoteKeychain
    private let promptOrigin: PromptOrigin?

    /// Makes a key.
    ///
    /// - Parameters:
    ///   - compactRepresentable: whether its public key can be told by its x coordinate alone, as every second
    ///     one can; others are thrown away.
    ///   - accessControl: what its use demands.
    ///   - context: where the user shows it.
    /// - Throws: ``LAError`` where the user was needed, otherwise an `NSError` with an `OSStatus`.
    init(compactRepresentable: Bool, accessControl: SecAccessControl, context: LAContext?) throws {
        try self.init(context) { (keychain, context, prompt) throws(KeychainError) in
            let request = MakeKey(
                accessControl: accessControl.accessControl,
                context: context,
                prompt: prompt
            )
            // As many tries as swift-crypto makes for its own keys; so many fail once in 2^100.
            for _ in 0..<100 {
                let key = try keychain.makeKey(request)
                guard compactRepresentable, !key.isCompactRepresentable else { return key }
            }
            throw KeychainError(.internalComponent, cause: .damaged)
        }
    }

    /// Takes a key that was made before.
    ///
    /// - Throws: an `NSError` with `errSecDecode` for what this keychain did not make for this app.
    init(dataRepresentation: Data, context: LAContext?) throws {
        try self.init(context) { (keychain, _, prompt) throws(KeychainError) in
            try keychain.readKey(ReadKey(representation: [UInt8](dataRepresentation), prompt: prompt))
        }
    }

    private init(
        _ context: LAContext?,
        key: (RemoteKeychain, UInt64?, PromptFields) throws(KeychainError) -> EnclaveKey
    ) throws {
        self.context = context
        keychain = KeychainConnection.current
        promptOrigin = KeychainConnection.promptOrigin
        do throws(KeychainError) {
            let description = try context?.describeForKeychain()
            let prompt = description?.prompt ?? PromptFields(origin: KeychainConnection.originOfNow)
            self.key = try key(keychain, description?.number, prompt)
        } catch {
            throw error.errorForApps
        }
        publicKey = try PublicKey(x963Representation: self.key.publicKey)
    }

    /// What brings the key back.
    var dataRepresentation: Data { Data(key.representation) }

    /// Whether a TPM made the key and keeps it.
    var isHardwareBacked: Bool { key.isHardware }

    /// Uses the key; the user is asked where its access control demands it.
    ///
    /// - Throws: ``LAError`` where the user was needed, otherwise an `NSError` with an `OSStatus`.
    func use(_ use: KeyUse) throws -> SecretBytes {
        do throws(KeychainError) {
            let description = try context?.describeForKeychain()
            let request = UseKey(
                representation: key.representation,
                use: use,
                context: description?.number,
                prompt: description?.prompt
                    ?? PromptFields(origin: promptOrigin ?? KeychainConnection.originOfNow)
            )
            return try keychain.useKey(request)
        } catch {
            throw error.errorForApps
        }
    }
}

extension EnclaveKey {
    /// Whether the public key can be told by its x coordinate alone.
    fileprivate var isCompactRepresentable: Bool {
        let key = try? P256.Signing.PublicKey(x963Representation: publicKey)
        return key?.compactRepresentation != nil
    }
}

extension SecAccessControl {
    /// What a key's use demands when nothing was said: an unlocked keychain.
    static var ofUnlockedKeychain: SecAccessControl {
        SecAccessControl(AccessControl(accessibility: .whenUnlockedThisDeviceOnly))
    }
}
