/// The corresponding numbers of other systems and the next step for each code.
///
/// `docs/ERRORS.md` shows this table. Apple's numbers are from `LAError.h`, `LAPublicDefines.h` and `SecBase.h`;
/// Android's are from androidx.biometric: positive ones from `BiometricPrompt.ERROR_…`, negative ones from
/// `BiometricManager`.
enum ErrorTable {
    struct Row: Sendable {
        let code: TouchstoneError.Code
        let laError: Int?
        let osStatus: Int?
        let android: Int?
        let nextStep: TouchstoneError.NextStep

        init(
            _ code: TouchstoneError.Code,
            _ laError: Int?,
            _ osStatus: Int?,
            _ android: Int?,
            _ nextStep: TouchstoneError.NextStep
        ) {
            self.code = code
            self.laError = laError
            self.osStatus = osStatus
            self.android = android
            self.nextStep = nextStep
        }
    }

    /// One row for each code, in the order of their declarations.
    static let rows: [Row] = [
        Row(.userCancelled, -2, -128, 10, .retry),
        Row(.fallbackChosen, -3, -25293, 13, .usePasscode),
        Row(.systemCancelled, -4, -25293, 5, .retry),
        Row(.taskCancelled, -9, -25293, 5, .retry),
        Row(.timedOut, -4, -25293, 3, .retry),
        Row(.notMatched, -1, -25293, 2, .retry),
        Row(.lockedOut, -8, -25293, 7, .wait),
        Row(.lockedOutUntilPasscode, -8, -25293, 9, .usePasscode),
        Row(.interactionNeeded, -1004, -25308, nil, .retry),
        Row(.noPromptPlace, -1004, -25308, nil, .askForHelp),
        Row(.proofEnded, -10, -25293, nil, .retry),
        Row(.throttled, -4, -25293, nil, .wait),
        Row(.passcodeNotSet, -5, -25291, 14, .setPasscode),
        Row(.noHardware, -6, -25291, 12, .usePasscode),
        Row(.hardwareUnavailable, -6, -25291, 1, .retry),
        Row(.disconnected, -13, -25291, 1, .retry),
        Row(.notEnrolled, -7, -25293, 11, .enrol),
        Row(.sensorTooWeak, -6, -25291, 12, .usePasscode),
        Row(.sensorUnsafe, -6, -25291, 15, .usePasscode),
        Row(.biometryOff, -6, -25291, 21, .usePasscode),
        Row(.notFound, nil, -25300, nil, .setUpAgain),
        Row(.alreadyExists, nil, -25299, nil, .askForHelp),
        Row(.locked, -1004, -25308, nil, .unlock),
        Row(.invalidated, nil, -25300, nil, .setUpAgain),
        Row(.deleted, nil, -25300, nil, .setUpAgain),
        Row(.notYetValid, nil, -25291, nil, .wait),
        Row(.expired, nil, -25300, nil, .setUpAgain),
        Row(.usedUp, nil, -25300, nil, .setUpAgain),
        Row(.damaged, nil, -26275, nil, .recover),
        Row(.ruleMismatch, nil, -50, nil, .askForHelp),
        Row(.typeMismatch, nil, -26275, nil, .askForHelp),
        Row(.limitExceeded, -1001, -25302, nil, .askForHelp),
        Row(.updateNeeded, nil, -25291, nil, .install),
        Row(.unsupported, -11, -4, -2, .askForHelp),
        Row(.denied, -6, -34018, nil, .askForHelp),
        Row(.diskFull, nil, -34, 4, .askForHelp),
        Row(.storeFull, nil, -34, 4, .askForHelp),
        Row(.readOnly, nil, -25292, nil, .askForHelp),
        Row(.serviceMissing, -6, -25291, -1, .install),
        Row(.serviceFailed, -4, -2070, 8, .retry),
        Row(.hardwareTooWeak, nil, -25291, nil, .askForHelp),
        Row(.hardwareLockedOut, -8, -25293, 7, .wait),
        Row(.hardwareChanged, nil, -25291, nil, .recover),
        Row(.unreachable, nil, nil, nil, .retry),
        Row(.untrustedServer, nil, nil, nil, .askForHelp),
        Row(.badReply, nil, nil, nil, .askForHelp),
        Row(.refused, nil, nil, nil, .askForHelp),
        Row(.wrongPassword, nil, nil, nil, .retry),
        Row(.deviceRevoked, nil, nil, nil, .setUpAgain),
        Row(.signatureRefused, nil, nil, nil, .retry),
        Row(.sessionEnded, nil, nil, nil, .setUpAgain),
        Row(.stepUpNeeded, nil, nil, nil, .retry),
        Row(.replayed, nil, nil, nil, .retry),
    ]

    /// All steps, in the order of their declarations.
    static let steps: [TouchstoneError.NextStep] = [
        .retry, .wait, .usePasscode, .enrol, .setPasscode, .unlock, .setUpAgain, .recover, .install,
        .askForHelp,
    ]

    private static let byCode = Dictionary(uniqueKeysWithValues: rows.map { ($0.code, $0) })

    /// The row of a code; for a code unknown to this version, a row without numbers.
    static func row(of code: TouchstoneError.Code) -> Row {
        byCode[code] ?? Row(code, nil, nil, nil, .askForHelp)
    }
}

extension TouchstoneError.Code {
    /// The code for a number of `LAError.Code`; nil for an unknown number.
    init?(laError: Int) {
        switch laError {
        case -1: self = .notMatched
        case -2: self = .userCancelled
        case -3: self = .fallbackChosen
        case -4: self = .systemCancelled
        case -5: self = .passcodeNotSet
        case -6: self = .hardwareUnavailable
        case -7: self = .notEnrolled
        case -8: self = .lockedOutUntilPasscode
        case -9: self = .taskCancelled
        case -10: self = .proofEnded
        case -11: self = .unsupported
        // biometryNotPaired, biometryDisconnected
        case -12, -13: self = .disconnected
        // invalidDimensions: a view of a wrong size, which this module does not have.
        case -14: self = .unsupported
        case -1001: self = .limitExceeded
        case -1004: self = .interactionNeeded
        default: return nil
        }
    }

    /// The code for a number of androidx.biometric (1.4): an error of `BiometricPrompt`, or a status of `BiometricManager`, which has the
    /// same numbers and three of its own; nil for success and for an unknown number.
    init?(android: Int) {
        switch android {
        case 1: self = .hardwareUnavailable
        case 2: self = .notMatched
        case 3: self = .timedOut
        case 4: self = .diskFull
        case 5: self = .systemCancelled
        case 7: self = .lockedOut
        case 8: self = .serviceFailed
        case 9: self = .lockedOutUntilPasscode
        case 10: self = .userCancelled
        case 11: self = .notEnrolled
        case 12: self = .noHardware
        // ERROR_NEGATIVE_BUTTON, and ERROR_CONTENT_VIEW_MORE_OPTIONS_BUTTON, which leads to the app's own choices too.
        case 13, 22: self = .fallbackChosen
        case 14: self = .passcodeNotSet
        case 15: self = .sensorUnsafe
        // BIOMETRIC_ERROR_IDENTITY_CHECK_NOT_ACTIVE, for an app that demands stricter rules than this system has; BIOMETRIC_ERROR_UNSUPPORTED.
        case 20, -2: self = .unsupported
        case 21: self = .biometryOff
        // BIOMETRIC_STATUS_UNKNOWN
        case -1: self = .serviceMissing
        default: return nil
        }
    }

    /// The code for an `OSStatus` of the keychain; nil for success and for an unknown status.
    init?(osStatus: Int) {
        switch osStatus {
        // errSecUnimplemented, errSecNoSuchAttr, errSecNoSuchClass
        case -4, -25303, -25306: self = .unsupported
        case -34: self = .diskFull
        // errSecParam, errSecBadReq, errSecDataTooLarge
        case -50, -909, -25302: self = .limitExceeded
        // errSecIO, errSecAllocate, errSecInternalComponent
        case -36, -108, -2070: self = .serviceFailed
        case -128: self = .userCancelled
        case -25291: self = .serviceMissing
        case -25292: self = .readOnly
        case -25293: self = .notMatched
        case -25299: self = .alreadyExists
        case -25300: self = .notFound
        // errSecInteractionNotAllowed, errSecInteractionRequired
        case -25308, -25315: self = .interactionNeeded
        case -26275: self = .damaged
        case -34018: self = .denied
        default: return nil
        }
    }
}
