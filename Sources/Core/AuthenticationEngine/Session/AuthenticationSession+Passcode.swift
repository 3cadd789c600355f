import KeychainModel

/// The passcode: when it may be tried, what is counted, and which messages are shown.
extension AuthenticationSession {
    /// Continues with the passcode alone; ends the evaluation during a delay.
    mutating func askPasscode(at now: BootTime) -> [SessionAction] {
        stage = .passcode
        if case .wait(let delay) = PasscodeThrottle(record).verdict(at: now) {
            return end(Self.delayed(delay), at: now)
        }
        return stop(then: .show, at: now)
    }

    mutating func typed(_ answer: SessionAnswer, at now: BootTime) -> [SessionAction] {
        switch (answer, PasscodeThrottle(record).verdict(at: now)) {
        case (_, .closed):
            return end(AuthenticationError(.authenticationFailed, cause: .closed, remedy: .recover), at: now)
        case (.samePasscode, _):
            message = "That passcode was wrong before; it was not counted again."
            return stop(then: .show, at: now)
        case (.passcode, .mayTry) where stage.takesPasscode:
            return stop(then: .tryPasscode, at: now)
        case (_, .wait(let delay)):
            message = "Not tried. Wait \(delay.wholeSeconds) s."
            return stop(then: .show, at: now)
        default:
            message = "No passcode looks like that."
            return stop(then: .show, at: now)
        }
    }

    /// Counts the attempt before it is tried.
    mutating func tryPasscode(at now: BootTime) -> [SessionAction] {
        phase = .trying(Trying(uncounted: record))
        record = PasscodeThrottle(record).counted(at: now)
        return [.count(record), .tryPasscode]
    }

    mutating func wrong(at now: BootTime) -> [SessionAction] {
        guard case .trying(let trying) = phase else { return [] }
        phase = .idle(.off)
        var actions: [SessionAction] = [.audit(.authenticationFailed, [.passcode], "wrong passcode")]
        let throttle = PasscodeThrottle(record)
        let left = throttle.remaining == 1 ? "1 try" : "\(throttle.remaining) tries"
        message = "Wrong passcode. \(left) left before the keychain closes."
        var error = trying.doom
        switch throttle.verdict(at: now) {
        case .mayTry: break
        case .wait(let delay):
            actions.append(.audit(.passcodeDelayed, [.passcode], "\(delay.wholeSeconds) s"))
            message = "Wrong passcode. Wait \(delay.wholeSeconds) s. \(left) left before the keychain closes."
            // No prompt stays long enough to outlast the delay.
            if stage == .passcode, delay >= setup.configuration.promptTimeout {
                error = error ?? Self.delayed(delay)
            }
        case .closed:
            actions.append(.audit(.keybagClosed, [.passcode], ""))
            error = error ?? AuthenticationError(.authenticationFailed, cause: .closed, remedy: .recover)
        }
        guard let error else { return actions + show() }
        return actions + fail(error)
    }

    mutating func opened(at now: BootTime) -> [SessionAction] {
        guard case .trying(let trying) = phase else { return [] }
        phase = .idle(.off)
        record = PasscodeThrottle.opened(at: now)
        // Counted attempts with fingers are forgiven.
        attempt = nil
        if let doom = trying.doom {
            // Too late: the keybag must not stay open if it was locked before or was locked meanwhile.
            let staysOpen = setup.isKeybagUnlocked && doom.code == .appCancel
            return [.relax(record)] + (staysOpen ? [] : [.lockKeybag]) + fail(doom)
        }
        isUnlocked = true
        isUnseen = false
        seen.note(typedOn)
        passcodeDue = nil
        message = nil
        factors.insert(.passcode)
        switch setup.requirement {
        case .passcode, .biometryOrPasscode: return succeed()
        case .biometry, .biometryAndPasscode: return [.relax(record)] + look(.afterPasscode)
        }
    }

    mutating func openFailed(_ error: KeychainError, at now: BootTime) -> [SessionAction] {
        guard case .trying(let trying) = phase else { return [] }
        phase = .idle(.off)
        let failure = trying.doom ?? AuthenticationError(keychain: error)
        // The hardware never received the passcode.
        let untried: [DriverCause] = [
            .otherHardware, .missingHardware, .missingIndex, .ownerAuthorizationSet,
        ]
        if let cause = error.cause, untried.contains(cause) {
            // Before the end, which may give back a finger's attempt as well.
            record = trying.uncounted
            return [.relax(record)] + fail(failure)
        }
        // The attempt stays counted: it is unknown whether the passcode was judged on the way. Hardware that counts
        // reports its count later, and the saved count is set to it.
        return fail(failure)
    }

    private static func delayed(_ delay: Duration) -> AuthenticationError {
        AuthenticationError(
            .authenticationFailed,
            cause: .passcodeDelayed,
            remedy: .wait(seconds: delay.wholeSeconds)
        )
    }
}
