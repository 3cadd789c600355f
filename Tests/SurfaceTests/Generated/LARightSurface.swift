// Written by Scripts/surface.swift; changes are lost.
// swift-format-ignore-file

import LocalAuthentication
import Security
import Testing

@Suite("The surface of LARight and its store")
struct LARightSurfaceTests {
    @Test("has Apple's names, types and values, part 1")
    func names1() {
        isClass(LARight.self)
        let _: () -> LARight = LARight.init
        let _: (LAAuthenticationRequirement) -> LARight = LARight.init(requirement:)
        let _: ReferenceWritableKeyPath<LARight, Int> = \.tag
        let _: KeyPath<LARight, LARight.State> = \.state
        isRawRepresentable(LARight.State.self, by: Int.self)
        #expect(LARight.State.unknown.rawValue == 0)
        #expect(LARight.State.authorizing.rawValue == 1)
        #expect(LARight.State.authorized.rawValue == 2)
        #expect(LARight.State.notAuthorized.rawValue == 3)
        let _: (LARight) -> Void = { $0.authorize(localizedReason: "", completion: { (_:(any Error)?) in }) }
        let _: (LARight) async throws -> Void = { try await $0.authorize(localizedReason: "") }
        let _: (LARight) -> Void = { $0.checkCanAuthorize(completion: { (_:(any Error)?) in }) }
        let _: (LARight) async throws -> Void = { try await $0.checkCanAuthorize() }
        let _: (LARight) -> Void = { $0.deauthorize(completion: { () in }) }
        let _: (LARight) async -> Void = { await $0.deauthorize() }
        let _: (LAPersistedRight) -> LARight = { $0 }
        let _: KeyPath<LAPersistedRight, LAPrivateKey> = \.key
        let _: KeyPath<LAPersistedRight, LASecret> = \.secret
        isClass(LASecret.self)
        let _: (LASecret) -> Void = { $0.loadData(completion: { (_:Data?, _: (any Error)?) in }) }
        let _: (LASecret) async throws -> Data = { try await $0.rawData }
        isClass(LAPrivateKey.self)
        let _: KeyPath<LAPrivateKey, LAPublicKey> = \.publicKey
        let _: (LAPrivateKey) -> (SecKeyAlgorithm) -> Bool = LAPrivateKey.canSign(using:)
        let _: (LAPrivateKey) -> Void = { $0.sign(Data(), algorithm: .ecdsaSignatureMessageX962SHA256, completion: { (_:Data?, _: (any Error)?) in }) }
        let _: (LAPrivateKey) async throws -> Data = { try await $0.sign(Data(), algorithm: .ecdsaSignatureMessageX962SHA256) }
        let _: (LAPrivateKey) -> (SecKeyAlgorithm) -> Bool = LAPrivateKey.canDecrypt(using:)
        let _: (LAPrivateKey) -> Void = { $0.decrypt(Data(), algorithm: .ecdsaSignatureMessageX962SHA256, completion: { (_:Data?, _: (any Error)?) in }) }
        let _: (LAPrivateKey) async throws -> Data = { try await $0.decrypt(Data(), algorithm: .ecdsaSignatureMessageX962SHA256) }
        let _: (LAPrivateKey) -> (SecKeyAlgorithm) -> Bool = LAPrivateKey.canExchangeKeys(using:)
        let _: (LAPrivateKey) -> Void = { $0.exchangeKeys(publicKey: Data(), algorithm: .ecdhKeyExchangeStandard, parameters: [:], completion: { (_:Data?, _: (any Error)?) in }) }
        let _: (LAPrivateKey, [AnyHashable: Any]) async throws -> Data = { try await $0.exchangeKeys(publicKey: Data(), algorithm: .ecdhKeyExchangeStandard, parameters: $1) }
        isClass(LAPublicKey.self)
        let _: (LAPublicKey) -> Void = { $0.exportBytes(completion: { (_:Data?, _: (any Error)?) in }) }
        let _: (LAPublicKey) async throws -> Data = { try await $0.bytes }
        let _: (LAPublicKey) -> (SecKeyAlgorithm) -> Bool = LAPublicKey.canEncrypt(using:)
        let _: (LAPublicKey) -> Void = { $0.encrypt(Data(), algorithm: .ecdsaSignatureMessageX962SHA256, completion: { (_:Data?, _: (any Error)?) in }) }
        let _: (LAPublicKey) async throws -> Data = { try await $0.encrypt(Data(), algorithm: .ecdsaSignatureMessageX962SHA256) }
        let _: (LAPublicKey) -> (SecKeyAlgorithm) -> Bool = LAPublicKey.canVerify(using:)
        let _: (LAPublicKey) -> Void = { $0.verify(Data(), signature: Data(), algorithm: .ecdsaSignatureMessageX962SHA256, completion: { (_:(any Error)?) in }) }
        let _: (LAPublicKey) async throws -> Void = { try await $0.verify(Data(), signature: Data(), algorithm: .ecdsaSignatureMessageX962SHA256) }
        isClass(LARightStore.self)
        let _: () -> LARightStore = { LARightStore.shared }
        let _: (LARightStore) -> Void = { $0.right(forIdentifier: "", completion: { (_:LAPersistedRight?, _: (any Error)?) in }) }
        let _: (LARightStore) async throws -> LAPersistedRight = { try await $0.right(forIdentifier: "") }
        let _: (LARightStore, LARight) -> Void = { $0.saveRight($1, identifier: "", completion: { (_: LAPersistedRight?, _: (any Error)?) in }) }
        let _: (LARightStore, LARight) async throws -> LAPersistedRight = { try await $0.saveRight($1, identifier: "") }
        let _: (LARightStore, LARight) -> Void = { $0.saveRight($1, identifier: "", secret: Data(), completion: { (_: LAPersistedRight?, _: (any Error)?) in }) }
        let _: (LARightStore, LARight) async throws -> LAPersistedRight = { try await $0.saveRight($1, identifier: "", secret: Data()) }
        let _: (LARightStore, LAPersistedRight) -> Void = { $0.removeRight($1, completion: { (_: (any Error)?) in }) }
        let _: (LARightStore, LAPersistedRight) async throws -> Void = { try await $0.removeRight($1) }
        let _: (LARightStore) -> Void = { $0.removeRight(forIdentifier: "", completion: { (_:(any Error)?) in }) }
        let _: (LARightStore) async throws -> Void = { try await $0.removeRight(forIdentifier: "") }
        let _: (LARightStore) -> Void = { $0.removeAllRights(completion: { (_:(any Error)?) in }) }
        let _: (LARightStore) async throws -> Void = { try await $0.removeAllRights() }
        isClass(LAAuthenticationRequirement.self)
        let _: () -> LAAuthenticationRequirement = { .default }
        let _: () -> LAAuthenticationRequirement = { .biometry }
        let _: () -> LAAuthenticationRequirement = { .biometryCurrentSet }
    }

    @Test("has Apple's names, types and values, part 2")
    func names2() {
        let _: (LABiometryFallbackRequirement) -> LAAuthenticationRequirement = { .biometry(fallback: $0) }
        isClass(LABiometryFallbackRequirement.self)
        let _: () -> LABiometryFallbackRequirement = { .default }
        let _: () -> LABiometryFallbackRequirement = { .devicePasscode }
    }
}
