// swift-format-ignore-file: NeverForceUnwrap

import Foundation
import LocalAuthentication
import Security
import Testing
import TouchstoneTesting

// Common spellings of rights, their store, keys and secrets in iOS code; as in IdiomsTests.swift, compiled in Swift 6 mode here
// and in Swift 5 mode by SecurityIdiomsSwift5Tests. All but the keychain under them exists on Apple's systems.

/// The state of a login screen on the main actor, as in apps.
@MainActor
private final class LoginModel {
    enum Phase: Equatable {
        case signedOut, signedIn, failed(LAError.Code)
    }

    private(set) var phase = Phase.signedOut
    private let loginRight = LARight()

    func signIn() async {
        do {
            try await loginRight.checkCanAuthorize()
            try await loginRight.authorize(localizedReason: "Sign in")
            phase = .signedIn
        } catch let error as LAError {
            phase = .failed(error.code)
        } catch {
            phase = .signedOut
        }
    }

    func signIn(completion: @escaping @MainActor () -> Void) {
        loginRight.authorize(localizedReason: "Sign in") { error in
            Task { @MainActor in
                self.phase = error == nil ? .signedIn : .signedOut
                completion()
            }
        }
    }

    func signOut() async {
        await loginRight.deauthorize()
        phase = .signedOut
    }

    var title: String {
        switch loginRight.state {
        case .unknown, .notAuthorized: return "Sign in"
        case .authorizing: return "Wait"
        case .authorized: return "Sign out"
        @unknown default: return ""
        }
    }
}

/// Keys for a second factor, as in the framework's introduction.
private struct SecondFactor {
    enum Failure: Error { case unsupportedAlgorithm }

    private let store = LARightStore.shared
    private let identifier = "2fa"
    private let algorithm: SecKeyAlgorithm = .ecdsaSignatureMessageX962SHA256

    func generateClientKeys() async throws -> Data {
        let login2FA = LARight()
        let persisted2FA = try await store.saveRight(login2FA, identifier: identifier)
        return try await persisted2FA.key.publicKey.bytes
    }

    func signChallenge(_ challenge: Data) async throws -> Data {
        let persisted2FA = try await store.right(forIdentifier: identifier)
        try await persisted2FA.authorize(localizedReason: "2FA authentication")
        guard persisted2FA.key.canSign(using: algorithm) else { throw Failure.unsupportedAlgorithm }
        return try await persisted2FA.key.sign(challenge, algorithm: algorithm)
    }

    func verify(_ challenge: Data, signature: Data) async throws {
        let publicKey = try await store.right(forIdentifier: identifier).key.publicKey
        guard publicKey.canVerify(using: algorithm) else { throw Failure.unsupportedAlgorithm }
        try await publicKey.verify(challenge, signature: signature, algorithm: algorithm)
    }

    func forget() async throws {
        try await LARightStore.shared.removeRight(forIdentifier: identifier)
    }
}

@Suite("Rights in an iOS app", .timeLimit(.minutes(20)))
struct RightIdiomsTests {
    @Test("a model on the main actor authorizes and deauthorizes a right")
    @MainActor
    func model() async throws {
        let keychain = try await PrivateKeychain.ready()
        try await keychain.use {
            let model = LoginModel()
            #expect(model.title == "Sign in")
            await model.signIn()
            #expect(model.phase == .signedIn && model.title == "Sign out")
            await model.signOut()
            #expect(model.phase == .signedOut && model.title == "Sign in")
            try keychain.tellPerson([.cancels])
            await model.signIn()
            #expect(model.phase == .failed(.userCancel))
            await withCheckedContinuation { done in model.signIn { done.resume() } }
            #expect(model.phase == .signedIn)
        }
    }

    @Test("a right protects keys for a second factor")
    func secondFactor() async throws {
        let keychain = try await PrivateKeychain.ready()
        try await keychain.use {
            let factor = SecondFactor()
            let publicKey = try await factor.generateClientKeys()
            #expect(publicKey.count == 65)
            let challenge = Data("challenge".utf8)
            let signature = try await factor.signChallenge(challenge)
            try await factor.verify(challenge, signature: signature)
            await #expect(throws: (any Error).self) { try await factor.verify(Data(), signature: signature) }
            try await factor.forget()
            do {
                _ = try await factor.signChallenge(challenge)
                Issue.record("a right that was removed")
            } catch let error as NSError {
                #expect(error.domain == NSOSStatusErrorDomain && error.code == Int(errSecItemNotFound))
            }
        }
    }

    @Test("a right protects a secret, which is read while it is authorized")
    func secret() async throws {
        let keychain = try await PrivateKeychain.ready()
        try await keychain.use {
            let store = LARightStore.shared
            let right = LARight(requirement: .biometry(fallback: .devicePasscode))
            right.tag = 7
            let token = Data("token".utf8)
            let persisted = try await store.saveRight(right, identifier: "token", secret: token)
            do {
                _ = try await persisted.secret.rawData
                Issue.record("read without authorization")
            } catch LAError.notInteractive {
                #expect(persisted.state == .unknown)
            }
            try await persisted.authorize(localizedReason: "Read the token")
            #expect(try await persisted.secret.rawData == token)
            async let first = persisted.secret.rawData
            async let second = persisted.secret.rawData
            #expect(try await [first, second] == [token, token])
            await persisted.deauthorize()
            await #expect(throws: LAError.self) { try await persisted.secret.rawData }
            try await store.removeRight(persisted)
            try await store.removeAllRights()
        }
    }

    @Test("a right is saved, authorized, read, used and removed with closures")
    func closures() async throws {
        let keychain = try await PrivateKeychain.ready()
        try await keychain.use {
            let store = LARightStore.shared
            let saved: LAPersistedRight? = await withCheckedContinuation { continuation in
                store.saveRight(LARight(), identifier: "a", secret: Data([1, 2])) { right, error in
                    guard let right = right, error == nil else { return continuation.resume(returning: nil) }
                    right.authorize(localizedReason: "Open") { error in
                        continuation.resume(returning: error == nil ? right : nil)
                    }
                }
            }
            let right = try #require(saved)
            let secret: Data? = await withCheckedContinuation { continuation in
                right.secret.loadData { data, _ in continuation.resume(returning: data) }
            }
            #expect(secret == Data([1, 2]))
            let isVerified: Bool = await withCheckedContinuation { continuation in
                let algorithm = SecKeyAlgorithm.ecdsaSignatureMessageX962SHA256
                right.key.sign(Data(), algorithm: algorithm) { signature, _ in
                    guard let signature else { return continuation.resume(returning: false) }
                    right.key.publicKey.verify(Data(), signature: signature, algorithm: algorithm) { error in
                        continuation.resume(returning: error == nil)
                    }
                }
            }
            #expect(isVerified)
            let octets: Data? = await withCheckedContinuation { continuation in
                right.key.publicKey.exportBytes { octets, _ in continuation.resume(returning: octets) }
            }
            #expect(octets?.first == 4)
            await withCheckedContinuation { continuation in right.deauthorize { continuation.resume() } }
            #expect(right.state == .notAuthorized)
            let obstacle: Error? = await withCheckedContinuation { continuation in
                right.checkCanAuthorize { continuation.resume(returning: $0) }
            }
            #expect(obstacle == nil)
            let found: LAPersistedRight? = await withCheckedContinuation { continuation in
                store.right(forIdentifier: "a") { right, _ in continuation.resume(returning: right) }
            }
            #expect(found != nil)
            let failures: [Error?] = [
                await withCheckedContinuation { done in
                    store.removeRight(right) { done.resume(returning: $0) }
                },
                await withCheckedContinuation { done in
                    store.removeRight(forIdentifier: "a") { done.resume(returning: $0) }
                },
                await withCheckedContinuation { done in store.removeAllRights { done.resume(returning: $0) }
                },
            ]
            #expect(failures.map { ($0 as NSError?)?.code } == [nil, Int(errSecItemNotFound), nil])
        }
    }

    @Test("a right's key encrypts and agrees with other keys")
    func encryption() async throws {
        let keychain = try await PrivateKeychain.ready()
        try await keychain.use {
            let right = try await LARightStore.shared.saveRight(LARight(), identifier: "box")
            let algorithm = SecKeyAlgorithm.eciesEncryptionCofactorVariableIVX963SHA256AESGCM
            let clear = Data("clear".utf8)
            guard right.key.publicKey.canEncrypt(using: algorithm), right.key.canDecrypt(using: algorithm)
            else {
                Issue.record("no such algorithm")
                return
            }
            let sealed = try await right.key.publicKey.encrypt(clear, algorithm: algorithm)
            try await right.authorize(localizedReason: "Decrypt")
            #expect(try await right.key.decrypt(sealed, algorithm: algorithm) == clear)
            let shared = try await right.key.exchangeKeys(
                publicKey: right.key.publicKey.bytes,
                algorithm: .ecdhKeyExchangeStandardX963SHA256,
                parameters: [
                    SecKeyKeyExchangeParameter.requestedSize.rawValue: 32,
                    SecKeyKeyExchangeParameter.sharedInfo.rawValue: Data(),
                ]
            )
            #expect(shared.count == 32)
        }
    }

    @Test("a right has a named requirement, and can be subclassed")
    func requirements() async throws {
        final class AuditedRight: LARight, @unchecked Sendable {
            override func authorize(localizedReason: String) async throws {
                tag += 1
                try await super.authorize(localizedReason: localizedReason)
            }
        }
        let requirements: [LAAuthenticationRequirement] = [
            .default, .biometry, .biometryCurrentSet, .biometry(fallback: .default),
            .biometry(fallback: .devicePasscode),
        ]
        #expect(requirements.map { LARight(requirement: $0).state } == Array(repeating: .unknown, count: 5))
        let keychain = try await PrivateKeychain.ready()
        try await keychain.use {
            let right: LARight = AuditedRight(requirement: .default)
            try await right.authorize(localizedReason: "Open")
            #expect(right.tag == 1 && right.state == .authorized)
            let obstacle = await #expect(throws: LAError.self) {
                try await LARight(requirement: .biometry).checkCanAuthorize()
            }
            #expect(obstacle?.code == .biometryNotAvailable)
        }
    }

    @Test("a cancelled task deauthorizes the right")
    func cancellation() async throws {
        let keychain = try await PrivateKeychain.ready()
        try keychain.tellPerson([.waits])
        await keychain.use {
            let right = LARight()
            let task = Task {
                do {
                    try await right.authorize(localizedReason: "Open")
                    return LAError.Code?.none
                } catch {
                    return (error as? LAError)?.code
                }
            }
            while right.state != .authorizing { await Task.yield() }
            task.cancel()
            #expect(await task.value == .appCancel)
            #expect(right.state == .notAuthorized)
        }
    }
}

@Suite("LAEnvironment in an iOS app", .timeLimit(.minutes(20)))
struct EnvironmentIdiomsTests {
    private final class Watcher: NSObject, LAEnvironment.Observer {
        func environment(
            _ environment: LAEnvironment,
            stateDidChangeFromOldState oldState: LAEnvironment.State
        ) {}
    }

    @Test("the state of biometry and passcode is available without a prompt")
    func state() async throws {
        let keychain = try await PrivateKeychain.ready()
        keychain.use {
            let environment = LAEnvironment.currentUser
            let watcher = Watcher()
            environment.addObserver(watcher)
            defer { environment.removeObserver(watcher) }
            let state = environment.state
            if let biometry = state.biometry, biometry.isEnrolled, !biometry.isLockedOut {
                Issue.record("there is no sensor, and \(biometry.localizedName) is enrolled")
            }
            #expect(state.userPassword?.isSet == true)
            #expect(state.companions.isEmpty)
            #expect(state.allMechanisms.contains { $0.isUsable })
        }
    }

    @Test("a context's domain state shows whether the enrolled set changed")
    func domainState() async throws {
        let keychain = try await PrivateKeychain.ready()
        keychain.use {
            let context = LAContext()
            var error: NSError?
            _ = context.canEvaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, error: &error)
            if #available(iOS 18.0, macOS 15.0, *) {
                #expect(context.domainState.biometry.stateHash == nil)
                #expect(context.domainState.companion.availableCompanionTypes.isEmpty)
            }
            #expect((error as? LAError)?.code == .biometryNotAvailable)
        }
    }
}
