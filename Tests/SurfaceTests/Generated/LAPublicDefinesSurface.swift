// Written by Scripts/surface.swift; changes are lost.
// swift-format-ignore-file

import LocalAuthentication
import Testing

@Suite("The surface of LAPublicDefines.h")
struct LAPublicDefinesSurfaceTests {
    @Test("has Apple's names, types and values")
    func names() {
        let _: String = kLAErrorDomain
        let _: Int32 = kLAPolicyDeviceOwnerAuthenticationWithBiometrics
        #expect(Int(kLAPolicyDeviceOwnerAuthenticationWithBiometrics) == LAPolicy.deviceOwnerAuthenticationWithBiometrics.rawValue)
        let _: Int32 = kLAPolicyDeviceOwnerAuthentication
        #expect(Int(kLAPolicyDeviceOwnerAuthentication) == LAPolicy.deviceOwnerAuthentication.rawValue)
        let _: Int32 = kLAPolicyDeviceOwnerAuthenticationWithWatch
        #expect(Int(kLAPolicyDeviceOwnerAuthenticationWithWatch) == LAPolicy.deviceOwnerAuthenticationWithWatch.rawValue)
        let _: Int32 = kLAPolicyDeviceOwnerAuthenticationWithBiometricsOrWatch
        #expect(Int(kLAPolicyDeviceOwnerAuthenticationWithBiometricsOrWatch) == LAPolicy.deviceOwnerAuthenticationWithBiometricsOrWatch.rawValue)
        let _: Int32 = kLAPolicyDeviceOwnerAuthenticationWithCompanion
        #expect(Int(kLAPolicyDeviceOwnerAuthenticationWithCompanion) == LAPolicy.deviceOwnerAuthenticationWithCompanion.rawValue)
        let _: Int32 = kLAPolicyDeviceOwnerAuthenticationWithBiometricsOrCompanion
        #expect(Int(kLAPolicyDeviceOwnerAuthenticationWithBiometricsOrCompanion) == LAPolicy.deviceOwnerAuthenticationWithBiometricsOrCompanion.rawValue)
        let _: Int32 = kLAPolicyDeviceOwnerAuthenticationWithWristDetection
        let _: Int32 = kLACredentialTypeApplicationPassword
        #expect(Int(kLACredentialTypeApplicationPassword) == LACredentialType.applicationPassword.rawValue)
        let _: Int32 = kLACredentialSmartCardPIN
        #expect(Int(kLACredentialSmartCardPIN) == LACredentialType.smartCardPIN.rawValue)
        let _: Int32 = kLABiometryTypeNone
        #expect(Int(kLABiometryTypeNone) == LABiometryType.none.rawValue)
        let _: Int32 = kLABiometryTypeTouchID
        #expect(Int(kLABiometryTypeTouchID) == LABiometryType.touchID.rawValue)
        let _: Int32 = kLABiometryTypeFaceID
        #expect(Int(kLABiometryTypeFaceID) == LABiometryType.faceID.rawValue)
        let _: Int32 = kLABiometryTypeOpticID
        #expect(Int(kLABiometryTypeOpticID) == LABiometryType.opticID.rawValue)
        let _: Int32 = kLAAccessControlOperationCreateItem
        #expect(Int(kLAAccessControlOperationCreateItem) == LAAccessControlOperation.createItem.rawValue)
        let _: Int32 = kLAAccessControlOperationUseItem
        #expect(Int(kLAAccessControlOperationUseItem) == LAAccessControlOperation.useItem.rawValue)
        let _: Int32 = kLAAccessControlOperationCreateKey
        #expect(Int(kLAAccessControlOperationCreateKey) == LAAccessControlOperation.createKey.rawValue)
        let _: Int32 = kLAAccessControlOperationUseKeySign
        #expect(Int(kLAAccessControlOperationUseKeySign) == LAAccessControlOperation.useKeySign.rawValue)
        let _: Int32 = kLAAccessControlOperationUseKeyDecrypt
        #expect(Int(kLAAccessControlOperationUseKeyDecrypt) == LAAccessControlOperation.useKeyDecrypt.rawValue)
        let _: Int32 = kLAAccessControlOperationUseKeyKeyExchange
        #expect(Int(kLAAccessControlOperationUseKeyKeyExchange) == LAAccessControlOperation.useKeyKeyExchange.rawValue)
        let _: Int32 = kLACompanionTypeWatch
        #expect(Int(kLACompanionTypeWatch) == LACompanionType.watch.rawValue)
        let _: Int32 = kLACompanionTypeMac
        #expect(Int(kLACompanionTypeMac) == LACompanionType.mac.rawValue)
        let _: Int32 = kLACompanionTypeVision
        #expect(Int(kLACompanionTypeVision) == LACompanionType.vision.rawValue)
        let _: Int32 = kLAErrorAuthenticationFailed
        #expect(Int(kLAErrorAuthenticationFailed) == LAError.Code.authenticationFailed.rawValue)
        let _: Int32 = kLAErrorUserCancel
        #expect(Int(kLAErrorUserCancel) == LAError.Code.userCancel.rawValue)
        let _: Int32 = kLAErrorUserFallback
        #expect(Int(kLAErrorUserFallback) == LAError.Code.userFallback.rawValue)
        let _: Int32 = kLAErrorSystemCancel
        #expect(Int(kLAErrorSystemCancel) == LAError.Code.systemCancel.rawValue)
        let _: Int32 = kLAErrorPasscodeNotSet
        #expect(Int(kLAErrorPasscodeNotSet) == LAError.Code.passcodeNotSet.rawValue)
        let _: Int32 = kLAErrorTouchIDNotAvailable
        #expect(Int(kLAErrorTouchIDNotAvailable) == LAError.Code.touchIDNotAvailable.rawValue)
        let _: Int32 = kLAErrorTouchIDNotEnrolled
        #expect(Int(kLAErrorTouchIDNotEnrolled) == LAError.Code.touchIDNotEnrolled.rawValue)
        let _: Int32 = kLAErrorTouchIDLockout
        #expect(Int(kLAErrorTouchIDLockout) == LAError.Code.touchIDLockout.rawValue)
        let _: Int32 = kLAErrorBiometryNotAvailable
        #expect(Int(kLAErrorBiometryNotAvailable) == LAError.Code.biometryNotAvailable.rawValue)
        let _: Int32 = kLAErrorBiometryNotEnrolled
        #expect(Int(kLAErrorBiometryNotEnrolled) == LAError.Code.biometryNotEnrolled.rawValue)
        let _: Int32 = kLAErrorBiometryLockout
        #expect(Int(kLAErrorBiometryLockout) == LAError.Code.biometryLockout.rawValue)
        let _: Int32 = kLAErrorAppCancel
        #expect(Int(kLAErrorAppCancel) == LAError.Code.appCancel.rawValue)
        let _: Int32 = kLAErrorInvalidContext
        #expect(Int(kLAErrorInvalidContext) == LAError.Code.invalidContext.rawValue)
        let _: Int32 = kLAErrorWatchNotAvailable
        #expect(Int(kLAErrorWatchNotAvailable) == LAError.Code.watchNotAvailable.rawValue)
        let _: Int32 = kLAErrorCompanionNotAvailable
        #expect(Int(kLAErrorCompanionNotAvailable) == LAError.Code.companionNotAvailable.rawValue)
        let _: Int32 = kLAErrorBiometryNotPaired
        #expect(Int(kLAErrorBiometryNotPaired) == LAError.Code.biometryNotPaired.rawValue)
        let _: Int32 = kLAErrorBiometryDisconnected
        #expect(Int(kLAErrorBiometryDisconnected) == LAError.Code.biometryDisconnected.rawValue)
        let _: Int32 = kLAErrorInvalidDimensions
        let _: Int32 = kLAErrorNotInteractive
        #expect(Int(kLAErrorNotInteractive) == LAError.Code.notInteractive.rawValue)
    }
}
