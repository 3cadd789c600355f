import ArgumentParser
import KeychainModel

/// The authentication that releasing a secret requires.
enum Requirement: String, ExpressibleByArgument, CaseIterable {
    /// One of the fingers that were enrolled when the secret was stored.
    case finger
    /// The passcode, each time.
    case passcode
    /// A finger or the passcode.
    case either
    /// Nothing, as long as the keychain is unlocked.
    case nothing = "none"

    private var flags: AccessControlFlags {
        switch self {
        case .finger: .biometryCurrentSet
        case .passcode: .devicePasscode
        case .either: .userPresence
        case .nothing: []
        }
    }

    /// The access control to store a secret with.
    func accessControl() throws(KeychainError) -> AccessControl {
        try AccessControl(accessibility: .whenUnlocked, flags: flags)
    }

    /// The access control to create a private key with.
    func keyAccessControl() throws(KeychainError) -> AccessControl {
        guard !flags.isEmpty else { return AccessControl(accessibility: .whenUnlockedThisDeviceOnly) }
        return try AccessControl(
            accessibility: .whenUnlockedThisDeviceOnly,
            flags: flags.union(.privateKeyUsage)
        )
    }

    /// The requirement for an access control; nil for those of other programs.
    init?(_ accessControl: AccessControl) {
        guard let match = Self.allCases.first(where: { $0.flags == accessControl.flags }) else { return nil }
        self = match
    }
}

extension AccessControl {
    /// The place in the order in which secrets are released together: what the first ones require covers the later ones.
    var releaseOrder: Int {
        switch Requirement(self) {
        case nil: 0
        case .finger: 1
        case .passcode: 2
        case .either: 3
        case .nothing: 4
        }
    }

    /// One word for lists: a ``Requirement``, or the names of the constraints.
    var requirementName: String {
        if let requirement = Requirement(self) { return requirement.rawValue }
        var names = constraints.map { String(describing: $0) }
        if needsApplicationPassword { names.append("applicationPassword") }
        return names.joined(separator: combination == .any ? "|" : "+")
    }

    /// A sentence for users.
    var requirementSentence: String {
        switch Requirement(self) {
        case .finger: "a finger of those enrolled when it was stored"
        case .passcode: "the passcode, each time"
        case .either: "a finger or the passcode"
        case .nothing: "nothing, while the keychain is unlocked"
        case nil: requirementName
        }
    }
}
