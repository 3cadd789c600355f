import KeychainModel

@testable import Touchstone

/// `docs/ERRORS.md`, generated from the tables of the sources.
enum ErrorDocument {
    static var text: String {
        """
        # Errors of the module `Touchstone`

        Every call throws a `TouchstoneError`. `code` says what happened, `nextStep` what can be done, `part` and `cause` what failed
        below, `message()` and `advice()` the same in English, Turkish, Chinese and Japanese. This page is written by
        `Tests/TouchstoneTests`; a test fails where it is not what the sources say.

        ## Codes

        The numbers are those that mean the same elsewhere: `LAError.Code`, `OSStatus`, and androidx.biometric (negative: of
        `BiometricManager`).

        | code | message | next step | LAError | OSStatus | Android |
        |---|---|---|---|---|---|
        \(codes)

        ## Next steps

        | step | advice |
        |---|---|
        \(steps)

        ## Causes

        What the daemon and the client have a name for (`part: cause` of an error), and its code.

        | cause | code |
        |---|---|
        \(causes)

        ## Android

        Each number of `BiometricPrompt` and `BiometricManager` (androidx.biometric 1.4), for who moves code from there.

        | number | code |
        |---|---|
        \(android)

        ## fprintd

        | word | code |
        |---|---|
        \(words)

        """
    }

    /// fprintd's errors, and the verification results that end a prompt.
    static let fprintd = [
        "PermissionDenied", "ClaimDevice", "AlreadyInUse", "NoEnrolledPrints", "NoSuchDevice", "Internal",
        "verify-disconnected", "verify-unknown-error", "ServiceUnknown", "OwnerLost", "UntrustedOwner",
        "NoBus",
        "NoReply", "Suspended", "Cancelled", "verify-retry-scan", "verify-swipe-too-short",
        "verify-finger-not-centered", "verify-remove-and-retry",
    ]

    private static var codes: String {
        ErrorTable.rows.map { row in
            let numbers = [row.laError, row.osStatus, row.android].map { $0.map(String.init) ?? "" }
            let name = "`\(row.code.rawValue)`"
            return
                "| \(([name, TouchstoneError(row.code).message(in: "en"), "`\(row.nextStep.rawValue)`"] + numbers).joined(separator: " | ")) |"
        }
        .joined(separator: "\n")
    }

    private static var steps: String {
        ErrorTable.steps.map { "| `\($0.rawValue)` | \(ErrorTexts.english.advice[$0] ?? "") |" }.joined(
            separator: "\n"
        )
    }

    private static var causes: String {
        KnownCause.allCases.map { "| `\($0.rawValue)` | `\(TouchstoneError.Code($0).rawValue)` |" }
            .joined(separator: "\n")
    }

    private static var android: String {
        (-2...22).compactMap { number in
            TouchstoneError.Code(android: number).map { "| \(number) | `\($0.rawValue)` |" }
        }
        .joined(separator: "\n")
    }

    private static var words: String {
        fprintd.map { word in
            "| `\(word)` | `\(TouchstoneError.Code(fprintd: word)?.rawValue ?? "")` |"
        }
        .joined(separator: "\n")
    }
}
