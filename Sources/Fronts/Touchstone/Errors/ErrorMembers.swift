/// Each code as an error, for `catch .notFound` and `error == .userCancelled`: `==` compares codes alone.
///
/// ```swift
/// do { token = try await store.read("token") } catch .notFound {
///     signIn()
/// }
/// ```
extension TouchstoneError {
    // MARK: The prompt

    /// An error with the code ``Code/userCancelled``.
    public static var userCancelled: TouchstoneError { TouchstoneError(Code.userCancelled) }
    /// An error with the code ``Code/fallbackChosen``.
    public static var fallbackChosen: TouchstoneError { TouchstoneError(Code.fallbackChosen) }
    /// An error with the code ``Code/systemCancelled``.
    public static var systemCancelled: TouchstoneError { TouchstoneError(Code.systemCancelled) }
    /// An error with the code ``Code/taskCancelled``.
    public static var taskCancelled: TouchstoneError { TouchstoneError(Code.taskCancelled) }
    /// An error with the code ``Code/timedOut``.
    public static var timedOut: TouchstoneError { TouchstoneError(Code.timedOut) }
    /// An error with the code ``Code/notMatched``.
    public static var notMatched: TouchstoneError { TouchstoneError(Code.notMatched) }
    /// An error with the code ``Code/lockedOut``.
    public static var lockedOut: TouchstoneError { TouchstoneError(Code.lockedOut) }
    /// An error with the code ``Code/lockedOutUntilPasscode``.
    public static var lockedOutUntilPasscode: TouchstoneError { TouchstoneError(Code.lockedOutUntilPasscode) }
    /// An error with the code ``Code/interactionNeeded``.
    public static var interactionNeeded: TouchstoneError { TouchstoneError(Code.interactionNeeded) }
    /// An error with the code ``Code/noPromptPlace``.
    public static var noPromptPlace: TouchstoneError { TouchstoneError(Code.noPromptPlace) }
    /// An error with the code ``Code/proofEnded``.
    public static var proofEnded: TouchstoneError { TouchstoneError(Code.proofEnded) }
    /// An error with the code ``Code/throttled``.
    public static var throttled: TouchstoneError { TouchstoneError(Code.throttled) }

    // MARK: Sensor and passcode

    /// An error with the code ``Code/passcodeNotSet``.
    public static var passcodeNotSet: TouchstoneError { TouchstoneError(Code.passcodeNotSet) }
    /// An error with the code ``Code/noHardware``.
    public static var noHardware: TouchstoneError { TouchstoneError(Code.noHardware) }
    /// An error with the code ``Code/hardwareUnavailable``.
    public static var hardwareUnavailable: TouchstoneError { TouchstoneError(Code.hardwareUnavailable) }
    /// An error with the code ``Code/disconnected``.
    public static var disconnected: TouchstoneError { TouchstoneError(Code.disconnected) }
    /// An error with the code ``Code/notEnrolled``.
    public static var notEnrolled: TouchstoneError { TouchstoneError(Code.notEnrolled) }
    /// An error with the code ``Code/sensorTooWeak``.
    public static var sensorTooWeak: TouchstoneError { TouchstoneError(Code.sensorTooWeak) }
    /// An error with the code ``Code/sensorUnsafe``.
    public static var sensorUnsafe: TouchstoneError { TouchstoneError(Code.sensorUnsafe) }
    /// An error with the code ``Code/biometryOff``.
    public static var biometryOff: TouchstoneError { TouchstoneError(Code.biometryOff) }

    // MARK: Items and keys

    /// An error with the code ``Code/notFound``.
    public static var notFound: TouchstoneError { TouchstoneError(Code.notFound) }
    /// An error with the code ``Code/alreadyExists``.
    public static var alreadyExists: TouchstoneError { TouchstoneError(Code.alreadyExists) }
    /// An error with the code ``Code/locked``.
    public static var locked: TouchstoneError { TouchstoneError(Code.locked) }
    /// An error with the code ``Code/invalidated``.
    public static var invalidated: TouchstoneError { TouchstoneError(Code.invalidated) }
    /// An error with the code ``Code/deleted``.
    public static var deleted: TouchstoneError { TouchstoneError(Code.deleted) }
    /// An error with the code ``Code/notYetValid``.
    public static var notYetValid: TouchstoneError { TouchstoneError(Code.notYetValid) }
    /// An error with the code ``Code/expired``.
    public static var expired: TouchstoneError { TouchstoneError(Code.expired) }
    /// An error with the code ``Code/usedUp``.
    public static var usedUp: TouchstoneError { TouchstoneError(Code.usedUp) }
    /// An error with the code ``Code/damaged``.
    public static var damaged: TouchstoneError { TouchstoneError(Code.damaged) }
    /// An error with the code ``Code/ruleMismatch``.
    public static var ruleMismatch: TouchstoneError { TouchstoneError(Code.ruleMismatch) }
    /// An error with the code ``Code/typeMismatch``.
    public static var typeMismatch: TouchstoneError { TouchstoneError(Code.typeMismatch) }
    /// An error with the code ``Code/limitExceeded``.
    public static var limitExceeded: TouchstoneError { TouchstoneError(Code.limitExceeded) }

    // MARK: The system

    /// An error with the code ``Code/updateNeeded``.
    public static var updateNeeded: TouchstoneError { TouchstoneError(Code.updateNeeded) }
    /// An error with the code ``Code/unsupported``.
    public static var unsupported: TouchstoneError { TouchstoneError(Code.unsupported) }
    /// An error with the code ``Code/denied``.
    public static var denied: TouchstoneError { TouchstoneError(Code.denied) }
    /// An error with the code ``Code/diskFull``.
    public static var diskFull: TouchstoneError { TouchstoneError(Code.diskFull) }
    /// An error with the code ``Code/storeFull``.
    public static var storeFull: TouchstoneError { TouchstoneError(Code.storeFull) }
    /// An error with the code ``Code/readOnly``.
    public static var readOnly: TouchstoneError { TouchstoneError(Code.readOnly) }
    /// An error with the code ``Code/serviceMissing``.
    public static var serviceMissing: TouchstoneError { TouchstoneError(Code.serviceMissing) }
    /// An error with the code ``Code/serviceFailed``.
    public static var serviceFailed: TouchstoneError { TouchstoneError(Code.serviceFailed) }
    /// An error with the code ``Code/hardwareTooWeak``.
    public static var hardwareTooWeak: TouchstoneError { TouchstoneError(Code.hardwareTooWeak) }
    /// An error with the code ``Code/hardwareLockedOut``.
    public static var hardwareLockedOut: TouchstoneError { TouchstoneError(Code.hardwareLockedOut) }
    /// An error with the code ``Code/hardwareChanged``.
    public static var hardwareChanged: TouchstoneError { TouchstoneError(Code.hardwareChanged) }

    // MARK: A server

    /// An error with the code ``Code/unreachable``.
    public static var unreachable: TouchstoneError { TouchstoneError(Code.unreachable) }
    /// An error with the code ``Code/untrustedServer``.
    public static var untrustedServer: TouchstoneError { TouchstoneError(Code.untrustedServer) }
    /// An error with the code ``Code/badReply``.
    public static var badReply: TouchstoneError { TouchstoneError(Code.badReply) }
    /// An error with the code ``Code/refused``.
    public static var refused: TouchstoneError { TouchstoneError(Code.refused) }
    /// An error with the code ``Code/wrongPassword``.
    public static var wrongPassword: TouchstoneError { TouchstoneError(Code.wrongPassword) }
    /// An error with the code ``Code/deviceRevoked``.
    public static var deviceRevoked: TouchstoneError { TouchstoneError(Code.deviceRevoked) }
    /// An error with the code ``Code/signatureRefused``.
    public static var signatureRefused: TouchstoneError { TouchstoneError(Code.signatureRefused) }
    /// An error with the code ``Code/sessionEnded``.
    public static var sessionEnded: TouchstoneError { TouchstoneError(Code.sessionEnded) }
    /// An error with the code ``Code/stepUpNeeded``.
    public static var stepUpNeeded: TouchstoneError { TouchstoneError(Code.stepUpNeeded) }
    /// An error with the code ``Code/replayed``.
    public static var replayed: TouchstoneError { TouchstoneError(Code.replayed) }
}

extension TouchstoneError {
    /// Whether a thrown error has this code: for `catch TouchstoneError.notFound` where the error's type is not known, as in a closure.
    ///
    /// - Parameters:
    ///   - code: The error whose code is compared.
    ///   - error: The thrown error, of any type.
    /// - Returns: false for an error of another type.
    public static func ~= (code: TouchstoneError, error: any Error) -> Bool {
        (error as? TouchstoneError) == code
    }
}
