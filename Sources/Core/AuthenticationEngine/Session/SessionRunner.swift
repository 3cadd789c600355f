import KeychainModel

/// Runs the state machine of one evaluation: shows its prompts, arms the sensor, saves its counts.
actor SessionRunner {
    /// How an evaluation ended.
    struct Outcome: Sendable {
        /// The factors that were shown, or why the evaluation ended without them.
        var result: Result<Set<AuthenticationFactor>, AuthenticationError>
        /// The key that the passcode opened.
        var passcodeKey: PasscodeKey?
        /// Whether the user saw a prompt.
        var wasPrompted: Bool
        /// Whether the sensor gave a verdict, or failed for a reason that calls for a pause.
        var sensor: SensorReport
    }

    /// What was learnt about the sensor.
    enum SensorReport: Sendable {
        case unused
        case worked
        case broke
    }

    /// The drivers and services of an evaluation.
    struct Ports: Sendable {
        let reader: any FingerprintReader
        let prompter: any SecretPrompter
        let keybag: any KeybagKeeper
        let attempts: any AttemptStore
        let clock: any BootClock
        let timer: any Clock<Duration>
        let audit: any AuditLog
        /// Checks the enrolled fingers.
        let checkEnrolment: @Sendable () async -> EnrolmentCheck
        /// Called at once after a right passcode with the channel it was typed on, before fingers are checked again.
        let passcodeAccepted: @Sendable (PromptChannel?) async -> Void
        /// The number of other requests that wait for this evaluation.
        let countOthers: @Sendable () async -> Int
    }

    /// An event, with the secrets and times that the state machine must not see.
    private enum Signal: Sendable {
        case event(SessionEvent)
        case shown(box: Int, on: PromptChannel?, at: BootTime)
        case answered(box: Int, BoxAnswer)
        case opened(PasscodeKey)
    }

    private let ports: Ports
    private let request: PromptRequest
    private nonisolated let signals: AsyncStream<Signal>
    private nonisolated let mailbox: AsyncStream<Signal>.Continuation

    /// The prompter prepared for the first prompt.
    private var prepared: (any SecretPrompter)?
    private var boxTask: Task<Void, Never>?
    private var deadlineTask: Task<Void, Never>?
    private var waitTask: Task<Void, Never>?
    private var sensorTask: Task<Void, Never>?
    private var claim: (any FingerprintClaim)?
    private var typed: TypedSecret?
    /// The channel of the prompt shown last.
    private var boxChannel: PromptChannel?
    private var wrong: [TypedSecret] = []
    private var passcodeKey: PasscodeKey?
    private var wasPrompted = false
    private var sensor = SensorReport.unused
    /// When the event being handled occurred.
    private var eventTime: BootTime

    init(_ ports: Ports, request: PromptRequest) {
        self.ports = ports
        self.request = request
        eventTime = ports.clock.now()
        (signals, mailbox) = AsyncStream.makeStream()
    }

    /// Ends the evaluation from outside.
    nonisolated func interrupt(_ interruption: Interruption) {
        mailbox.yield(.event(.interrupted(interruption)))
    }

    /// Tells a running evaluation that the enrolled fingers changed.
    nonisolated func enrolmentChanged() {
        mailbox.yield(.event(.enrolmentChanged))
    }

    /// Runs one evaluation to its end; cancelling the task dismisses the prompt and releases the sensor.
    func run(_ setup: SessionSetup) async -> Outcome {
        // A separate task that is never cancelled: the state machine decides what a cancellation means, and what has to
        // be awaited and saved before the end.
        let work = Task {
            let result = await obeyMachine(of: setup)
            await cleanUp()
            return Outcome(
                result: result,
                passcodeKey: passcodeKey,
                wasPrompted: wasPrompted,
                sensor: sensor
            )
        }
        return await withTaskCancellationHandler {
            await work.value
        } onCancel: {
            interrupt(.appCancelled)
        }
    }

    private func obeyMachine(of setup: SessionSetup) async -> Result<
        Set<AuthenticationFactor>, AuthenticationError
    > {
        var session = AuthenticationSession(setup)
        var actions = session.handle(.started, at: ports.clock.now())
        var inbox = signals.makeAsyncIterator()
        while true {
            while !actions.isEmpty {
                let action = actions.removeFirst()
                switch action {
                case .succeed(let factors): return .success(factors)
                case .fail(let error): return .failure(error)
                case .count(let record):
                    do {
                        try ports.attempts.save(record)
                    } catch {
                        actions = session.handle(.notSaved(error), at: ports.clock.now())
                    }
                default: await perform(action)
                }
            }
            guard let signal = await inbox.next(isolation: self) else {
                return .failure(AuthenticationError(.appCancel))
            }
            if let event = await event(for: signal) {
                actions = session.handle(event, at: ports.clock.now())
            }
        }
    }

    private func perform(_ action: SessionAction) async {
        switch action {
        case .checkEnrolment:
            let check = ports.checkEnrolment
            Task { [mailbox] in mailbox.yield(.event(.enrolment(await check()))) }
            // A prompt is likely to follow: start its program meanwhile.
            if !wasPrompted { prepared = ports.prompter.prepared(at: request.origin) }
        case .show(let prompt, let number): await show(prompt, number)
        case .dismissBox: dismissBox()
        case .claimSensor: sensorTask = Task { await takeSensor() }
        case .armSensor: sensorTask = Task { await verify() }
        case .stopSensor: sensorTask?.cancel()
        case .wait(let duration, let number):
            waitTask?.cancel()
            let passed = ports.clock.now().since(eventTime) ?? .zero
            waitTask = signal(.event(.elapsed(number)), after: max(duration - passed, .zero))
        case .relax(let record):
            // If this fails, the stricter count stays; the request does not fail for it.
            try? ports.attempts.save(record)
        case .tryPasscode: tryPasscode()
        case .lockKeybag: await ports.keybag.lock()
        case .audit(let kind, let factors, let detail):
            ports.audit.record(AuditEvent(kind, caller: request.caller, factors: factors, detail: detail))
        case .tellMiss(let miss): request.onMiss?(miss)
        case .count, .succeed, .fail: break
        }
    }

    /// Converts a signal to the event that the state machine sees.
    private func event(for signal: Signal) async -> SessionEvent? {
        eventTime = ports.clock.now()
        switch signal {
        case .shown(let box, let channel, let time):
            eventTime = time
            boxChannel = channel
            return .shown(box: box, on: channel)
        case .event(let event):
            switch event {
            case .wrong: if let typed = typed.take() { wrong.append(typed) }
            case .verdict, .unseenMatch: sensor = .worked
            case .sensorFailed(let error) where error.callsForPause: sensor = .broke
            default: break
            }
            return event
        case .opened(let key):
            passcodeKey = key
            typed = nil
            wrong = []
            await ports.passcodeAccepted(boxChannel)
            return .opened
        case .answered(let box, let answer):
            return .answered(box: box, sessionAnswer(answer))
        }
    }

    private func sessionAnswer(_ answer: BoxAnswer) -> SessionAnswer {
        switch answer {
        case .entered(let secret):
            guard secret.isUsable else { return .unusable }
            // All are compared, so that the time does not reveal which one matched.
            if wrong.reduce(false, { $1.matches(secret) || $0 }) { return .samePasscode }
            typed = secret
            return .passcode
        case .confirmed: return .unusable
        case .fallback(let index): return .fallback(index)
        case .cancelled: return .cancelled
        case .timedOut: return .timedOut
        case .failed(let error): return .failed(error)
        case .interrupted: return .failed(PromptError(.dismissed))
        }
    }
}

/// Prompts, the sensor and the keybag.
extension SessionRunner {
    /// A prompter that exceeds its own time-out by this is treated as timed out.
    private static let grace = Duration.seconds(5)

    private func show(_ prompt: Prompt, _ number: Int) async {
        await takeBoxAway()
        wasPrompted = true
        let prompter = prepared.take() ?? ports.prompter
        boxChannel = nil
        var prompt = prompt
        prompt.othersWaiting = await ports.countOthers()
        boxTask = Task { [mailbox, ports, request, prompt] in
            let answer = await prompter.answer(to: prompt, at: request.origin) { channel in
                // The prompt is visible from now on, even while its channel is being determined.
                let time = ports.clock.now()
                mailbox.yield(.shown(box: number, on: channel(), at: time))
            }
            mailbox.yield(.answered(box: number, answer))
        }
        deadlineTask = signal(.answered(box: number, .timedOut), after: prompt.timeout + Self.grace)
    }

    /// Returns once the prompt has ended, so that there are never two.
    private func takeBoxAway() async {
        dismissBox()
        await boxTask.take()?.value
    }

    private func dismissBox() {
        deadlineTask?.cancel()
        deadlineTask = nil
        boxTask?.cancel()
    }

    private func signal(_ signal: Signal, after duration: Duration) -> Task<Void, Never> {
        // On the actor, so that handling the signal needs no other thread.
        Task {
            do {
                try await ports.timer.sleep(for: duration)
                mailbox.yield(signal)
            } catch {
                // Cancelled: the signal is no longer needed.
            }
        }
    }

    private func takeSensor() async {
        do {
            claim = try await ports.reader.claim()
            mailbox.yield(.event(.claimed))
        } catch {
            mailbox.yield(.event(.sensorFailed(error)))
        }
    }

    private func verify() async {
        guard let claim else {
            mailbox.yield(.event(.sensorFailed(FingerprintError(.claimDevice))))
            return
        }
        do {
            let verdict = try await claim.verify { [mailbox] status in
                mailbox.yield(.event(.sensor(status)))
            }
            if verdict == .match, boxTask != nil, await !ports.prompter.stillShows(at: request.origin) {
                mailbox.yield(.event(.unseenMatch))
                return
            }
            mailbox.yield(.event(.verdict(verdict)))
        } catch {
            mailbox.yield(.event(.sensorFailed(error)))
        }
    }

    private func tryPasscode() {
        guard let typed else {
            mailbox.yield(.event(.openFailed(KeychainError(.param))))
            return
        }
        Task { [mailbox, ports] in
            do throws(KeychainError) {
                switch try await ports.keybag.open(passcode: typed.octets) {
                case .opened(let key): mailbox.yield(.opened(key))
                case .wrong: mailbox.yield(.event(.wrong))
                }
            } catch {
                mailbox.yield(.event(.openFailed(error)))
            }
        }
    }

    private func cleanUp() async {
        mailbox.finish()
        waitTask?.cancel()
        sensorTask?.cancel()
        prepared = nil
        await takeBoxAway()
        await sensorTask.take()?.value
        claim.take()?.letGo()
        typed = nil
        wrong = []
    }
}

extension FingerprintError {
    /// Whether the driver, the service or the bus failed, so that an immediate retry would fail again.
    fileprivate var callsForPause: Bool {
        switch code {
        case .cancelled, .suspended, .alreadyInUse, .noEnrolledPrints: false
        default: true
        }
    }
}
