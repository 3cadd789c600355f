import Crypto
import Foundation
import KeychainEngine
import KeychainModel
import SecretMemory

/// Helpers that make and use keys.
extension KeychainEngine {
    func makeKey(
        _ flags: AccessControlFlags = [],
        accessibility: Accessibility = .whenUnlocked,
        group: AccessGroup = .ours,
        limits: KeyLimits = .none,
        password: String? = nil
    ) async throws -> EnclaveKey {
        try await makeKey(
            try AccessControl(accessibility: accessibility, flags: flags),
            group: group,
            limits: limits,
            applicationPassword: password.map { ApplicationPassword(.text($0)) }
        )
    }

    /// The result of a key use; throws ``NeedsAuthentication`` if a prompt would be needed.
    func result(
        _ key: EnclaveKey,
        _ use: KeyUse = .sign(digest: Letter.digest),
        group: AccessGroup = .ours,
        proofs: [AuthenticationProof] = [],
        password: String? = nil
    ) async throws -> [UInt8] {
        let authorization = ItemAuthorization(
            proofs: proofs,
            applicationPassword: password.map { ApplicationPassword(.text($0)) }
        )
        let outcome = try await self.use(
            key.representation,
            for: use,
            groups: [group],
            authorization: authorization
        )
        switch consume outcome {
        case .done(let octets): return octets.withOctets { span in span.indices.map { span[$0] } }
        case .needsUser(let controls): throw NeedsAuthentication(controls: controls)
        case .needsHardware: throw KeychainError(.internalComponent)
        case .needsKey: throw KeychainError(.internalComponent)
        }
    }
}

extension EnclaveKey {
    /// The same key under another representation.
    func with(representation: [UInt8]) -> EnclaveKey {
        EnclaveKey(
            representation: representation,
            publicKey: publicKey,
            accessControl: accessControl,
            isHardware: isHardware
        )
    }

    /// Whether `signature` (r and s) is this key's signature of the letter.
    func signed(_ signature: [UInt8]) throws -> Bool {
        try P256.Signing.PublicKey(x963Representation: publicKey).isValidSignature(
            P256.Signing.ECDSASignature(rawRepresentation: signature),
            for: SHA256.hash(data: Letter.text)
        )
    }
}

/// What the tests sign.
enum Letter {
    static let text = Data("a letter".utf8)
    static let digest = Array(SHA256.hash(data: text))
}

/// Software keys behind a closure that runs before each operation.
struct ScriptedHardware: PrivateKeyHardware {
    private let software = SoftwarePrivateKeys()
    var isHardware = true
    var before: @Sendable () async throws(KeychainError) -> Void = { () throws(KeychainError) in }

    func makeKey(authorization: borrowing SecretBytes) async throws(KeychainError) -> HardwareKey {
        try await before()
        return try await software.makeKey(authorization: authorization)
    }

    func sign(
        digest: [UInt8],
        with key: [UInt8],
        authorization: borrowing SecretBytes
    ) async throws(KeychainError) -> [UInt8] {
        try await before()
        return try await software.sign(digest: digest, with: key, authorization: authorization)
    }

    func agree(
        with publicKey: [UInt8],
        key: [UInt8],
        authorization: borrowing SecretBytes
    ) async throws(KeychainError) -> SecretBytes {
        try await before()
        return try await software.agree(with: publicKey, key: key, authorization: authorization)
    }
}

extension TestKeychain {
    /// Opens the keychain's files as a daemon with other hardware would.
    func start(privateKeys: any PrivateKeyHardware) throws -> KeychainEngine {
        let directory = try StoreDirectory(path: path)
        return try KeychainEngine(
            directory: directory,
            sealer: FileKeySealer(directory: directory),
            privateKeys: privateKeys,
            derivation: .test,
            audit: audit
        )
    }

    /// A newly set-up keychain with other hardware for its private keys.
    func setUp(privateKeys: any PrivateKeyHardware) async throws -> KeychainEngine {
        let engine = try start(privateKeys: privateKeys)
        try await engine.setUp(
            passcode: .text(Self.passcode),
            recoveryCode: try engine.makeRecoveryCode(),
            enrolled: Self.enrolled
        )
        return engine
    }
}
