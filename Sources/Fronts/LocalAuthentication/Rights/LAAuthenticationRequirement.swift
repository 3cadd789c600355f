public import Foundation
package import Security

/// What a right demands of the user.
public final class LAAuthenticationRequirement: NSObject, Sendable {
    /// The same as an access control says it.
    package let flags: SecAccessControlCreateFlags
    /// The same as a policy: what is shown for it meets ``flags``, for every operation.
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

    /// A finger of the set that is enrolled when the right is saved; the right is lost when the set changes.
    public class var biometryCurrentSet: LAAuthenticationRequirement {
        LAAuthenticationRequirement(.biometryCurrentSet, .deviceOwnerAuthenticationWithBiometrics)
    }

    /// A finger, or something else where that is not possible.
    public class func biometry(fallback: LABiometryFallbackRequirement) -> LAAuthenticationRequirement {
        LAAuthenticationRequirement(fallback.flags, .deviceOwnerAuthentication)
    }

    /// What a saved right demands; nil for an access control that no requirement stands for.
    init?(_ flags: SecAccessControlCreateFlags) {
        let known = [
            Self.default, .biometry, .biometryCurrentSet, .biometry(fallback: .devicePasscode),
        ]
        guard let requirement = known.first(where: { $0.flags == flags }) else { return nil }
        self.flags = flags
        policy = requirement.policy
        super.init()
    }

    /// Two are equal when they demand the same.
    public override func isEqual(_ object: Any?) -> Bool {
        (object as? LAAuthenticationRequirement)?.flags == flags
    }

    /// A hash that equal ones share.
    public override var hash: Int { flags.rawValue.hashValue }
}

/// What a right takes in place of a finger.
public final class LABiometryFallbackRequirement: NSObject, Sendable {
    fileprivate let flags: SecAccessControlCreateFlags

    private init(_ flags: SecAccessControlCreateFlags) {
        self.flags = flags
        super.init()
    }

    /// What the system takes: the passcode.
    public class var `default`: LABiometryFallbackRequirement { LABiometryFallbackRequirement(.userPresence) }

    /// The passcode.
    public class var devicePasscode: LABiometryFallbackRequirement {
        LABiometryFallbackRequirement([.biometryAny, .or, .devicePasscode])
    }

    /// Two are equal when they take the same.
    public override func isEqual(_ object: Any?) -> Bool {
        (object as? LABiometryFallbackRequirement)?.flags == flags
    }

    /// A hash that equal ones share.
    public override var hash: Int { flags.rawValue.hashValue }
}
