public import Foundation

/// `CFErrorGetCode`.
public func CFErrorGetCode(_ err: CFError!) -> CFIndex { err.code }

/// `CFErrorGetDomain`.
public func CFErrorGetDomain(_ err: CFError!) -> CFString! { err.domain as NSString }

/// `CFErrorCopyDescription`: the localized description.
public func CFErrorCopyDescription(_ err: CFError!) -> CFString! { err.localizedDescription as NSString }

/// `CFErrorCopyFailureReason`.
public func CFErrorCopyFailureReason(_ err: CFError!) -> CFString! { err.localizedFailureReason as NSString? }

/// `CFErrorCopyRecoverySuggestion`.
public func CFErrorCopyRecoverySuggestion(_ err: CFError!) -> CFString! {
    err.localizedRecoverySuggestion as NSString?
}

/// `CFErrorCopyUserInfo`.
public func CFErrorCopyUserInfo(_ err: CFError!) -> CFDictionary! { err.userInfo as NSDictionary }

/// `CFErrorCreate`.
public func CFErrorCreate(
    _ allocator: CFAllocator!,
    _ domain: CFString!,
    _ code: CFIndex,
    _ userInfo: CFDictionary!
) -> CFError! {
    NSError(domain: domain as String, code: code, userInfo: userInfo as? [String: Any] ?? [:])
}
