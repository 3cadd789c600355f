internal import Foundation
internal import Security

extension AccessRule {
    /// The rule as the access control that the system enforces.
    ///
    /// `requiring` and `reusable` have no flags: this module checks the hardware level before each use, and
    /// ``StoreContext`` measures the age of a prompt. Apple's systems have no sensors graded weak.
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
        var error: Unmanaged<CFError>?
        guard let control = SecAccessControlCreateWithFlags(nil, protection, flags, &error) else {
            let failure = error?.takeRetainedValue()
            throw TouchstoneError(.unsupported, part: "Security", cause: failure.map { "\($0)" })
        }
        return control
    }

    /// When the data can be read, and whether it stays on this device.
    var protection: CFString {
        switch (need, acceptsBackups) {
        case (.afterFirstUnlock, false): kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly
        case (.afterFirstUnlock, true): kSecAttrAccessibleAfterFirstUnlock
        case (.whenUnlocked, false): kSecAttrAccessibleWhenUnlockedThisDeviceOnly
        case (_, true): kSecAttrAccessibleWhenUnlocked
        case (_, false): kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly
        }
    }
}
