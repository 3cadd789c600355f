import KeychainModel

/// The state machine of one evaluation: events in, actions out.
///
/// Holds no clock, task, driver or secret. An attempt is counted by an action before the sensor is armed or the passcode
/// is tried; the sensor is armed only while a prompt is visible, and before a prompt is replaced the sensor is stopped
/// and its last report awaited. Events after the end are ignored.
struct AuthenticationSession: ~Copyable, Sendable {
    /// Whether this process has claimed the sensor; no other process can arm it then.
    enum Claim: Sendable, Equatable {
        case none
        case pending
        case held
    }

    /// A counted attempt with a finger that has no verdict yet.
    struct Attempt: Sendable, Equatable {
        /// The driver reported that it armed the sensor.
        var wasArmed = false
        /// A finger touched the sensor.
        var hadContact = false
        /// A touch is being judged: stopping now loses the verdict, and the attempt with it.
        var isScanning = false
    }

    let setup: SessionSetup
    var phase = Phase.idle(.off)
    var record: AttemptRecord
    var isUnlocked: Bool
    var passcodeDue: DriverCause?
    var stage = SessionStage.passcode
    var factors: Set<AuthenticationFactor> = []
    var boxCount = 0
    var seen: SeenChannels
    /// The channel on which the passcode being tried was typed.
    var typedOn: PromptChannel?
    /// Whether the passcode is required because it was not typed on this channel yet.
    var isUnseen = false
    var message: String?
    var claim = Claim.none
    var sensorDelay: Duration
    var busyPause = Duration.zero
    /// The number of the last wait for the sensor; the wait for the first look has the number 0.
    var waitCount = 0
    /// Whether the prompt was shown before the first look at the enrolled fingers ended: until it ends well, no finger counts.
    var isLookLate = false
    var attempt: Attempt?
    var retryScans = 0
    /// The touches of this evaluation that missed.
    var missCount = 0

    init(_ setup: SessionSetup) {
        self.setup = setup
        record = setup.record
        isUnlocked = setup.isKeybagUnlocked
        passcodeDue = setup.passcodeDue
        seen = setup.seen
        sensorDelay = setup.sensorDelay
    }

    /// Handles an event and returns the actions, in order.
    mutating func handle(_ event: SessionEvent, at now: BootTime) -> [SessionAction] {
        guard !isOver else { return [] }
        switch event {
        case .started: return start(at: now)
        case .enrolment(let found): return checked(found, at: now)
        case .elapsed(let number): return elapsed(number, at: now)
        case .shown(let number, let channel): return shown(number, on: channel, at: now)
        case .answered(let number, let answer): return answered(number, answer, at: now)
        case .claimed: return claimed(at: now)
        case .sensor(let status): return progressed(status, at: now)
        case .verdict(.match): return matched(at: now)
        case .verdict(.noMatch): return refused(at: now)
        case .unseenMatch: return matchedUnseen(at: now)
        case .sensorFailed(let error): return sensorFailed(error, at: now)
        case .opened: return opened(at: now)
        case .wrong: return wrong(at: now)
        case .openFailed(let error): return openFailed(error, at: now)
        case .notSaved(let error): return notSaved(error, at: now)
        case .enrolmentChanged: return enrolmentChanged(at: now)
        case .interrupted(let interruption): return end(interruption.error, at: now)
        }
    }

    // MARK: Beginning

    private mutating func start(at now: BootTime) -> [SessionAction] {
        if PasscodeThrottle(record).isClosed {
            let code: AuthenticationError.Code =
                setup.requirement == .biometry ? .biometryLockout : .authenticationFailed
            return end(AuthenticationError(code, cause: .closed, remedy: .recover), at: now)
        }
        switch setup.requirement {
        case .passcode:
            return askPasscode(at: now)
        case .biometryOrPasscode:
            guard isUnlocked, biometryLockout == nil else {
                message = darkness
                return askPasscode(at: now)
            }
            guard mayTouch else { return askPasscodeFirst(at: now) }
            return look(.atStart) + [.wait(setup.configuration.lookPatience, number: Self.firstLook)]
        case .biometry, .biometryAndPasscode:
            return look(.atStart)
        }
    }

    /// Whether the prompt could appear where a touch alone counts; its real channel is known once it is visible.
    private var mayTouch: Bool { seen.containsAny(of: setup.channels) }

    /// Asks for the passcode because it was not typed on this channel yet.
    private mutating func askPasscodeFirst(at now: BootTime) -> [SessionAction] {
        isUnseen = true
        return askPasscode(at: now)
    }

    /// Why no finger counts before the passcode; nil if fingers count.
    private var biometryLockout: AuthenticationError? {
        if BiometryAttempts(record).isLockedOut {
            return AuthenticationError(.biometryLockout, remedy: .usePasscode)
        }
        return passcodeDue.map { AuthenticationError(.biometryLockout, cause: $0, remedy: .usePasscode) }
    }

    /// The message why the sensor stays off until the passcode is entered, for a prompt that would take a finger too; nil
    /// if the prompt says it already.
    private var darkness: String? {
        if BiometryAttempts(record).isLockedOut { return "Fingers are off until the passcode is entered." }
        switch passcodeDue {
        case .enrolmentChanged?: return "The enrolled fingers have changed: passcode first."
        case _? where isUnlocked:
            return
                "Fingers wait for the passcode: it is due every three days, and after two days without use."
        default: return nil
        }
    }

    mutating func look(_ check: Check) -> [SessionAction] {
        phase = .looking(check)
        return [.checkEnrolment]
    }

    /// The number of the wait for the first look at the enrolled fingers.
    static let firstLook = 0

    /// Shows the prompt for either factor before the look has ended: the passcode is accepted at once.
    mutating func lookIsLate(at now: BootTime) -> [SessionAction] {
        isLookLate = true
        phase = .idle(.off)
        // The fingers may have changed meanwhile.
        guard biometryLockout == nil else {
            message = darkness
            return askPasscode(at: now)
        }
        stage = .either
        message = "The fingerprint sensor has not answered yet; the passcode is accepted now."
        return show()
    }

    /// Handles the end of a look after which the prompt was not held back.
    private mutating func checkedLate(_ found: EnrolmentCheck, at now: BootTime) -> [SessionAction] {
        isLookLate = false
        // The passcode alone is asked for by now.
        guard stage == .either else { return [] }
        switch found {
        case .ready:
            guard case .asking(let box, .off) = phase, box.isVisible else { return [] }
            return useSensor(on: box.channel, at: now)
        case .changed: return enrolmentChanged(at: now)
        case .failed:
            // The prompt stays, because somebody may be typing into it.
            stage = .passcode
            return []
        }
    }

    private mutating func checked(_ found: EnrolmentCheck, at now: BootTime) -> [SessionAction] {
        if isLookLate { return checkedLate(found, at: now) }
        guard case .looking(let check) = phase else { return [] }
        phase = .idle(.off)
        switch (check, found) {
        case (_, .failed(let error)):
            return biometryEnded(error, Self.words(for: error), at: now)
        case (.atStart, .changed) where isUnlocked && setup.requirement != .biometryAndPasscode:
            return enrolmentChanged(at: now)
        case (.atStart, _):
            switch setup.requirement {
            case .biometry where isUnlocked:
                if let biometryLockout { return end(biometryLockout, at: now) }
                guard mayTouch else { return askPasscodeFirst(at: now) }
                stage = .finger
            // Both factors, unless the fingers changed during the look-up.
            case .biometryOrPasscode where biometryLockout == nil: stage = .either
            default:
                message = darkness
                return askPasscode(at: now)
            }
            return show()
        case (.afterPasscode, _):
            // The passcode was just entered, so a changed enrolment does not matter.
            stage = .finger
            return show()
        case (.afterMatch, .changed):
            return enrolmentChanged(at: now)
        case (.afterMatch, .ready):
            factors.insert(.biometry)
            record = BiometryAttempts(record).matched(at: now)
            return succeed()
        }
    }

    // MARK: The prompt

    mutating func show() -> [SessionAction] {
        boxCount += 1
        phase = .asking(Box(number: boxCount, message: message), .off)
        let prompt = setup.prompt(stage, isUnlocked: isUnlocked, isUnseen: isUnseen, message: message)
        return [.show(prompt, box: boxCount)]
    }

    private mutating func shown(
        _ number: Int,
        on channel: PromptChannel?,
        at now: BootTime
    ) -> [SessionAction] {
        guard box?.number == number, box?.isVisible == false else { return [] }
        noteVisible(on: channel)
        guard stage.takesFinger, !isLookLate, case .asking = phase else { return [] }
        return useSensor(on: channel, at: now)
    }

    /// Claims and later arms the sensor for the visible prompt.
    private mutating func useSensor(on channel: PromptChannel?, at now: BootTime) -> [SessionAction] {
        // On a channel where the passcode was not typed, no touch counts.
        let isTrusted = seen.contains(channel) || factors.contains(.passcode) && typedOn == channel
        guard isTrusted else {
            guard factors.isEmpty else {
                let error = AuthenticationError(.biometryLockout, cause: .passcodeDue, remedy: .usePasscode)
                return end(error, at: now)
            }
            return askPasscodeFirst(at: now)
        }
        // Claiming takes time, during which the user looks at the prompt; a sensor that failed is left alone.
        let claims = sensorDelay == .zero && claim == .none
        let pause = max(setup.configuration.settlingTime, sensorDelay)
        sensorDelay = .zero
        if claims { claim = .pending }
        return rest(pause) + (claims ? [.claimSensor] : [])
    }

    /// Waits before the sensor is used.
    mutating func rest(_ pause: Duration) -> [SessionAction] {
        waitCount += 1
        turn(.waiting(waitCount))
        return [.wait(pause, number: waitCount)]
    }

    private mutating func answered(
        _ number: Int,
        _ answer: SessionAnswer,
        at now: BootTime
    ) -> [SessionAction] {
        guard let box, box.number == number else { return [] }
        typedOn = box.channel
        dropBox()
        switch answer {
        case .passcode, .samePasscode, .unusable:
            return typed(answer, at: now)
        case .fallback where setup.requirement == .biometryOrPasscode:
            stage = .passcode
            message = nil
            return stop(then: .show, at: now)
        case .fallback(let index):
            // The default button is none of those that the request named.
            let chosen = setup.request.fallbackTitles == nil ? nil : index
            return end(
                AuthenticationError(.userFallback, remedy: .usePasscode, fallback: chosen),
                at: now
            )
        case .cancelled:
            return end(AuthenticationError(.userCancel), at: now)
        case .timedOut:
            return end(AuthenticationError(.systemCancel, cause: .timeout, remedy: .retry), at: now)
        case .failed(let error):
            return end(AuthenticationError(error), at: now)
        }
    }

    // MARK: The end

    /// Ends without success: at once, or when the sensor is off and the passcode judged.
    mutating func end(_ error: AuthenticationError, at now: BootTime) -> [SessionAction] {
        if case .trying(var trying) = phase {
            trying.doom = trying.doom ?? error
            phase = .trying(trying)
            return []
        }
        return stop(then: .end(error), at: now)
    }

    /// Performs `step` once the sensor is off; a pending end is not replaced by another step.
    mutating func stop(then step: Next, at now: BootTime) -> [SessionAction] {
        switch phase {
        case .stopping(var stop):
            if case .end = stop.next { return [] }
            stop.next = step
            phase = .stopping(stop)
            return []
        case .idle, .asking:
            let isArmed = sensor == .armed
            guard isArmed || claim == .pending else { return proceed(step, at: now) }
            phase = .stopping(Stop(box: box, isArmed: isArmed, next: step))
            return [.stopSensor]
        case .looking, .trying, .over:
            return proceed(step, at: now)
        }
    }

    mutating func proceed(_ step: Next, at now: BootTime) -> [SessionAction] {
        switch step {
        case .show: return show()
        case .tryPasscode: return tryPasscode(at: now)
        case .end(let error): return fail(error)
        }
    }

    mutating func fail(_ error: AuthenticationError) -> [SessionAction] {
        phase = .over
        var actions: [SessionAction] = []
        // An orderly end without a touch gives the attempt back.
        if let attempt, !attempt.hadContact {
            record = BiometryAttempts(record).refunded()
            actions.append(.relax(record))
        }
        return actions + [.audit(error.auditKind, factors, error.auditDetail), .fail(error)]
    }

    mutating func succeed() -> [SessionAction] {
        phase = .over
        return [.relax(record), .audit(.authenticationSucceeded, factors, ""), .succeed(factors)]
    }

    private mutating func notSaved(_ error: KeychainError, at now: BootTime) -> [SessionAction] {
        // Nothing was armed or tried, and what the store now holds is unknown: no attempt is given back.
        turn(.off)
        attempt = nil
        return end(AuthenticationError(unsaved: error), at: now)
    }
}
