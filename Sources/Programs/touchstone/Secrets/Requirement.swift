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
    /// Nothing, as long as the secret is readable (``Readability``).
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
    func accessControl(_ accessibility: Accessibility) throws(KeychainError) -> AccessControl {
        try AccessControl(accessibility: accessibility, flags: flags)
    }

    /// The access control to create a private key with, which never leaves this machine.
    func keyAccessControl(_ readability: Readability = .unlocked) throws(KeychainError) -> AccessControl {
        let accessibility: Accessibility =
            switch readability {
            case .unlocked: .whenUnlockedThisDeviceOnly
            case .firstUnlock: .afterFirstUnlockThisDeviceOnly
            }
        guard !flags.isEmpty else { return AccessControl(accessibility: accessibility) }
        return try AccessControl(accessibility: accessibility, flags: flags.union(.privateKeyUsage))
    }

    /// The requirement for an access control of a secret or a key; nil for those of other programs.
    init?(_ accessControl: AccessControl) {
        let flags = accessControl.flags.subtracting(.privateKeyUsage)
        guard let match = Self.allCases.first(where: { $0.flags == flags }) else { return nil }
        self = match
    }

    /// Reads a word of the command line; `presence` is another word for `either`.
    init?(argument: String) {
        self.init(rawValue: argument == "presence" ? Self.either.rawValue : argument)
    }
}

/// When a secret is readable, besides what it requires.
enum Readability: String, ExpressibleByArgument, CaseIterable {
    /// While the keychain is unlocked.
    case unlocked
    /// Also while it is locked again, until the daemon ends: for what runs at night.
    case firstUnlock = "first-unlock"

    /// The value to store a secret with.
    var accessibility: Accessibility {
        switch self {
        case .unlocked: .whenUnlocked
        case .firstUnlock: .afterFirstUnlock
        }
    }

    init(_ accessibility: Accessibility) {
        self = accessibility.classKey.survivesLock ? .firstUnlock : .unlocked
    }

    /// The value that replaces a former one; a secret that is excluded from exports stays excluded.
    func accessibility(inPlaceOf former: Accessibility) -> Accessibility {
        guard Readability(former) != self else { return former }
        return switch former {
        case .whenUnlocked, .afterFirstUnlock, .always: accessibility
        case .whenUnlockedThisDeviceOnly, .whenPasscodeSetThisDeviceOnly: .afterFirstUnlockThisDeviceOnly
        case .afterFirstUnlockThisDeviceOnly, .alwaysThisDeviceOnly: .whenUnlockedThisDeviceOnly
        }
    }

    /// The help for options.
    static let help: ArgumentHelp =
        "When it can be read: unlocked, or first-unlock, also while the keychain is locked again, until the daemon ends."
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

    /// ``requirementName``, with ``Readability`` if that is not the usual one.
    var ruleName: String {
        let readability = Readability(accessibility)
        return readability == .unlocked ? requirementName : "\(requirementName), \(readability.rawValue)"
    }

    /// A sentence for users.
    var requirementSentence: String {
        switch Requirement(self) {
        case .finger: "a finger of those enrolled when it was stored"
        case .passcode: "the passcode, each time"
        case .either: "a finger or the passcode"
        case .nothing: "nothing"
        case nil: requirementName
        }
    }
}
