import KeychainModel

/// Why a secret could not be bound to the enrolled fingers, and what to do about it.
extension ErrorText {
    /// Describes why a secret was not stored.
    static func describe(_ error: KeychainError, storing name: ItemName, _ rule: AccessControl)
        -> CommandError
    {
        guard rule.bindsCurrentSet,
            let unbound = unbound(
                error,
                "'\(name.text)' was not stored: only an enrolled finger could read it",
                otherwise: "say --require either"
            )
        else { return describe(error, name: name) }
        return unbound
    }

    /// Describes why the requirement of secrets was not changed to a finger; nil for another reason.
    static func describeUnbound(_ error: KeychainError, count: Int) -> CommandError? {
        unbound(
            error,
            "nothing was changed: only an enrolled finger could read \(count == 1 ? "it" : "them")",
            otherwise: "require either"
        )
    }

    private static func unbound(_ error: KeychainError, _ effect: String, otherwise: String) -> CommandError?
    {
        obstacle(error, otherwise).map { reason, hint in
            CommandError("\(effect), and \(reason)", hint: hint, exitCode: .notAvailable)
        }
    }

    private static func obstacle(_ error: KeychainError, _ otherwise: String) -> (
        reason: String, hint: String
    )? {
        switch error.authentication?.code {
        case .biometryNotEnrolled?:
            ("none is enrolled", "enrol one with fprintd-enroll, or \(otherwise)")
        case .biometryNotAvailable? where error.cause?.code == "PermissionDenied":
            (
                "polkit does not let this user use the sensor",
                "allow net.reactivated.fprint.device.verify (touchstone doctor), or \(otherwise)"
            )
        case .biometryNotAvailable?, .biometryDisconnected?:
            (
                "the sensor cannot be used\(error.cause.map { " (\($0.domain): \($0.code))" } ?? "")",
                "touchstone doctor says more; or \(otherwise)"
            )
        default: nil
        }
    }
}
