import KeychainModel

/// What happens to an evaluation.
enum SessionEvent: Sendable {
    /// The evaluation begins.
    case started
    /// The enrolled fingers were looked at.
    case enrolment(EnrolmentCheck)
    /// The wait of this number is over.
    case elapsed(Int)
    /// The box of this number is visible on this channel; nil for one that cannot be told.
    case shown(box: Int, on: PromptChannel?)
    /// The box of this number is gone.
    case answered(box: Int, SessionAnswer)
    /// The sensor is ours.
    case claimed
    /// The sensor reports progress.
    case sensor(FingerprintStatus)
    /// The sensor came to a verdict: it judges no other touch.
    case verdict(FingerprintVerdict)
    /// The sensor is disarmed, or was never ours: it failed, or was stopped.
    case sensorFailed(FingerprintError)
    /// The passcode opened the keybag.
    case opened
    /// The passcode opened nothing.
    case wrong
    /// The keybag could not be tried.
    case openFailed(KeychainError)
    /// A count could not be saved; what was to follow it was not done.
    case notSaved(KeychainError)
    /// The fingers were seen to change.
    case enrolmentChanged
    /// Somebody else ends the evaluation.
    case interrupted(Interruption)
}

/// How the enrolled fingers stand.
enum EnrolmentCheck: Sendable, Equatable {
    /// A finger is enrolled, and the set is the one the passcode was last shown for.
    case ready
    /// A finger is enrolled, but the set is another: the passcode comes first.
    case changed
    /// No finger can be used.
    case failed(AuthenticationError)
}

/// What a person did with a box.
enum SessionAnswer: Sendable {
    /// Typed something that has to be tried.
    case passcode
    /// Typed a passcode that was wrong in this very evaluation.
    case samePasscode
    /// Typed what no passcode can be.
    case unusable
    /// Pressed the fallback button.
    case fallback
    /// Pressed cancel.
    case cancelled
    /// Did nothing for too long.
    case timedOut
    /// There was no box, or it broke.
    case failed(PromptError)
}

/// Who ends an evaluation, other than its user.
enum Interruption: Sendable {
    /// The calling task was cancelled.
    case appCancelled
    /// The machine is about to sleep.
    case suspended
    /// The keybag was locked.
    case locked

    /// What the caller gets.
    var error: AuthenticationError {
        switch self {
        case .appCancelled: AuthenticationError(.appCancel)
        case .suspended: AuthenticationError(.systemCancel, cause: .suspended, remedy: .retry)
        case .locked: AuthenticationError(.systemCancel, cause: .locked, remedy: .unlock)
        }
    }
}

/// What is to be done for an evaluation, in order.
enum SessionAction: Sendable, Equatable {
    /// Look at the enrolled fingers.
    case checkEnrolment
    /// Put up a box, in place of the one before.
    case show(Prompt, box: Int)
    /// Take the box away; nobody waits for its end before the next box or the end.
    case dismissBox
    /// Take the sensor; the answer is `claimed` or `sensorFailed`.
    case claimSensor
    /// Arm the sensor; the end is one `verdict` or `sensorFailed`.
    case armSensor
    /// Stop taking or arming the sensor; the end comes all the same.
    case stopSensor
    /// Report `elapsed` with this number after a while.
    case wait(Duration, number: Int)
    /// Save the record; unless that succeeds, nothing after this is done and `notSaved` is reported.
    case count(AttemptRecord)
    /// Save the record, which is milder than the one before; failing that, the stricter one stays.
    case relax(AttemptRecord)
    /// Try what was typed last; the answer is `opened`, `wrong` or `openFailed`.
    case tryPasscode
    /// Lock the keybag again.
    case lockKeybag
    /// Record a security event.
    case audit(AuditEvent.Kind, Set<AuthenticationFactor>, String)
    /// The evaluation is over: these factors were shown.
    case succeed(Set<AuthenticationFactor>)
    /// The evaluation is over.
    case fail(AuthenticationError)
}
