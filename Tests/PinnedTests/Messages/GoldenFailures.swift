import KeychainModel

/// Every error in a reply: each status, code, remedy and known cause.
enum GoldenFailures {
    static func all() -> [GoldenMessage] {
        var messages: [GoldenMessage] = statuses.map { name, status in
            .failure("status \(name)", KeychainError(status))
        }
        messages += codes.map { name, code in
            .failure(
                "code \(name)",
                KeychainError(.authFailed, authentication: AuthenticationError(code))
            )
        }
        messages += remedies.map { name, remedy in
            .failure("remedy \(name)", KeychainError(.internalComponent, remedy: remedy))
        }
        for known in KnownCause.allCases {
            messages.append(
                .failure("cause \(known.rawValue)", KeychainError(.notAvailable, cause: DriverCause(known)))
            )
        }
        let error = AuthenticationError(
            .authenticationFailed,
            cause: DriverCause(.owned, detail: "/usr/bin/app: two"),
            remedy: .retry
        )
        messages.append(.failure("every field, with a cause's detail", KeychainError(error)))
        messages.append(
            .failure(
                "a driver's own cause",
                KeychainError(.diskFull, cause: DriverCause(domain: "sqlite", code: "13"))
            )
        )
        return messages
    }

    /// `SecBase.h`'s results; one that is missing here is found by comparing with the source.
    static let statuses: [(String, Status)] = [
        ("success", .success), ("unimplemented", .unimplemented), ("diskFull", .diskFull), ("io", .io),
        ("param", .param), ("allocate", .allocate), ("userCanceled", .userCanceled), ("badReq", .badReq),
        ("internalComponent", .internalComponent), ("notAvailable", .notAvailable), ("readOnly", .readOnly),
        ("authFailed", .authFailed), ("duplicateItem", .duplicateItem), ("itemNotFound", .itemNotFound),
        ("dataTooLarge", .dataTooLarge), ("noSuchAttr", .noSuchAttr), ("noSuchClass", .noSuchClass),
        ("interactionNotAllowed", .interactionNotAllowed), ("interactionRequired", .interactionRequired),
        ("decode", .decode), ("missingEntitlement", .missingEntitlement),
    ]

    static let codes: [(String, AuthenticationError.Code)] = [
        ("authenticationFailed", .authenticationFailed), ("userCancel", .userCancel),
        ("userFallback", .userFallback), ("systemCancel", .systemCancel), ("passcodeNotSet", .passcodeNotSet),
        ("biometryNotAvailable", .biometryNotAvailable), ("biometryNotEnrolled", .biometryNotEnrolled),
        ("biometryLockout", .biometryLockout), ("appCancel", .appCancel), ("invalidContext", .invalidContext),
        ("companionNotAvailable", .companionNotAvailable), ("biometryDisconnected", .biometryDisconnected),
        ("invalidParameter", .invalidParameter), ("notInteractive", .notInteractive),
    ]

    private static let remedies: [(String, Remedy)] = [
        ("retry", .retry), ("usePasscode", .usePasscode), ("enrolFinger", .enrolFinger),
        ("wait", .wait(seconds: 28_800)), ("setPasscode", .setPasscode), ("unlock", .unlock),
        ("recover", .recover), ("provideTerminal", .provideTerminal), ("check", .check),
    ]
}
