public import CoreFoundation
public import Foundation
package import KeychainModel

/// When an item is accessible and which authentication it requires.
public final class SecAccessControl: NSObject, CoreFoundationType, @unchecked Sendable {  // immutable
    /// The access control in the keychain's model.
    package let accessControl: AccessControl

    package init(_ accessControl: AccessControl) {
        self.accessControl = accessControl
        super.init()
    }

    /// `SecAccessControlGetTypeID`.
    public static var coreFoundationTypeID: CFTypeID { SecAccessControlGetTypeID() }

    /// Compares the access controls.
    public override func isEqual(_ object: Any?) -> Bool {
        (object as? SecAccessControl)?.accessControl == accessControl
    }

    /// A hash consistent with `isEqual(_:)`.
    public override var hash: Int { accessControl.hashValue }

    /// A description of the access control, for debugging.
    public override var description: String {
        let demands = accessControl.constraints.map { "\($0)" }
        let joint = accessControl.combination == .any ? " or " : " and "
        let password = accessControl.needsApplicationPassword ? ["applicationPassword"] : []
        let rules = demands.isEmpty ? [] : [demands.joined(separator: joint)]
        let parts = ["\(accessControl.accessibility)"] + rules + password
        return "<SecAccessControlRef: \(parts.joined(separator: ", "))>"
    }
}

/// `SecAccessControlGetTypeID`: a number that no type of Core Foundation itself has.
public func SecAccessControlGetTypeID() -> CFTypeID { 0x101 }

/// `SecAccessControlCreateWithFlags`: returns nil and an error for contradictory flags or an unknown protection.
///
/// `protection` is one of the `kSecAttrAccessible…` constants. The error is `errSecParam`, as for
/// ``SecAccessControlCreateFlags/or`` together with ``SecAccessControlCreateFlags/and``, for both biometry flags,
/// and for ``SecAccessControlCreateFlags/userPresence`` with flags other than application password or private key
/// usage.
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
        let flags = AccessControlFlags(rawValue: UInt64(flags.rawValue))
        // Not one of Apple's.
        guard !flags.contains(.strongSensor) else { throw .param("unknown flags") }
        let accessControl = try AccessControl(accessibility: accessibility, flags: flags)
        return SecAccessControl(accessControl)
    } catch let failure {
        error?.pointee = Unmanaged.passRetained(NSError(failure))
        return nil
    }
}
