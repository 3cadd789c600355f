public import Foundation
package import Security

/// The authentication that a right requires.
public final class LAAuthenticationRequirement: NSObject, Sendable {
    /// The requirement as flags of an access control.
    package let flags: SecAccessControlCreateFlags
    /// The requirement as a policy: evaluating it satisfies ``flags``, for every operation.
    let policy: LAPolicy

    private init(_ flags: SecAccessControlCreateFlags, _ policy: LAPolicy) {
        self.flags = flags
        self.policy = policy
        super.init()
    }

    /// A finger or the passcode.
    public class var `default`: LAAuthenticationRequirement {
        LAAuthenticationRequirement(.userPresence, .deviceOwnerAuthentication)
    }

    /// A finger.
    public class var biometry: LAAuthenticationRequirement {
        LAAuthenticationRequirement(.biometryAny, .deviceOwnerAuthenticationWithBiometrics)
    }

    /// A finger of the set that is enrolled when the right is saved; the right is invalidated when the set
    /// changes.
    public class var biometryCurrentSet: LAAuthenticationRequirement {
        LAAuthenticationRequirement(.biometryCurrentSet, .deviceOwnerAuthenticationWithBiometrics)
    }

    /// A finger, or the fallback if biometry is not possible.
    public class func biometry(fallback: LABiometryFallbackRequirement) -> LAAuthenticationRequirement {
        LAAuthenticationRequirement(fallback.flags, .deviceOwnerAuthentication)
    }

    /// The requirement of a saved right; nil for flags that match no requirement.
    init?(_ flags: SecAccessControlCreateFlags) {
        let known = [
            Self.default, .biometry, .biometryCurrentSet, .biometry(fallback: .devicePasscode),
        ]
        guard let requirement = known.first(where: { $0.flags == flags }) else { return nil }
        self.flags = flags
        policy = requirement.policy
        super.init()
    }

    /// Compares the flags.
    public override func isEqual(_ object: Any?) -> Bool {
        (object as? LAAuthenticationRequirement)?.flags == flags
    }

    /// A hash consistent with `isEqual(_:)`.
    public override var hash: Int { flags.rawValue.hashValue }
}

/// The fallback that a right accepts in place of biometry.
public final class LABiometryFallbackRequirement: NSObject, Sendable {
    fileprivate let flags: SecAccessControlCreateFlags

    private init(_ flags: SecAccessControlCreateFlags) {
        self.flags = flags
        super.init()
    }

    /// The system's default: the passcode.
    public class var `default`: LABiometryFallbackRequirement { LABiometryFallbackRequirement(.userPresence) }

    /// The passcode.
    public class var devicePasscode: LABiometryFallbackRequirement {
        LABiometryFallbackRequirement([.biometryAny, .or, .devicePasscode])
    }

    /// Compares the flags.
    public override func isEqual(_ object: Any?) -> Bool {
        (object as? LABiometryFallbackRequirement)?.flags == flags
    }

    /// A hash consistent with `isEqual(_:)`.
    public override var hash: Int { flags.rawValue.hashValue }
}
