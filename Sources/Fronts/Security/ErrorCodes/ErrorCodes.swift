public import CoreFoundation

// The status codes of the keychain, with the numbers of `SecBase.h` in Apple's published Security framework.

/// No error.
public let errSecSuccess: OSStatus = 0
/// Function or operation not implemented.
public let errSecUnimplemented: OSStatus = -4
/// I/O error.
public let errSecIO: OSStatus = -36
/// The disk is full.
public let errSecDiskFull: OSStatus = -34
/// One or more parameters passed to a function were not valid.
public let errSecParam: OSStatus = -50
/// Failed to allocate memory.
public let errSecAllocate: OSStatus = -108
/// User canceled the operation.
public let errSecUserCanceled: OSStatus = -128
/// Bad parameter or invalid state for operation.
public let errSecBadReq: OSStatus = -909
/// An internal component failed.
public let errSecInternalComponent: OSStatus = -2070
/// A required entitlement isn't present.
public let errSecMissingEntitlement: OSStatus = -34018
/// No keychain is available.
public let errSecNotAvailable: OSStatus = -25291
/// This keychain cannot be modified.
public let errSecReadOnly: OSStatus = -25292
/// The user name or passphrase you entered is not correct.
public let errSecAuthFailed: OSStatus = -25293
/// The specified item already exists in the keychain.
public let errSecDuplicateItem: OSStatus = -25299
/// The specified item could not be found in the keychain.
public let errSecItemNotFound: OSStatus = -25300
/// This item contains information which is too large or in a format that cannot be displayed.
public let errSecDataTooLarge: OSStatus = -25302
/// The specified attribute does not exist.
public let errSecNoSuchAttr: OSStatus = -25303
/// The specified item is no longer valid; it may have been deleted from the keychain.
public let errSecInvalidItemRef: OSStatus = -25304
/// The specified item does not appear to be a valid keychain item.
public let errSecNoSuchClass: OSStatus = -25306
/// User interaction is not allowed.
public let errSecInteractionNotAllowed: OSStatus = -25308
/// Unable to decode the provided data.
public let errSecDecode: OSStatus = -26275
/// A cryptographic verification failure has occurred.
public let errSecVerifyFailed: OSStatus = -67808
/// The specified key size is not allowed.
public let errSecKeySizeNotAllowed: OSStatus = -25311
/// The key header has an unsupported or unknown format.
public let errSecUnsupportedKeyFormat: OSStatus = -67734
/// The contents of this item cannot be retrieved: the key is sensitive.
public let errSecKeyIsSensitive: OSStatus = -25258
