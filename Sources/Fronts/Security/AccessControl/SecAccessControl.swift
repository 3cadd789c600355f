public import CoreFoundation
public import Foundation
package import KeychainModel

/// When an item can be read and what its user must show.
public final class SecAccessControl: NSObject, CoreFoundationType, @unchecked Sendable {  // immutable
    /// The rules, as the keychain knows them.
    package let accessControl: AccessControl

    package init(_ accessControl: AccessControl) {
        self.accessControl = accessControl
        super.init()
    }

    /// `SecAccessControlGetTypeID`.
    public static var coreFoundationTypeID: CFTypeID { SecAccessControlGetTypeID() }

    /// Two are equal when they demand the same.
    public override func isEqual(_ object: Any?) -> Bool {
        (object as? SecAccessControl)?.accessControl == accessControl
    }

    /// A hash that equal ones share.
    public override var hash: Int { accessControl.hashValue }

    /// The rules in words, for people who debug.
    public override var description: String {
        let demands = accessControl.constraints.map { "\($0)" }
        let joint = accessControl.combination == .any ? " or " : " and "
        let password = accessControl.needsApplicationPassword ? ["applicationPassword"] : []
        let rules = demands.isEmpty ? [] : [demands.joined(separator: joint)]
        let parts = ["\(accessControl.accessibility)"] + rules + password
        return "<SecAccessControlRef: \(parts.joined(separator: ", "))>"
    }
}

/// `SecAccessControlGetTypeID`: a number that none of Core Foundation's own types has.
public func SecAccessControlGetTypeID() -> CFTypeID { 0x101 }

/// `SecAccessControlCreateWithFlags`: nil and an error for contradictory flags or an unknown protection.
///
/// `protection` is one of the `kSecAttrAccessible…` constants. The error is `errSecParam`, as for
/// ``SecAccessControlCreateFlags/or`` together with ``SecAccessControlCreateFlags/and``, both biometry flags, and
/// ``SecAccessControlCreateFlags/userPresence`` with anything but an application password or private key usage.
public func SecAccessControlCreateWithFlags(
    _ allocator: CFAllocator?,
    _ protection: Any,
    _ flags: SecAccessControlCreateFlags,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> SecAccessControl? {
    do throws(KeychainError) {
        guard let name = protection as? String, let accessibility = Accessibility(rawValue: name) else {
            throw .param("unknown protection")
        }
        let accessControl = try AccessControl(
            accessibility: accessibility,
            flags: AccessControlFlags(rawValue: UInt64(flags.rawValue))
        )
        return SecAccessControl(accessControl)
    } catch let failure {
        error?.pointee = Unmanaged.passRetained(NSError(failure))
        return nil
    }
}
