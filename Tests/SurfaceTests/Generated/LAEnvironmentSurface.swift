// Written by Scripts/surface.swift; changes are lost.
// swift-format-ignore-file

import Foundation
import LocalAuthentication
import Testing

@Suite("The surface of LAEnvironment")
struct LAEnvironmentSurfaceTests {
    @Test("has Apple's names, types and values")
    func names() {
        isRawRepresentable(LACompanionType.self, by: Int.self)
        #expect(LACompanionType.watch.rawValue == 1)
        #expect(LACompanionType.mac.rawValue == 2)
        #expect(LACompanionType.vision.rawValue == 4)
        isClass(LADomainState.self)
        let _: KeyPath<LADomainState, LADomainStateBiometry> = \.biometry
        let _: KeyPath<LADomainState, LADomainStateCompanion> = \.companion
        let _: KeyPath<LADomainState, Data?> = \.stateHash
        isClass(LADomainStateBiometry.self)
        let _: KeyPath<LADomainStateBiometry, LABiometryType> = \.biometryType
        let _: KeyPath<LADomainStateBiometry, Data?> = \.stateHash
        isClass(LADomainStateCompanion.self)
        let _: KeyPath<LADomainStateCompanion, Set<LACompanionType>> = \.availableCompanionTypes
        let _: KeyPath<LADomainStateCompanion, Data?> = \.stateHash
        let _: (LADomainStateCompanion) -> (LACompanionType) -> Data? = LADomainStateCompanion.stateHash(for:)
        isClass(LAEnvironment.self)
        let _: () -> LAEnvironment = { LAEnvironment.currentUser }
        let _: KeyPath<LAEnvironment, LAEnvironment.State> = \.state
        let _: (LAEnvironment) -> (any LAEnvironment.Observer) -> Void = LAEnvironment.addObserver(_:)
        let _: (LAEnvironment) -> (any LAEnvironment.Observer) -> Void = LAEnvironment.removeObserver(_:)
        final class Silent: NSObject, LAEnvironment.Observer {}
        let _: (any LAEnvironment.Observer) -> any NSObjectProtocol = { $0 }
        final class Curious: NSObject, LAEnvironment.Observer { func environment(_ environment: LAEnvironment, stateDidChangeFromOldState oldState: LAEnvironment.State) {} }
        isClass(LAEnvironment.State.self)
        let _: KeyPath<LAEnvironment.State, LAEnvironment.MechanismBiometry?> = \.biometry
        let _: KeyPath<LAEnvironment.State, LAEnvironment.MechanismUserPassword?> = \.userPassword
        let _: KeyPath<LAEnvironment.State, [LAEnvironment.MechanismCompanion]> = \.companions
        let _: KeyPath<LAEnvironment.State, [LAEnvironment.Mechanism]> = \.allMechanisms
        isClass(LAEnvironment.Mechanism.self)
        let _: KeyPath<LAEnvironment.Mechanism, Bool> = \.isUsable
        let _: KeyPath<LAEnvironment.Mechanism, String> = \.localizedName
        let _: KeyPath<LAEnvironment.Mechanism, String> = \.iconSystemName
        isClass(LAEnvironment.MechanismBiometry.self)
        let _: KeyPath<LAEnvironment.MechanismBiometry, LABiometryType> = \.biometryType
        let _: KeyPath<LAEnvironment.MechanismBiometry, Bool> = \.isEnrolled
        let _: KeyPath<LAEnvironment.MechanismBiometry, Bool> = \.isLockedOut
        let _: KeyPath<LAEnvironment.MechanismBiometry, Data> = \.stateHash
        let _: KeyPath<LAEnvironment.MechanismBiometry, Bool> = \.builtInSensorInaccessible
        isClass(LAEnvironment.MechanismUserPassword.self)
        let _: KeyPath<LAEnvironment.MechanismUserPassword, Bool> = \.isSet
        isClass(LAEnvironment.MechanismCompanion.self)
        let _: KeyPath<LAEnvironment.MechanismCompanion, LACompanionType> = \.type
        let _: KeyPath<LAEnvironment.MechanismCompanion, Data?> = \.stateHash
    }
}
