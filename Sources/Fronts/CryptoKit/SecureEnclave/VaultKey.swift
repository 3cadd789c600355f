import Crypto
import Foundation
import KeychainClient
import KeychainModel
import LocalAuthentication
import SecretMemory
import Security

/// A P-256 public key for any purpose.
protocol P256PublicKey: Sendable {
    /// Parses an uncompressed point (X9.63).
    init<Octets: ContiguousBytes>(x963Representation octets: Octets) throws
}

extension P256.Signing.PublicKey: P256PublicKey {}
extension P256.KeyAgreement.PublicKey: P256PublicKey {}

/// A key of the daemon with its context: the common part of the private keys for signing and for key agreement.
///
/// Those are separate types, as Apple's are, rather than one generic type, because apps conform both to the same
/// protocol.
struct VaultKey<PublicKey: P256PublicKey>: Sendable {
    private let key: EnclaveKey
    /// The public key.
    let publicKey: PublicKey
    private let context: LAContext?
    private let keychain: RemoteKeychain
    private let promptOrigin: PromptOrigin?

    /// Makes a key.
    ///
    /// - Parameters:
    ///   - compactRepresentable: whether the public key must be determined by its x coordinate alone; every
    ///     second key is, others are discarded.
    ///   - accessControl: the access control for each use.
    ///   - context: the context in which the user authenticates.
    /// - Throws: ``LAError`` if the user was needed, otherwise an `NSError` with an `OSStatus`.
    init(compactRepresentable: Bool, accessControl: SecAccessControl, context: LAContext?) throws {
        try self.init(context) { (keychain, context, prompt) throws(KeychainError) in
            let request = MakeKey(
                accessControl: accessControl.accessControl,
                context: context,
                prompt: prompt
            )
            // The number of attempts that swift-crypto makes for its own keys; all of them fail once in
            // 2^100.
            for _ in 0..<100 {
                let key = try keychain.makeKey(request)
                guard compactRepresentable, !key.isCompactRepresentable else { return key }
            }
            throw KeychainError(.internalComponent, cause: .damaged)
        }
    }

    /// Restores a key from its representation.
    ///
    /// - Throws: an `NSError` with `errSecDecode` for a key that this keychain did not make for this app.
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

    /// The representation from which the key can be restored.
    var dataRepresentation: Data { Data(key.representation) }

    /// Whether a TPM made and holds the key.
    var isHardwareBacked: Bool { key.isHardware }

    /// Uses the key; asks the user if its access control requires it.
    ///
    /// - Throws: ``LAError`` if the user was needed, otherwise an `NSError` with an `OSStatus`.
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
    /// Whether the public key is determined by its x coordinate alone.
    fileprivate var isCompactRepresentable: Bool {
        let key = try? P256.Signing.PublicKey(x963Representation: publicKey)
        return key?.compactRepresentation != nil
    }
}

extension SecAccessControl {
    /// The default access control of a key: usable while the keychain is unlocked.
    static var ofUnlockedKeychain: SecAccessControl {
        SecAccessControl(AccessControl(accessibility: .whenUnlockedThisDeviceOnly))
    }
}
