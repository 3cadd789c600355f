import CryptoKit
import Foundation
import LocalAuthentication
import Security
import Testing

/// Keys of a real daemon; a scripted pinentry enters the passcode.
@Suite(
    "SecureEnclave",
    .enabled(if: RunningKeychain.isBuilt, "touchstoned is not built"),
    .timeLimit(.minutes(20))
)
struct SecureEnclaveTests {
    private static let message = Data("meet me at the bridge".utf8)

    private static func rules(_ flags: SecAccessControlCreateFlags) throws -> SecAccessControl {
        try #require(
            SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlockedThisDeviceOnly, flags, nil)
        )
    }

    /// The code of the `OSStatus` that `body` throws; nil for anything else.
    private static func status(_ body: () throws -> Void) -> OSStatus? {
        do {
            try body()
            return nil
        } catch let error as NSError {
            return error.domain == NSOSStatusErrorDomain ? OSStatus(error.code) : nil
        }
    }

    @Test("SecureEnclave is available once the keychain is set up")
    func availability() async throws {
        #expect(try await RunningKeychain().use { SecureEnclave.isAvailable })
        #expect(try await !RunningKeychain(setUp: false).use { SecureEnclave.isAvailable })
    }

    @Test("a key signs, before and after it is restored from its representation")
    func signatures() async throws {
        let running = try await RunningKeychain()
        try running.use {
            let key = try SecureEnclave.P256.Signing.PrivateKey()
            let again = try SecureEnclave.P256.Signing.PrivateKey(dataRepresentation: key.dataRepresentation)
            #expect(again.publicKey.x963Representation == key.publicKey.x963Representation)
            #expect(again.isHardwareBacked == key.isHardwareBacked)
            for signer in [key, again] {
                let signature: P256.Signing.ECDSASignature = try signer.signature(for: Self.message)
                #expect(key.publicKey.isValidSignature(signature, for: Self.message))
                #expect(!key.publicKey.isValidSignature(signature, for: Data("another".utf8)))
                let digest = SHA512.hash(data: Self.message)
                #expect(key.publicKey.isValidSignature(try signer.signature(for: digest), for: digest))
            }
            let short = Insecure.SHA1.hash(data: Self.message)
            #expect(key.publicKey.isValidSignature(try key.signature(for: short), for: short))
            #expect(throws: CryptoKitError.self) {
                try key.signature(for: Insecure.MD5.hash(data: Self.message))
            }
        }
        #expect(running.prompts == 0)
    }

    @Test("a key agrees on the peer's secret, whatever the parity of the points")
    func agreement() async throws {
        let running = try await RunningKeychain()
        try running.use {
            let key = try SecureEnclave.P256.KeyAgreement.PrivateKey(compactRepresentable: false)
            for _ in 0..<16 {
                let peer = P256.KeyAgreement.PrivateKey(compactRepresentable: false)
                let mine: SharedSecret = try key.sharedSecretFromKeyAgreement(with: peer.publicKey)
                let theirs = try peer.sharedSecretFromKeyAgreement(with: key.publicKey)
                #expect(mine == theirs)
                let salt = Data("salt".utf8)
                let derive = { (secret: SharedSecret) in
                    secret.hkdfDerivedSymmetricKey(
                        using: SHA256.self,
                        salt: salt,
                        sharedInfo: Data(),
                        outputByteCount: 32
                    )
                }
                #expect(derive(mine) == derive(theirs))
            }
            let again = try SecureEnclave.P256.KeyAgreement.PrivateKey(
                dataRepresentation: key.dataRepresentation
            )
            #expect(again.publicKey.x963Representation == key.publicKey.x963Representation)
        }
    }

    @Test("a key opens what HPKE sealed to it")
    func hpke() async throws {
        let running = try await RunningKeychain()
        try running.use {
            let key = try SecureEnclave.P256.KeyAgreement.PrivateKey()
            let suite = HPKE.Ciphersuite.P256_SHA256_AES_GCM_256
            let info = Data("a letter".utf8)
            var sender = try HPKE.Sender(recipientKey: key.publicKey, ciphersuite: suite, info: info)
            let sealed = try sender.seal(Self.message)
            var recipient = try HPKE.Recipient(
                privateKey: key,
                ciphersuite: suite,
                info: info,
                encapsulatedKey: sender.encapsulatedKey
            )
            #expect(try recipient.open(sealed) == Self.message)
        }
    }

    @Test("public keys are compact-representable unless requested otherwise")
    func compactKeys() async throws {
        let running = try await RunningKeychain()
        try running.use {
            for _ in 0..<8 {
                let key = try SecureEnclave.P256.Signing.PrivateKey()
                #expect(key.publicKey.compactRepresentation != nil)
            }
            let loose = try (0..<24).map { _ in
                try SecureEnclave.P256.KeyAgreement.PrivateKey(compactRepresentable: false)
            }
            #expect(loose.contains { $0.publicKey.compactRepresentation == nil })
        }
    }

    @Test("each use shows the prompt that the access control requires, and once per context")
    func accessControl() async throws {
        let running = try await RunningKeychain()
        try running.use {
            let rules = try Self.rules([.privateKeyUsage, .userPresence])
            let key = try SecureEnclave.P256.Signing.PrivateKey(accessControl: rules)
            #expect(running.prompts == 0, "making a key asks nobody")
            for uses in 1...2 {
                #expect(
                    key.publicKey.isValidSignature(try key.signature(for: Self.message), for: Self.message)
                )
                #expect(running.prompts == uses)
            }
            let context = LAContext()
            context.localizedReason = "sign the letter"
            let inContext = try SecureEnclave.P256.Signing.PrivateKey(
                dataRepresentation: key.dataRepresentation,
                authenticationContext: context
            )
            _ = try inContext.signature(for: Self.message)
            _ = try inContext.signature(for: Self.message)
            #expect(running.prompts == 3)
            context.invalidate()
            #expect(throws: LAError.self) { try inContext.signature(for: Self.message) }
            #expect(running.prompts == 3)
        }
    }

    @Test("a context evaluated for one operation shows no further prompt for it, but does for others")
    func evaluatedContext() async throws {
        let running = try await RunningKeychain()
        let rules = try Self.rules([.privateKeyUsage, .userPresence])
        let context = running.use { LAContext() }
        for operation in [LAAccessControlOperation.createKey, .createItem] {
            try await context.evaluateAccessControl(rules, operation: operation, localizedReason: "make it")
        }
        #expect(running.prompts == 0, "making a key asks nobody")
        try await context.evaluateAccessControl(rules, operation: .useKeySign, localizedReason: "sign in")
        #expect(running.prompts == 1)
        try running.use {
            let signer = try SecureEnclave.P256.Signing.PrivateKey(
                accessControl: rules,
                authenticationContext: context
            )
            _ = try signer.signature(for: Self.message)
            #expect(running.prompts == 1)
            let agreeing = try SecureEnclave.P256.KeyAgreement.PrivateKey(
                accessControl: rules,
                authenticationContext: context
            )
            _ = try agreeing.sharedSecretFromKeyAgreement(with: P256.KeyAgreement.PrivateKey().publicKey)
            #expect(running.prompts == 2)
        }
        try await context.evaluateAccessControl(rules, operation: .useItem, localizedReason: "read")
        #expect(running.prompts == 3)
    }

    @Test("a refusal, and a context that forbids prompts, are LAErrors")
    func refusals() async throws {
        let running = try await RunningKeychain()
        try running.use {
            let rules = try Self.rules([.privateKeyUsage, .userPresence])
            let context = LAContext()
            let key = try SecureEnclave.P256.KeyAgreement.PrivateKey(
                accessControl: rules,
                authenticationContext: context
            )
            let peer = P256.KeyAgreement.PrivateKey().publicKey
            try running.cancelNext()
            do {
                _ = try key.sharedSecretFromKeyAgreement(with: peer)
                Issue.record("agreed without the user")
            } catch LAError.userCancel {
                #expect(running.prompts == 1)
            }
            context.interactionNotAllowed = true
            do {
                _ = try key.sharedSecretFromKeyAgreement(with: peer)
                Issue.record("agreed without the user")
            } catch LAError.notInteractive {
                #expect(running.prompts == 1)
            }
        }
    }

    @Test("foreign representations, and access controls without private key usage, are refused")
    func wrongInput() async throws {
        let (running, other) = (try await RunningKeychain(), try await RunningKeychain())
        try running.use {
            let foreign = try other.use { try SecureEnclave.P256.Signing.PrivateKey().dataRepresentation }
            var damaged = try SecureEnclave.P256.Signing.PrivateKey().dataRepresentation
            damaged[damaged.count - 1] ^= 1
            for octets in [foreign, damaged, Data(), Data(count: 5000)] {
                let status = Self.status {
                    _ = try SecureEnclave.P256.Signing.PrivateKey(dataRepresentation: octets)
                }
                #expect(status == errSecDecode)
            }
            let rules = try Self.rules(.userPresence)
            let status = Self.status {
                _ = try SecureEnclave.P256.KeyAgreement.PrivateKey(accessControl: rules)
            }
            #expect(status == errSecParam)
        }
    }
}
