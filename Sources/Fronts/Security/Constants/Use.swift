public import CoreFoundation

// Options of an operation.
//
// String values as in Apple's published `SecItemConstants.c`. `nonisolated(unsafe)` because `NSString` is not
// Sendable; these never change.

/// Fails with `errSecUnimplemented`, as on iOS.
nonisolated(unsafe) public let kSecUseItemList: CFString = "u_ItemList"
/// Deprecated: the reason shown in a prompt.
nonisolated(unsafe) public let kSecUseOperationPrompt: CFString = "u_OpPrompt"
/// Deprecated: whether operations that need a prompt fail.
nonisolated(unsafe) public let kSecUseNoAuthenticationUI: CFString = "u_NoAuthUI"
/// What to do if a prompt is needed: one of the `kSecUseAuthenticationUI…` values.
nonisolated(unsafe) public let kSecUseAuthenticationUI: CFString = "u_AuthUI"
/// The `LAContext` for the operation.
nonisolated(unsafe) public let kSecUseAuthenticationContext: CFString = "u_AuthCtx"
/// Has no effect: there is only one keychain.
nonisolated(unsafe) public let kSecUseDataProtectionKeychain: CFString = "nleg"
/// Fails with `errSecUnimplemented`.
nonisolated(unsafe) public let kSecUseUserIndependentKeychain: CFString = "u_UserIndependentKeychain"
/// Shows the prompt; the default.
nonisolated(unsafe) public let kSecUseAuthenticationUIAllow: CFString = "u_AuthUIA"
/// Fails with `errSecInteractionNotAllowed`.
nonisolated(unsafe) public let kSecUseAuthenticationUIFail: CFString = "u_AuthUIF"
/// Omits items that need a prompt; for `SecItemCopyMatching` only.
nonisolated(unsafe) public let kSecUseAuthenticationUISkip: CFString = "u_AuthUIS"
