public import KeychainModel

/// Authenticates the user: shows one prompt at a time, counts each attempt before it is made, and returns a proof for
/// each success.
///
/// ```swift
/// let engine = AuthenticationEngine(
///     reader: reader, prompter: prompter, keybag: keychain, attempts: attempts,
///     clock: SystemBootClock(), audit: log
/// )
/// async let _: Void = engine.run()
/// let proof = try await engine.evaluate(evaluation)
/// ```
public actor AuthenticationEngine: Authenticator {
    let reader: any FingerprintReader
    let prompter: any SecretPrompter
    let keybag: any KeybagKeeper
    let attempts: any AttemptStore
    let clock: any BootClock
    let timer: any Clock<Duration>
    let audit: any AuditLog
    /// The user's sessions on seats; nil if they are not watched.
    let seats: (any SeatSessions)?
    /// Makes changes of credentials wait; nil if none ever does.
    let credentialGuard: (any CredentialGuard)?
    let configuration: AuthenticationConfiguration

    /// The channels on which the passcode was typed since this engine was created.
    var seen: SeenChannels
    var reuse = FactorReuse()
    /// When the user authenticated at the prompts of each program since this engine was created.
    var past = PastAuthentications()
    var rate = PromptRate()
    var silence = CallerSilence()
    var backoff = SensorBackoff()
    /// Whether the enrolled fingers changed since the passcode was last entered.
    var areFingersDoubted = false
    /// The name of the last sensor, reported for an enrolment that has become empty.
    var lastDevice: String?
    /// Whether the sensor was weak when the fingers were last compared before a finger counts.
    var isSensorWeak = true
    /// The last enrolment seen since the start.
    var lastSeen: Enrolment?
    /// When the looks at the enrolment began that have no answer yet, the oldest first.
    var openLooks: [BootTime] = []

    var queue = PromptQueue()
    /// The number of turns that were taken.
    var turnCount: UInt64 = 0
    var waiting: [Int: CheckedContinuation<AuthenticationError?, Never>] = [:]
    /// The origin of the request that has the turn.
    var turnOrigin: PromptOrigin?
    /// The channels its prompts could appear on, determined when the request arrived.
    var turnChannels: Set<PromptChannel> = []
    /// Requests that wait for the result of one running unlock, by user.
    var unlocks: [UInt32: UnlockGroup] = [:]
    var lastUnlockTicket = 0
    var runner: SessionRunner?
    /// The prompt of a flow that consists of several prompts.
    var flowBox: Task<BoxAnswer, Never>?
    /// Whether the hardware counted more wrong passcodes than the saved record: an older copy was restored.
    var isCountPutBack = false
    /// The channel of the last entry in such a flow.
    var flowChannel: PromptChannel?
    /// Why the request that has the turn was ended from outside.
    var interruption: Interruption?

    /// Creates an engine.
    ///
    /// - Parameters:
    ///   - reader: the sensor.
    ///   - prompter: shows the prompts.
    ///   - keybag: the keybag that a passcode opens.
    ///   - attempts: the store of the counts of failed attempts.
    ///   - clock: the clock that delays are measured with.
    ///   - audit: the log of security events.
    ///   - seats: the user's sessions on seats: while the one of a prompt is not active, the prompt is not shown; nil to show
    ///     it always.
    ///   - credentialGuard: makes changes of credentials wait; nil if none ever does.
    ///   - configuration: limits and timeouts.
    ///   - timer: the clock for short waits.
    public init(
        reader: any FingerprintReader,
        prompter: any SecretPrompter,
        keybag: any KeybagKeeper,
        attempts: any AttemptStore,
        clock: any BootClock,
        audit: any AuditLog,
        seats: (any SeatSessions)? = nil,
        credentialGuard: (any CredentialGuard)? = nil,
        configuration: AuthenticationConfiguration = AuthenticationConfiguration(),
        timer: any Clock<Duration> = ContinuousClock()
    ) {
        self.init(
            reader: reader,
            prompter: prompter,
            keybag: keybag,
            attempts: attempts,
            clock: clock,
            audit: audit,
            seats: seats,
            credentialGuard: credentialGuard,
            configuration: configuration,
            timer: timer,
            seen: SeenChannels()
        )
    }

    /// Creates an engine that has already seen the passcode typed on some channels.
    init(
        reader: any FingerprintReader,
        prompter: any SecretPrompter,
        keybag: any KeybagKeeper,
        attempts: any AttemptStore,
        clock: any BootClock,
        audit: any AuditLog,
        seats: (any SeatSessions)? = nil,
        credentialGuard: (any CredentialGuard)? = nil,
        configuration: AuthenticationConfiguration,
        timer: any Clock<Duration>,
        seen: SeenChannels
    ) {
        self.seen = seen
        self.reader = reader
        self.prompter = prompter
        self.keybag = keybag
        self.attempts = attempts
        self.clock = clock
        self.timer = timer
        self.audit = audit
        self.seats = seats
        self.credentialGuard = credentialGuard
        self.configuration = configuration
    }

    /// Authenticates as the evaluation requires; cancelling the task dismisses the prompt.
    public func evaluate(_ evaluation: Evaluation) async throws(AuthenticationError) -> AuthenticationProof {
        var demand = try EvaluationDemand(evaluation.target)
        if !evaluation.request.allowsFinger { demand = try demand.withoutFinger() }
        guard demand.requirement != nil else {
            return AuthenticationProofMaker.proof(
                of: [],
                for: demand,
                at: clock.now(),
                context: evaluation.context,
                passcodeKey: nil,
                isOfWeakSensor: false
            )
        }
        if let proof = await reused(evaluation, demand) {
            audit.record(
                AuditEvent(
                    .authenticationSucceeded,
                    caller: evaluation.request.caller,
                    factors: proof.factors,
                    detail: "reused"
                )
            )
            return proof
        }
        _ = try await usableState()
        return try await takingTurns(evaluation.request) { () async throws(AuthenticationError) in
            try await self.ask(demand, for: evaluation.request, context: evaluation.context)
        }
    }

    /// Unlocks the keybag if it is locked, with the passcode, or with a finger if hardware holds the key in escrow.
    ///
    /// Also asks for the passcode if the keybag is unlocked and no finger counts until it is entered.
    ///
    /// Requests that arrive meanwhile get the outcome of the same prompt.
    public func unlock(_ request: PromptRequest) async throws(AuthenticationError) -> AuthenticationProof? {
        guard try await isPasscodeAwaited() else { return nil }
        return try await joiningUnlocks(request) {
            () async throws(AuthenticationError) -> AuthenticationProof? in
            try await self.takingTurns(request) {
                () async throws(AuthenticationError) -> AuthenticationProof? in
                // The request that had the turn before may have unlocked it.
                guard try await self.isPasscodeAwaited() else { return nil }
                let isUnlocked = await self.keybag.state() == .unlocked
                let holdsEscrow = await self.keybag.holdsEscrow()
                let requirement: AuthenticationRequirement =
                    !isUnlocked && holdsEscrow && request.allowsFinger ? .biometryOrPasscode : .passcode
                return try await self.ask(
                    EvaluationDemand(policyRequirement: requirement),
                    for: request,
                    isUnlock: true
                )
            }
        }
    }

    /// Whether the keybag is locked, or fingers wait for the passcode: they changed, were locked out, or it is due.
    private func isPasscodeAwaited() async throws(AuthenticationError) -> Bool {
        guard try await usableState() == .unlocked else { return true }
        // Counts that cannot be read refuse fingers with an error of their own.
        guard let record = try? loadRecord() else { return false }
        return passcodeDue(record, at: clock.now()) != nil || BiometryAttempts(record).isLockedOut
    }

    /// The last time that the user showed each kind of factor at prompts of a program, or, for nil, of any program.
    ///
    /// A reuse of a finger is none, and neither is a new passcode, a recovery code or an unlock that another program's prompt
    /// shared. A lock forgets nothing.
    public func lastAuthentications(for program: AccessGroup?) -> [PastAuthentication] {
        past.last(of: program, at: clock.now())
    }

    /// Locks the keybag and forgets every success; called when the machine sleeps, the user leaves or asks for it.
    public func lock() async {
        reuse.clear()
        interrupt(.locked)
        await keybag.lock()
    }
}

/// Runs one evaluation.
extension AuthenticationEngine {
    /// Runs the session of one evaluation; the request must have the turn.
    func ask(
        _ demand: EvaluationDemand,
        for request: PromptRequest,
        heading: String? = nil,
        isUnlock: Bool = false,
        context: ContextID = ContextID(connection: 0, number: 0)
    ) async throws(AuthenticationError) -> AuthenticationProof {
        guard let requirement = demand.requirement else { throw AuthenticationError(.invalidParameter) }
        let state = try await usableState()
        let record = try await judgedRecord(for: requirement, state)
        let now = clock.now()
        let passcodeDue = passcodeDue(record, at: now)
        if passcodeDue != nil || BiometryAttempts(record).isLockedOut { await keybag.forgetEscrow() }
        let isEscrowed = await keybag.holdsEscrow()
        let runner = SessionRunner(ports(demand, isUnlock ? request.caller.uid : nil), request: request)
        self.runner = runner
        if let interruption { runner.interrupt(interruption) }
        let outcome = await runner.run(
            SessionSetup(
                requirement: requirement,
                record: record,
                isKeybagUnlocked: state == .unlocked || isEscrowed,
                passcodeDue: passcodeDue,
                seen: seen,
                channels: turnChannels,
                sensorDelay: backoff.remaining(at: now),
                request: request,
                heading: heading,
                configuration: configuration
            )
        )
        self.runner = nil
        await agreeWithHardware(isFirst: false)
        let proof: AuthenticationProof
        do {
            proof = try self.proof(from: outcome, demand, request, context)
        } catch {
            if error.code == .biometryLockout { await keybag.forgetEscrow() }
            throw error
        }
        if proof.factors == [.biometry], await keybag.state() != .unlocked {
            do {
                try await keybag.open(with: proof)
            } catch {
                throw AuthenticationError(.biometryLockout, cause: error.cause, remedy: .usePasscode)
            }
        }
        past.note(proof, of: request.caller.accessGroup)
        return proof
    }

    private func proof(
        from outcome: SessionRunner.Outcome,
        _ demand: EvaluationDemand,
        _ request: PromptRequest,
        _ context: ContextID
    ) throws(AuthenticationError) -> AuthenticationProof {
        let now = clock.now()
        switch outcome.sensor {
        case .unused: break
        case .worked: backoff.worked()
        case .broke: backoff.failed(at: now)
        }
        let factors: Set<AuthenticationFactor>
        do {
            factors = try outcome.result.get()
        } catch {
            if outcome.wasPrompted { countPrompt(of: request.caller, endedBy: error) }
            throw error
        }
        promptSucceeded(of: request.caller)
        let proof = AuthenticationProofMaker.proof(
            of: factors,
            for: demand,
            at: now,
            context: context,
            passcodeKey: outcome.passcodeKey,
            isOfWeakSensor: isSensorWeak
        )
        if factors.contains(.biometry), let process = FactorReuse.Process(request.caller) {
            reuse.remember(
                FactorReuse.Success(
                    time: now,
                    satisfied: demand.satisfied(by: [.biometry]),
                    operation: demand.operation,
                    isOfWeakSensor: isSensorWeak
                ),
                of: process
            )
        }
        return proof
    }

    /// A proof from a recent finger of the same process, if the app allows its reuse.
    private func reused(_ evaluation: Evaluation, _ demand: EvaluationDemand) async -> AuthenticationProof? {
        guard evaluation.reuse > .zero, demand.takesFingerAlone,
            let process = FactorReuse.Process(evaluation.request.caller),
            recentSuccess(of: process, evaluation.reuse, demand) != nil,
            await keybag.state() == .unlocked, await checkEnrolment(for: demand) == .ready,
            // Look it up again: the success may have expired or been cleared during the waits above.
            let success = recentSuccess(of: process, evaluation.reuse, demand)
        else { return nil }
        return AuthenticationProofMaker.proof(
            of: [.biometry],
            for: demand,
            at: success.time,
            context: evaluation.context,
            passcodeKey: nil,
            isOfWeakSensor: success.isOfWeakSensor
        )
    }

    private func recentSuccess(
        of process: FactorReuse.Process,
        _ window: Duration,
        _ demand: EvaluationDemand
    ) -> FactorReuse.Success? {
        reuse.success(
            of: process,
            covering: demand.satisfied(by: [.biometry]),
            operation: demand.operation,
            strongSensorOnly: demand.wantsStrongSensor,
            within: window,
            at: clock.now()
        )
    }

    /// The ports of a session; `unlocking`: the user whose other requests share the outcome.
    private func ports(_ demand: EvaluationDemand, _ unlocking: UInt32?) -> SessionRunner.Ports {
        SessionRunner.Ports(
            reader: reader,
            prompter: prompter,
            keybag: keybag,
            attempts: attempts,
            clock: clock,
            timer: timer,
            audit: audit,
            checkEnrolment: { await self.checkEnrolment(for: demand) },
            passcodeAccepted: { await self.passcodeAccepted(on: $0) },
            countOthers: { if let unlocking { await self.joinedCount(of: unlocking) } else { 0 } }
        )
    }

    private func passcodeAccepted(on channel: PromptChannel?) {
        areFingersDoubted = false
        seen.note(channel)
    }

    /// Tells a running evaluation that the enrolled fingers changed.
    func tellRunner() { runner?.enrolmentChanged() }
}
