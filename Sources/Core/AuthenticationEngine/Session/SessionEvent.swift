import KeychainModel

/// An event of an evaluation.
enum SessionEvent: Sendable {
    /// The evaluation begins.
    case started
    /// The enrolled fingers were checked.
    case enrolment(EnrolmentCheck)
    /// The wait with this number is over.
    case elapsed(Int)
    /// The prompt with this number is visible on this channel; nil if the channel is unidentified.
    case shown(box: Int, on: PromptChannel?)
    /// The prompt with this number was answered or dismissed.
    case answered(box: Int, SessionAnswer)
    /// The sensor was claimed.
    case claimed
    /// The sensor reports progress.
    case sensor(FingerprintStatus)
    /// The sensor gave a verdict and judges no further touch.
    case verdict(FingerprintVerdict)
    /// The sensor found a match, and nobody could see or cancel what it would be for.
    case unseenMatch
    /// The sensor is disarmed, or was never claimed: it failed, or was stopped.
    case sensorFailed(FingerprintError)
    /// The passcode opened the keybag.
    case opened
    /// The passcode did not open the keybag.
    case wrong
    /// The passcode could not be tried.
    case openFailed(KeychainError)
    /// A count could not be saved; the actions after it were not performed.
    case notSaved(KeychainError)
    /// The enrolled fingers changed.
    case enrolmentChanged
    /// The evaluation is ended from outside.
    case interrupted(Interruption)
}

/// The result of checking the enrolled fingers.
enum EnrolmentCheck: Sendable, Equatable {
    /// A finger is enrolled, and the set is the one for which the passcode was last entered.
    case ready
    /// A finger is enrolled, but the set has changed: the passcode is required first.
    case changed
    /// No finger can be used.
    case failed(AuthenticationError)
}

/// The user's answer to a prompt.
enum SessionAnswer: Sendable {
    /// An entry that has to be tried.
    case passcode
    /// A passcode that was already wrong in this evaluation.
    case samePasscode
    /// An entry that cannot be a passcode.
    case unusable
    /// The fallback button with this number, from 0.
    case fallback(Int)
    /// The cancel button.
    case cancelled
    /// No answer in time.
    case timedOut
    /// The prompt could not be shown, or failed.
    case failed(PromptError)
}

/// Why an evaluation is ended other than by its user.
enum Interruption: Sendable {
    /// The calling task was cancelled.
    case appCancelled
    /// The machine is about to sleep.
    case suspended
    /// The keybag was locked.
    case locked
    /// Another session became active on the seat of the prompt.
    case sessionInactive

    /// The error that the caller gets.
    var error: AuthenticationError {
        switch self {
        case .appCancelled: AuthenticationError(.appCancel)
        case .suspended: AuthenticationError(.systemCancel, cause: .suspended, remedy: .retry)
        case .locked: AuthenticationError(.systemCancel, cause: .locked, remedy: .unlock)
        case .sessionInactive: AuthenticationError(.systemCancel, cause: .sessionInactive, remedy: .retry)
        }
    }
}

/// An action of an evaluation; actions are performed in order.
enum SessionAction: Sendable, Equatable {
    /// Check the enrolled fingers.
    case checkEnrolment
    /// Show a prompt in place of the previous one.
    case show(Prompt, box: Int)
    /// Dismiss the prompt without waiting for its end.
    case dismissBox
    /// Claim the sensor; answered by `claimed` or `sensorFailed`.
    case claimSensor
    /// Arm the sensor; ends with one `verdict` or `sensorFailed`.
    case armSensor
    /// Stop claiming or verifying; the event that ends it still follows.
    case stopSensor
    /// Report `elapsed` with this number after a while.
    case wait(Duration, number: Int)
    /// Save the record; if that fails, no later action is performed and `notSaved` is reported.
    case count(AttemptRecord)
    /// Save the record, which is more lenient than the previous one; if that fails, the stricter one stays.
    case relax(AttemptRecord)
    /// Try the last entry; answered by `opened`, `wrong` or `openFailed`.
    case tryPasscode
    /// Lock the keybag again.
    case lockKeybag
    /// Record a security event.
    case audit(AuditEvent.Kind, Set<AuthenticationFactor>, String)
    /// Tell the request of a touch that missed.
    case tellMiss(MissedTouch)
    /// The evaluation is over: these factors were shown.
    case succeed(Set<AuthenticationFactor>)
    /// The evaluation is over.
    case fail(AuthenticationError)
}
