internal import KeychainModel

extension AccessRule {
    /// The rule as the daemon has it: Apple's flags.
    ///
    /// `acceptingWeakBiometry`, `requiring` and `reusable` are not in the flags: the sensor's grade and the level are looked at
    /// before each use, and the age of a prompt is counted by ``StoreContext``.
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
        if isKey { flags.insert(.privateKeyUsage) }
        let accessibility: Accessibility =
            switch need {
            case .afterFirstUnlock: .afterFirstUnlockThisDeviceOnly
            case .whenUnlocked: .whenUnlockedThisDeviceOnly
            default: .whenPasscodeSetThisDeviceOnly
            }
        return try AccessControl(accessibility: accessibility, flags: flags)
    }

    /// Whether these factors are what it demands.
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
