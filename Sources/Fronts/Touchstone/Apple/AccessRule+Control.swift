internal import Foundation
internal import Security

extension AccessRule {
    /// The rule as the system has it.
    ///
    /// `requiring` and `reusable` are not in the flags: the level is looked at before each use, and the age of a prompt is
    /// counted by ``StoreContext``. The system knows no weak sensors.
    func control(forKey isKey: Bool = false) throws(TouchstoneError) -> SecAccessControl {
        let finger: SecAccessControlCreateFlags = acceptsLaterEnrolments ? .biometryAny : .biometryCurrentSet
        var flags: SecAccessControlCreateFlags =
            switch need {
            case .biometry: finger
            case .biometryOrPasscode: [finger, .or, .devicePasscode]
            case .passcode: .devicePasscode
            case .biometryAndPasscode: [finger, .and, .devicePasscode]
            case .whenUnlocked, .afterFirstUnlock: []
            }
        if isKey { flags.insert(.privateKeyUsage) }
        let protection =
            switch need {
            case .afterFirstUnlock: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly
            case .whenUnlocked: kSecAttrAccessibleWhenUnlockedThisDeviceOnly
            default: kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly
            }
        var error: Unmanaged<CFError>?
        guard let control = SecAccessControlCreateWithFlags(nil, protection, flags, &error) else {
            let failure = error?.takeRetainedValue()
            throw TouchstoneError(.unsupported, part: "Security", cause: failure.map { "\($0)" })
        }
        return control
    }
}
