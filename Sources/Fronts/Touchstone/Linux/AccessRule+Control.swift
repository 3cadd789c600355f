internal import KeychainModel

extension AccessRule {
    /// The rule as the access control that the daemon enforces: Apple's flags, and ``AccessControlFlags/strongSensor`` unless the
    /// rule is `acceptingWeakBiometry`.
    ///
    /// `requiring` and `reusable` have no flags: this module checks the hardware level before each use, and ``StoreContext``
    /// measures the age of a prompt.
    func control(forKey isKey: Bool = false) throws(KeychainError) -> AccessControl {
        let finger: AccessControlFlags = acceptsLaterEnrolments ? .biometryAny : .biometryCurrentSet
        var flags: AccessControlFlags =
            switch need {
            case .biometry: finger
            case .biometryOrPasscode: [finger, .or, .devicePasscode]
            case .passcode: .devicePasscode
            case .biometryAndPasscode: [finger, .and, .devicePasscode]
            case .whenUnlocked, .afterFirstUnlock: []
            }
        if wantsStrongSensor { flags.insert(.strongSensor) }
        if isKey { flags.insert(.privateKeyUsage) }
        let accessibility: Accessibility =
            switch (need, acceptsBackups) {
            case (.afterFirstUnlock, false): .afterFirstUnlockThisDeviceOnly
            case (.afterFirstUnlock, true): .afterFirstUnlock
            case (.whenUnlocked, false): .whenUnlockedThisDeviceOnly
            case (_, true): .whenUnlocked
            case (_, false): .whenPasscodeSetThisDeviceOnly
            }
        return try AccessControl(accessibility: accessibility, flags: flags)
    }

    /// Whether the factors meet the rule.
    func isMet(by factors: Set<AuthenticationFactor>) -> Bool {
        switch need {
        case .biometry: factors.contains(.biometry)
        case .biometryOrPasscode: !factors.isEmpty
        case .passcode: factors.contains(.passcode)
        case .biometryAndPasscode: factors.isSuperset(of: [.biometry, .passcode])
        case .whenUnlocked, .afterFirstUnlock: true
        }
    }
}
