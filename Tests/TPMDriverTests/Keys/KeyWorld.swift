import Crypto
import Foundation
import KeychainModel
import SecretMemory
import TPMDriver
import Testing
import TouchstoneTesting

/// A TPM and its keys.
struct KeyWorld {
    let chip: SoftwareTPM
    let tpm: TPM
    let keys: TPMPrivateKeys
    let attester: TPMKeyAttester

    static func start(_ chip: SoftwareTPM.Chip = .blank) async throws -> KeyWorld {
        let chip = try await SoftwareTPM.start(chip)
        let tpm = TPM(chip)
        return KeyWorld(chip: chip, tpm: tpm, keys: TPMPrivateKeys(tpm), attester: TPMKeyAttester(tpm))
    }

    /// Signs with a key, and verifies the signature.
    func expectToSign(_ key: HardwareKey, _ authorization: borrowing SecretBytes) async throws {
        let digest = SHA256.hash(data: [1, 2, 3])
        let octets = try await keys.sign(digest: Array(digest), with: key.blob, authorization: authorization)
        let publicKey = try P256.Signing.PublicKey(x963Representation: key.publicKey)
        let signature = try P256.Signing.ECDSASignature(rawRepresentation: octets)
        #expect(publicKey.isValidSignature(signature, for: digest))
    }
}

/// The program `openssl`, as an independent implementation.
enum OpenSSL {
    /// Whether `openssl` verifies a signature over a message.
    static func verifies(
        _ signature: P256.Signing.ECDSASignature,
        _ message: [UInt8],
        _ digest: String,
        _ publicKey: P256.Signing.PublicKey
    ) async throws -> Bool {
        let directory = try TemporaryDirectory()
        let key = try directory.write(publicKey.pemRepresentation, to: "key.pem")
        let (signed, content) = (directory.appending("signature"), directory.appending("message"))
        try Data(signature.derRepresentation).write(to: URL(fileURLWithPath: signed))
        try Data(message).write(to: URL(fileURLWithPath: content))
        return try await run(["dgst", "-\(digest)", "-verify", key, "-signature", signed, content])
    }

    /// Whether `openssl` exited with status 0.
    static func run(_ arguments: [String]) async throws -> Bool {
        try await ChildProcess.start("/usr/bin/openssl", arguments).waitUntilEnd() == 0
    }
}
