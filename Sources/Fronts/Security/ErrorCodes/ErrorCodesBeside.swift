public import CoreFoundation

// Status codes that this keychain never returns; declared because wrappers' error tables use them.

/// The file is already open with write permission.
public let errSecOpWr: OSStatus = -49
/// Write permissions error.
public let errSecWrPerm: OSStatus = -61
/// Client is restricted and is not permitted to perform this operation.
public let errSecRestrictedAPI: OSStatus = -34020
/// The specified keychain could not be found.
public let errSecNoSuchKeychain: OSStatus = -25294
/// The specified keychain is not a valid keychain file.
public let errSecInvalidKeychain: OSStatus = -25295
/// There is not enough memory available to use the specified item.
public let errSecBufferTooSmall: OSStatus = -25301
/// A default keychain could not be found.
public let errSecNoDefaultKeychain: OSStatus = -25307
/// The specified attribute could not be modified.
public let errSecReadOnlyAttr: OSStatus = -25309
/// This keychain was created by a different version of the system software and cannot be opened.
public let errSecWrongSecVersion: OSStatus = -25310
/// User interaction is required, but is currently not allowed.
public let errSecInteractionRequired: OSStatus = -25315
/// The contents of this item cannot be retrieved.
public let errSecDataNotAvailable: OSStatus = -25316
/// The contents of this item cannot be modified.
public let errSecDataNotModifiable: OSStatus = -25317
/// In dark wake, no UI possible.
public let errSecInDarkWake: OSStatus = -25320
/// The specified import or export format is not supported.
public let errSecUnsupportedFormat: OSStatus = -25256
/// The item you are trying to import has an unknown format.
public let errSecUnknownFormat: OSStatus = -25257
/// A password is required to import or export this item.
public let errSecPassphraseRequired: OSStatus = -25260
/// The required service is not available.
public let errSecServiceNotAvailable: OSStatus = -67585
/// A device failure has occurred.
public let errSecDeviceFailed: OSStatus = -67588
/// A device reset has occurred.
public let errSecDeviceReset: OSStatus = -67587
/// The quota was exceeded.
public let errSecQuotaExceeded: OSStatus = -67596
/// The specified database has an invalid key blob.
public let errSecInvalidKeyBlob: OSStatus = -67599
/// The key usage mask is not valid.
public let errSecInvalidKeyUsageMask: OSStatus = -67736
/// An invalid key was encountered.
public let errSecInvalidKeyRef: OSStatus = -67712
/// The key attribute mask is not valid.
public let errSecInvalidKeyAttributeMask: OSStatus = -67738
/// An invalid attribute key was encountered.
public let errSecInvalidAttributeKey: OSStatus = -67748
/// A missing attribute key was encountered.
public let errSecMissingAttributeKey: OSStatus = -67749
/// An invalid algorithm was encountered.
public let errSecInvalidAlgorithm: OSStatus = -67747
/// Invalid algorithm parameters were encountered.
public let errSecInvalidAlgorithmParms: OSStatus = -67770
/// An invalid signature was encountered.
public let errSecInvalidSignature: OSStatus = -67688
/// Invalid data was encountered.
public let errSecInvalidData: OSStatus = -67673
/// An input data length error was encountered.
public let errSecInputLengthError: OSStatus = -67724
/// An output data length error was encountered.
public let errSecOutputLengthError: OSStatus = -67725
/// The specified key size is not supported.
public let errSecUnsupportedKeySize: OSStatus = -67735
/// The specified key attribute mask is not supported.
public let errSecUnsupportedKeyAttributeMask: OSStatus = -67739
/// The specified key usage mask is not supported.
public let errSecUnsupportedKeyUsageMask: OSStatus = -67737
/// The key usage mask is incorrect.
public let errSecKeyUsageIncorrect: OSStatus = -67731
/// The key blob type is incorrect.
public let errSecKeyBlobTypeIncorrect: OSStatus = -67732
/// The key header is inconsistent.
public let errSecKeyHeaderInconsistent: OSStatus = -67733
/// An algorithm mismatch occurred.
public let errSecAlgorithmMismatch: OSStatus = -67730
/// Invalid access credentials were encountered.
public let errSecInvalidAccessCredentials: OSStatus = -67700
/// An invalid access control list was encountered.
public let errSecInvalidACL: OSStatus = -67702
/// The specified item has no access control.
public let errSecNoAccessForItem: OSStatus = -25243
/// A memory error has occurred.
public let errSecMemoryError: OSStatus = -67672
/// An internal error has occurred.
public let errSecInternalError: OSStatus = -67671
/// An invalid record was encountered.
public let errSecInvalidRecord: OSStatus = -67701
/// The encoding was not valid.
public let errSecInvalidEncoding: OSStatus = -67853
/// The password reference was invalid.
public let errSecInvalidPasswordRef: OSStatus = -25261
/// An invalid pointer was encountered.
public let errSecInvalidPointer: OSStatus = -67675
/// The record was modified.
public let errSecRecordModified: OSStatus = -67638
/// A function was called without initializing the module.
public let errSecNotInitialized: OSStatus = -67667
/// A function has failed.
public let errSecFunctionFailed: OSStatus = -67677
/// The timestamp was not trusted.
public let errSecTimestampNotTrusted: OSStatus = -67884
/// An invalid context was encountered.
public let errSecInvalidContext: OSStatus = -67746
/// An invalid handle was encountered.
public let errSecInvalidHandle: OSStatus = -67680
/// A verification failure has occurred.
public let errSecVerificationFailure: OSStatus = -67686
/// A conversion error has occurred.
public let errSecConversionError: OSStatus = -67594
/// The database is locked.
public let errSecDatabaseLocked: OSStatus = -67869
/// The data store is open.
public let errSecDatastoreIsOpen: OSStatus = -67870

// Of certificates and their verification.

/// A host name mismatch has occurred.
public let errSecHostNameMismatch: OSStatus = -67602
/// The certificate cannot operate.
public let errSecCertificateCannotOperate: OSStatus = -67817
/// An expired certificate was detected.
public let errSecCertificateExpired: OSStatus = -67818
/// The certificate is not yet valid.
public let errSecCertificateNotValidYet: OSStatus = -67819
/// The certificate was revoked.
public let errSecCertificateRevoked: OSStatus = -67820
/// The certificate was suspended.
public let errSecCertificateSuspended: OSStatus = -67821
/// The certificate authority was not valid.
public let errSecInvalidCertAuthority: OSStatus = -67826
/// The trust policy was not trusted.
public let errSecNotTrusted: OSStatus = -67843
/// One or more certificates required to validate this certificate cannot be found.
public let errSecCreateChainFailed: OSStatus = -25318
/// MAC verification failed during PKCS12 import (wrong password?).
public let errSecPkcs12VerifyFailure: OSStatus = -25264
