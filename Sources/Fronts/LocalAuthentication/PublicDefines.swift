// The numbers of `LAPublicDefines.h`, for code that compares raw values.

/// `LAPolicy.deviceOwnerAuthenticationWithBiometrics` as a number.
public let kLAPolicyDeviceOwnerAuthenticationWithBiometrics: Int32 = 1
/// `LAPolicy.deviceOwnerAuthentication` as a number.
public let kLAPolicyDeviceOwnerAuthentication: Int32 = 2
/// `LAPolicy.deviceOwnerAuthenticationWithWatch` as a number.
public let kLAPolicyDeviceOwnerAuthenticationWithWatch: Int32 = 3
/// `LAPolicy.deviceOwnerAuthenticationWithCompanion` as a number.
public let kLAPolicyDeviceOwnerAuthenticationWithCompanion: Int32 = 3
/// `LAPolicy.deviceOwnerAuthenticationWithBiometricsOrWatch` as a number.
public let kLAPolicyDeviceOwnerAuthenticationWithBiometricsOrWatch: Int32 = 4
/// `LAPolicy.deviceOwnerAuthenticationWithBiometricsOrCompanion` as a number.
public let kLAPolicyDeviceOwnerAuthenticationWithBiometricsOrCompanion: Int32 = 4
/// `LAPolicy.deviceOwnerAuthenticationWithWristDetection` as a number.
public let kLAPolicyDeviceOwnerAuthenticationWithWristDetection: Int32 = 5
/// `LACredentialType.applicationPassword` as a number.
public let kLACredentialTypeApplicationPassword: Int32 = 0
/// `LACredentialType.smartCardPIN` as a number.
public let kLACredentialSmartCardPIN: Int32 = -3
/// `LABiometryType.none` as a number.
public let kLABiometryTypeNone: Int32 = 0
/// `LABiometryType.touchID` as a number.
public let kLABiometryTypeTouchID: Int32 = 1
/// `LABiometryType.faceID` as a number.
public let kLABiometryTypeFaceID: Int32 = 2
/// `LABiometryType.opticID` as a number.
public let kLABiometryTypeOpticID: Int32 = 4
/// `LAAccessControlOperation.createItem` as a number.
public let kLAAccessControlOperationCreateItem: Int32 = 0
/// `LAAccessControlOperation.useItem` as a number.
public let kLAAccessControlOperationUseItem: Int32 = 1
/// `LAAccessControlOperation.createKey` as a number.
public let kLAAccessControlOperationCreateKey: Int32 = 2
/// `LAAccessControlOperation.useKeySign` as a number.
public let kLAAccessControlOperationUseKeySign: Int32 = 3
/// `LAAccessControlOperation.useKeyDecrypt` as a number.
public let kLAAccessControlOperationUseKeyDecrypt: Int32 = 4
/// `LAAccessControlOperation.useKeyKeyExchange` as a number.
public let kLAAccessControlOperationUseKeyKeyExchange: Int32 = 5
/// `LACompanionType.watch` as a number.
public let kLACompanionTypeWatch: Int32 = 1
/// `LACompanionType.mac` as a number.
public let kLACompanionTypeMac: Int32 = 2
/// `LACompanionType.vision` as a number.
public let kLACompanionTypeVision: Int32 = 4
/// `LAError.Code.authenticationFailed` as a number.
public let kLAErrorAuthenticationFailed: Int32 = -1
/// `LAError.Code.userCancel` as a number.
public let kLAErrorUserCancel: Int32 = -2
/// `LAError.Code.userFallback` as a number.
public let kLAErrorUserFallback: Int32 = -3
/// `LAError.Code.systemCancel` as a number.
public let kLAErrorSystemCancel: Int32 = -4
/// `LAError.Code.passcodeNotSet` as a number.
public let kLAErrorPasscodeNotSet: Int32 = -5
/// `LAError.Code.touchIDNotAvailable` as a number.
public let kLAErrorTouchIDNotAvailable: Int32 = -6
/// `LAError.Code.touchIDNotEnrolled` as a number.
public let kLAErrorTouchIDNotEnrolled: Int32 = -7
/// `LAError.Code.touchIDLockout` as a number.
public let kLAErrorTouchIDLockout: Int32 = -8
/// `LAError.Code.biometryNotAvailable` as a number.
public let kLAErrorBiometryNotAvailable: Int32 = -6
/// `LAError.Code.biometryNotEnrolled` as a number.
public let kLAErrorBiometryNotEnrolled: Int32 = -7
/// `LAError.Code.biometryLockout` as a number.
public let kLAErrorBiometryLockout: Int32 = -8
/// `LAError.Code.appCancel` as a number.
public let kLAErrorAppCancel: Int32 = -9
/// `LAError.Code.invalidContext` as a number.
public let kLAErrorInvalidContext: Int32 = -10
/// `LAError.Code.watchNotAvailable` as a number.
public let kLAErrorWatchNotAvailable: Int32 = -11
/// `LAError.Code.companionNotAvailable` as a number.
public let kLAErrorCompanionNotAvailable: Int32 = -11
/// `LAError.Code.biometryNotPaired` as a number.
public let kLAErrorBiometryNotPaired: Int32 = -12
/// `LAError.Code.biometryDisconnected` as a number.
public let kLAErrorBiometryDisconnected: Int32 = -13
/// `LAError.Code.invalidDimensions` as a number.
public let kLAErrorInvalidDimensions: Int32 = -14
/// `LAError.Code.notInteractive` as a number.
public let kLAErrorNotInteractive: Int32 = -1004
