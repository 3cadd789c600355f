// Written by Scripts/surface.swift; changes are lost.
// swift-format-ignore-file

import Foundation
import LocalAuthentication
import Security
import Testing

@Suite("The surface of LAContext")
struct LAContextSurfaceTests {
    @Test("has Apple's names, types and values")
    func names() {
        isClass(LAContext.self)
        let _: () -> LAContext = LAContext.init
        let _: (LAContext) -> (LAPolicy, NSErrorPointer) -> Bool = LAContext.canEvaluatePolicy(_:error:)
        let _: (LAContext) -> Void = { $0.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "", reply: { (_: Bool, _: (any Error)?) in }) }
        let _: (LAContext) async throws -> Bool = { try await $0.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "") }
        let _: (LAContext, SecAccessControl) -> Void = { $0.evaluateAccessControl($1, operation: .useItem, localizedReason: "", reply: { (_: Bool, _: (any Error)?) in }) }
        let _: (LAContext, SecAccessControl) async throws -> Bool = { try await $0.evaluateAccessControl($1, operation: .useItem, localizedReason: "") }
        let _: (LAContext) -> () -> Void = LAContext.invalidate
        let _: (LAContext) -> (Data?, LACredentialType) -> Bool = LAContext.setCredential(_:type:)
        let _: (LAContext) -> (LACredentialType) -> Bool = LAContext.isCredentialSet(_:)
        let _: ReferenceWritableKeyPath<LAContext, String?> = \.localizedFallbackTitle
        let _: ReferenceWritableKeyPath<LAContext, String?> = \.localizedCancelTitle
        let _: ReferenceWritableKeyPath<LAContext, String> = \.localizedReason
        let _: ReferenceWritableKeyPath<LAContext, Bool> = \.interactionNotAllowed
        let _: KeyPath<LAContext, LABiometryType> = \.biometryType
        let _: KeyPath<LAContext, Data?> = \.evaluatedPolicyDomainState
        let _: KeyPath<LAContext, LADomainState> = \.domainState
        let _: ReferenceWritableKeyPath<LAContext, TimeInterval> = \.touchIDAuthenticationAllowableReuseDuration
        let _: TimeInterval = LATouchIDAuthenticationMaximumAllowableReuseDuration
        let _: ReferenceWritableKeyPath<LAContext, NSNumber?> = \.maxBiometryFailures
        isRawRepresentable(LAPolicy.self, by: Int.self)
        #expect(LAPolicy.deviceOwnerAuthenticationWithBiometrics.rawValue == 1)
        #expect(LAPolicy.deviceOwnerAuthentication.rawValue == 2)
        #expect(LAPolicy.deviceOwnerAuthenticationWithCompanion.rawValue == 3)
        #expect(LAPolicy.deviceOwnerAuthenticationWithBiometricsOrCompanion.rawValue == 4)
        #expect(LAPolicy.deviceOwnerAuthenticationWithWatch.rawValue == 3)
        #expect(LAPolicy.deviceOwnerAuthenticationWithBiometricsOrWatch.rawValue == 4)
        let _: (Int) -> LAPolicy? = LAPolicy.init(rawValue:)
        isRawRepresentable(LABiometryType.self, by: Int.self)
        #expect(LABiometryType.none.rawValue == 0)
        #expect(LABiometryType.touchID.rawValue == 1)
        #expect(LABiometryType.faceID.rawValue == 2)
        #expect(LABiometryType.opticID.rawValue == 4)
        let _: LABiometryType = .LABiometryNone
        let _: (Int) -> LABiometryType? = LABiometryType.init(rawValue:)
        isRawRepresentable(LAAccessControlOperation.self, by: Int.self)
        #expect(LAAccessControlOperation.createItem.rawValue == 0)
        #expect(LAAccessControlOperation.useItem.rawValue == 1)
        #expect(LAAccessControlOperation.createKey.rawValue == 2)
        #expect(LAAccessControlOperation.useKeySign.rawValue == 3)
        #expect(LAAccessControlOperation.useKeyDecrypt.rawValue == 4)
        #expect(LAAccessControlOperation.useKeyKeyExchange.rawValue == 5)
        let _: (Int) -> LAAccessControlOperation? = LAAccessControlOperation.init(rawValue:)
        isRawRepresentable(LACredentialType.self, by: Int.self)
        #expect(LACredentialType.applicationPassword.rawValue == 0)
        #expect(LACredentialType.smartCardPIN.rawValue == -3)
        let _: (Int) -> LACredentialType? = LACredentialType.init(rawValue:)
    }
}
