import Foundation
import LocalAuthentication
import Security
import Testing

/// Rights in a real daemon; a scripted pinentry enters the passcode.
@Suite(
    "Saved rights",
    .enabled(if: RunningKeychain.isBuilt, "touchstoned is not built"),
    .timeLimit(.minutes(20))
)
struct SavedRightTests {
    private static let message = Data("meet me at the bridge".utf8)
    private static let secret = Data("0123456789".utf8)
    private static let signing = SecKeyAlgorithm.ecdsaSignatureMessageX962SHA256
    private static let encryption = SecKeyAlgorithm.eciesEncryptionCofactorX963SHA256AESGCM

    private var store: LARightStore { .shared }

    /// The code of the `LAError` that `body` throws; nil for anything else.
    private static func reason(_ body: () async throws -> Void) async -> LAError.Code? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? LAError)?.code
        }
    }

    /// The `OSStatus` that `body` throws; nil for anything else.
    private static func status(_ body: () async throws -> Void) async -> OSStatus? {
        do {
            try await body()
            return nil
        } catch let error as NSError {
            return error.domain == NSOSStatusErrorDomain ? OSStatus(error.code) : nil
        }
    }

    @Test("an authorized right gives secret and key after one prompt, and neither before nor after")
    func authorization() async throws {
        let running = try await RunningKeychain()
        try await running.use {
            let right = try await store.saveRight(LARight(), identifier: "token", secret: Self.secret)
            let key = right.key
            let sealed = try await key.publicKey.encrypt(Self.message, algorithm: Self.encryption)
            let uses: [() async throws -> Void] = [
                {
                    let secret = try await right.secret.rawData
                    #expect(secret == Self.secret)
                },
                {
                    let signature = try await key.sign(Self.message, algorithm: Self.signing)
                    try await key.publicKey.verify(
                        Self.message,
                        signature: signature,
                        algorithm: Self.signing
                    )
                },
                {
                    let message = try await key.decrypt(sealed, algorithm: Self.encryption)
                    #expect(message == Self.message)
                },
                {
                    let secret = try await key.exchangeKeys(
                        publicKey: try await key.publicKey.bytes,
                        algorithm: .ecdhKeyExchangeStandardX963SHA256,
                        parameters: [SecKeyKeyExchangeParameter.requestedSize.rawValue: 24]
                    )
                    #expect(secret.count == 24)
                },
            ]
            for use in uses { #expect(await Self.reason(use) == .notInteractive) }
            #expect(running.prompts == 0)
            try await right.authorize(localizedReason: "sign in")
            #expect(right.state == .authorized)
            for use in uses { try await use() }
            #expect(running.prompts == 1)
            await right.deauthorize()
            for use in uses { #expect(await Self.reason(use) == .notInteractive) }
            #expect(running.prompts == 1)
        }
    }

    @Test("a right is loaded by its name, with its key, secret and requirement")
    func loading() async throws {
        let running = try await RunningKeychain()
        try await running.use {
            let requirement = LAAuthenticationRequirement.biometry(fallback: .devicePasscode)
            let saved = try await store.saveRight(
                LARight(requirement: requirement),
                identifier: "token",
                secret: Self.secret
            )
            let loaded = try await store.right(forIdentifier: "token")
            let octets = try await saved.key.publicKey.bytes
            #expect(try await loaded.key.publicKey.bytes == octets)
            #expect(octets.count == 65)
            try await loaded.checkCanAuthorize()
            try await loaded.authorize(localizedReason: "sign in")
            #expect(try await loaded.secret.rawData == Self.secret)
            #expect(saved.state == .unknown, "each object is authorized for itself")
            #expect(await Self.reason { _ = try await saved.secret.rawData } == .notInteractive)
            #expect(running.prompts == 1)
        }
    }

    @Test("a right saved without a secret has an empty one")
    func withoutSecret() async throws {
        let running = try await RunningKeychain()
        try await running.use {
            let right = LARight()
            right.tag = 7
            let saved = try await store.saveRight(right, identifier: "login")
            #expect(saved.tag == 7)
            try await saved.authorize(localizedReason: "sign in")
            #expect(try await saved.secret.rawData == Data())
        }
    }

    @Test("a right is refused while the user refuses")
    func refusal() async throws {
        let running = try await RunningKeychain()
        try await running.use {
            let right = try await store.saveRight(LARight(), identifier: "token", secret: Self.secret)
            try running.cancelNext()
            #expect(await Self.reason { try await right.authorize(localizedReason: "test") } == .userCancel)
            #expect(right.state == .notAuthorized)
            #expect(await Self.reason { _ = try await right.secret.rawData } == .notInteractive)
            #expect(running.prompts == 1)
        }
    }

    @Test("a locked keychain closes the right, and authorizing it again needs one passcode")
    func locked() async throws {
        let running = try await RunningKeychain()
        try await running.use {
            let right = try await store.saveRight(LARight(), identifier: "token", secret: Self.secret)
            try await right.authorize(localizedReason: "sign in")
            try running.lock()
            #expect(await Self.reason { _ = try await right.secret.rawData } == .notInteractive)
            #expect(running.prompts == 1)
            try await right.authorize(localizedReason: "sign in")
            #expect(try await right.secret.rawData == Self.secret)
            #expect(running.prompts == 2)
        }
    }

    @Test("a right whose requirement cannot be met cannot be authorized")
    func withoutSensor() async throws {
        let running = try await RunningKeychain()
        try await running.use {
            let right = try await store.saveRight(LARight(requirement: .biometry), identifier: "finger")
            #expect(await Self.reason { try await right.checkCanAuthorize() } == .biometryNotAvailable)
            let reason = await Self.reason { try await right.authorize(localizedReason: "sign in") }
            #expect(reason == .biometryNotAvailable)
            #expect(running.prompts == 0)
        }
    }

    @Test("a right's key stays usable after the right itself is released")
    func heldByKey() async throws {
        let running = try await RunningKeychain()
        try await running.use {
            var right: LAPersistedRight? = try await store.saveRight(LARight(), identifier: "token")
            try await right?.authorize(localizedReason: "sign in")
            let key = try #require(right?.key)
            right = nil
            #expect(try await !key.sign(Self.message, algorithm: Self.signing).isEmpty)
        }
    }

    @Test("a name can be saved once, and is free again after removal")
    func names() async throws {
        let running = try await RunningKeychain()
        try await running.use {
            let first = try await store.saveRight(LARight(), identifier: "a", secret: Self.secret)
            _ = try await store.saveRight(LARight(), identifier: "b")
            let again = await Self.status { _ = try await store.saveRight(LARight(), identifier: "a") }
            #expect(again == errSecDuplicateItem)
            try await first.authorize(localizedReason: "sign in")
            let held = first.key
            #expect(try await !held.sign(Self.message, algorithm: Self.signing).isEmpty)
            let prompts = running.prompts
            try await store.removeRight(first)
            #expect(await Self.status { try await store.removeRight(first) } == errSecItemNotFound)
            #expect(
                await Self.status { _ = try await store.right(forIdentifier: "a") } == errSecItemNotFound
            )
            let reason = await Self.reason { try await first.authorize(localizedReason: "sign in") }
            #expect(reason == .authenticationFailed, "it is gone: nobody has to be asked")
            #expect(running.prompts == prompts)
            let ended = await Self.status {
                _ = try await held.sign(Self.message, algorithm: Self.signing)
            }
            #expect(ended == errSecItemNotFound)
            _ = try await store.saveRight(LARight(), identifier: "a")
            try await store.removeRight(forIdentifier: "b")
            try await store.removeAllRights()
            try await store.removeAllRights()
            #expect(
                await Self.status { _ = try await store.right(forIdentifier: "a") } == errSecItemNotFound
            )
        }
    }

    @Test("removing all rights leaves the app's other items")
    func otherItems() async throws {
        let running = try await RunningKeychain()
        try await running.use {
            let item: [CFString: Any] = [kSecClass: kSecClassGenericPassword, kSecAttrAccount: "ada"]
            #expect(SecItemAdd(item as CFDictionary, nil) == errSecSuccess)
            _ = try await store.saveRight(LARight(), identifier: "a")
            try await store.removeAllRights()
            #expect(SecItemCopyMatching(item as CFDictionary, nil) == errSecSuccess)
        }
    }

    @Test("a right reports its key's algorithms, and refuses all others")
    func algorithms() async throws {
        let running = try await RunningKeychain()
        try await running.use {
            let right = try await store.saveRight(LARight(), identifier: "token")
            let (key, publicKey) = (right.key, right.key.publicKey)
            #expect(key.canSign(using: Self.signing) && publicKey.canVerify(using: Self.signing))
            #expect(key.canDecrypt(using: Self.encryption) && publicKey.canEncrypt(using: Self.encryption))
            #expect(key.canExchangeKeys(using: .ecdhKeyExchangeStandard))
            #expect(!key.canSign(using: .rsaSignatureMessagePSSSHA256))
            #expect(!publicKey.canEncrypt(using: .rsaEncryptionOAEPSHA256))
            try await right.authorize(localizedReason: "sign in")
            let refused = await Self.status {
                _ = try await key.sign(Self.message, algorithm: .rsaSignatureMessagePSSSHA256)
            }
            #expect(refused == errSecParam)
            let signature = try await key.sign(Self.message, algorithm: Self.signing)
            await #expect(throws: (any Error).self) {
                try await publicKey.verify(Self.secret, signature: signature, algorithm: Self.signing)
            }
            let peerless = await Self.status {
                _ = try await key.exchangeKeys(
                    publicKey: Self.message,
                    algorithm: .ecdhKeyExchangeStandard,
                    parameters: [:]
                )
            }
            #expect(peerless == errSecParam)
        }
    }
}
