import KeychainModel

/// Why a secret could not be bound to the enrolled fingers, and what to do about it.
extension ErrorText {
    /// Describes why a secret was not stored.
    static func describe(_ error: KeychainError, storing name: ItemName, _ rule: AccessControl)
        -> CommandError
    {
        guard rule.bindsCurrentSet, let (reason, hint) = obstacle(error) else {
            return describe(error, name: name)
        }
        return CommandError(
            "'\(name.text)' was not stored: only an enrolled finger could read it, and \(reason)",
            hint: hint,
            exitCode: .notAvailable
        )
    }

    private static func obstacle(_ error: KeychainError) -> (reason: String, hint: String)? {
        switch error.authentication?.code {
        case .biometryNotEnrolled?:
            ("none is enrolled", "enrol one with fprintd-enroll, or say --require either")
        case .biometryNotAvailable? where error.cause?.code == "PermissionDenied":
            (
                "polkit does not let this user use the sensor",
                "allow net.reactivated.fprint.device.verify (touchstone doctor), or say --require either"
            )
        case .biometryNotAvailable?, .biometryDisconnected?:
            (
                "the sensor cannot be used\(error.cause.map { " (\($0.domain): \($0.code))" } ?? "")",
                "touchstone doctor says more; or say --require either"
            )
        default: nil
        }
    }
}
