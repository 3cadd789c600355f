import Crypto
import Foundation
import KeychainEngine
import KeychainModel
import SecretMemory

/// Keys as the tests make and use them.
extension KeychainEngine {
    func makeKey(
        _ flags: AccessControlFlags = [],
        accessibility: Accessibility = .whenUnlocked,
        group: AccessGroup = .ours,
        password: String? = nil
    ) async throws -> EnclaveKey {
        try await makeKey(
            try AccessControl(accessibility: accessibility, flags: flags),
            group: group,
            applicationPassword: password.map { ApplicationPassword(.text($0)) }
        )
    }

    /// What a use comes to; throws ``NeedsAuthentication`` where the user would be asked.
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
        case .result(let octets): return octets.withOctets { span in span.indices.map { span[$0] } }
        case .needsAuthentication(let control): throw NeedsAuthentication(controls: [control])
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

    /// Whether r and s are this key's signature of the letter.
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

/// Hardware that does what a closure says before it does its work.
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
    /// Opens the keychain's files as a daemon with other hardware does.
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

    /// A keychain that was just set up, with other hardware for its private keys.
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
