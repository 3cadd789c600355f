import KeychainModel

/// Checks what must hold before a prompt is shown.
extension AuthenticationEngine {
    /// The keybag's state, if it can be opened.
    func usableState() async throws(AuthenticationError) -> KeybagState {
        let state = await keybag.state()
        switch state {
        case .notSetUp: throw AuthenticationError(.passcodeNotSet, cause: .notSetUp, remedy: .setPasscode)
        case .damaged: throw AuthenticationError(.systemCancel, cause: .damaged, remedy: .check)
        case .locked, .lockedAfterFirstUnlock, .unlocked: return state
        }
    }

    /// Checks that the recovery code may open the keybag, damaged or not, before it is asked for.
    func checkRecoverable() async throws(AuthenticationError) {
        if await keybag.state() == .damaged, await keybag.isRecoverable() { return }
        _ = try await usableState()
    }

    /// Why the passcode is required before any finger; nil if it is not.
    func passcodeDue(_ record: AttemptRecord, at now: BootTime) -> DriverCause? {
        if areFingersDoubted { return .enrolmentChanged }
        return PasscodeAge(record).isDue(at: now) ? .passcodeDue : nil
    }

    /// Why the caller may not show a prompt now; nil if it may.
    func promptRefusal(of caller: Caller) -> AuthenticationError? {
        let period = configuration.promptRatePeriod
        let now = clock.now()
        let cancelled = configuration.cancelledPrompts
        if let delay = silence.delay(caller, at: now, limit: cancelled, period: period) {
            return AuthenticationError(
                .systemCancel,
                cause: .callerSilenced,
                remedy: .wait(seconds: delay.wholeSeconds)
            )
        }
        let unsuccessful = configuration.unsuccessfulPrompts
        return rate.delay(uid: caller.uid, at: now, limit: unsuccessful, period: period).map { delay in
            AuthenticationError(
                .systemCancel,
                cause: .promptRate,
                remedy: .wait(seconds: delay.wholeSeconds)
            )
        }
    }

    /// Counts a prompt that ended without success.
    func countPrompt(of caller: Caller, endedBy error: AuthenticationError) {
        let now = clock.now()
        rate.ended(uid: caller.uid, at: now, limit: configuration.unsuccessfulPrompts)
        guard error.code == .userCancel else { return }
        silence.cancelled(caller, at: now, period: configuration.promptRatePeriod)
    }

    /// Resets the limits after a prompt that ended with success.
    func promptSucceeded(of caller: Caller) {
        rate.succeeded(uid: caller.uid)
        silence.succeeded(caller)
    }
}
