import KeychainModel

/// Obeys the machine of one evaluation: shows its boxes, arms the sensor, saves its counts.
actor SessionRunner {
    /// How an evaluation ended.
    struct Outcome: Sendable {
        /// What was shown, or why it ended without.
        var result: Result<Set<AuthenticationFactor>, AuthenticationError>
        /// The key that the passcode opened.
        var passcodeKey: PasscodeKey?
        /// Whether a person saw a box.
        var wasPrompted: Bool
        /// Whether the sensor gave a verdict, or failed for a reason that calls for a pause.
        var sensor: SensorReport
    }

    /// What is known of the sensor afterwards.
    enum SensorReport: Sendable {
        case unused
        case worked
        case broke
    }

    /// The world of an evaluation.
    struct Ports: Sendable {
        let reader: any FingerprintReader
        let prompter: any SecretPrompter
        let keybag: any KeybagKeeper
        let attempts: any AttemptStore
        let clock: any BootClock
        let timer: any Clock<Duration>
        let audit: any AuditLog
        /// Looks at the enrolled fingers.
        let checkEnrolment: @Sendable () async -> EnrolmentCheck
        /// Hears of a right passcode, and where it was typed, at once, before fingers are looked at again.
        let passcodeAccepted: @Sendable (PromptChannel?) async -> Void
        /// How many other requests wait for this very evaluation.
        let countOthers: @Sendable () async -> Int
    }

    /// An event, with what the machine must not see.
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

    /// Draws the first box.
    private var prepared: (any SecretPrompter)?
    private var boxTask: Task<Void, Never>?
    private var deadlineTask: Task<Void, Never>?
    private var waitTask: Task<Void, Never>?
    private var sensorTask: Task<Void, Never>?
    private var claim: (any FingerprintClaim)?
    private var typed: TypedSecret?
    /// Where the box that was shown last is.
    private var boxChannel: PromptChannel?
    private var wrong: [TypedSecret] = []
    private var passcodeKey: PasscodeKey?
    private var wasPrompted = false
    private var sensor = SensorReport.unused
    /// When what is being dealt with happened.
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

    /// Tells a running evaluation that the fingers are others now.
    nonisolated func enrolmentChanged() {
        mailbox.yield(.event(.enrolmentChanged))
    }

    /// Runs one evaluation to its end; cancelling the task takes the box away and lets go of the sensor.
    func run(_ setup: SessionSetup) async -> Outcome {
        // A task of its own, which nobody cancels: the machine decides what a cancellation means, and what
        // has to be awaited and saved before the end.
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
            // A box is likely to follow: what draws it starts meanwhile.
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
            // The stricter count stays where this fails; nobody is refused for it.
            try? ports.attempts.save(record)
        case .tryPasscode: tryPasscode()
        case .lockKeybag: await ports.keybag.lock()
        case .audit(let kind, let factors, let detail):
            ports.audit.record(AuditEvent(kind, caller: request.caller, factors: factors, detail: detail))
        case .count, .succeed, .fail: break
        }
    }

    /// Turns what came in into what the machine may see of it.
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
            case .verdict: sensor = .worked
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
            // All are compared, so that the time tells nothing about which one it is.
            if wrong.reduce(false, { $1.matches(secret) || $0 }) { return .samePasscode }
            typed = secret
            return .passcode
        case .confirmed: return .unusable
        case .fallback: return .fallback
        case .cancelled: return .cancelled
        case .timedOut: return .timedOut
        case .failed(let error): return .failed(error)
        case .interrupted: return .failed(PromptError(.dismissed))
        }
    }
}

/// Boxes, the sensor and the keybag.
extension SessionRunner {
    /// A prompter that does not keep its own time-out is helped after this while.
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
                // The box is visible from now on, also while it is found out where.
                let time = ports.clock.now()
                mailbox.yield(.shown(box: number, on: channel(), at: time))
            }
            mailbox.yield(.answered(box: number, answer))
        }
        deadlineTask = signal(.answered(box: number, .timedOut), after: prompt.timeout + Self.grace)
    }

    /// Returns once the box is gone, so that there are never two.
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
        // On the actor, which takes the signal without another thread.
        Task {
            do {
                try await ports.timer.sleep(for: duration)
                mailbox.yield(signal)
            } catch {
                // Cancelled: nobody waits for it any more.
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
    /// Whether the driver, the service or the bus failed, so that trying again at once would only go on so.
    fileprivate var callsForPause: Bool {
        switch code {
        case .cancelled, .alreadyInUse, .noEnrolledPrints: false
        default: true
        }
    }
}
