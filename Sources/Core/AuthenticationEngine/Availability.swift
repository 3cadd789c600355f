public import KeychainModel

/// Reports what is known without a prompt.
extension AuthenticationEngine {
    /// Whether a policy could be evaluated now; shows no prompt.
    public func availability(of policy: AuthenticationPolicy) async -> AuthenticationAvailability {
        let sensor = await lookAtSensor()
        var domainState: [UInt8]?
        var sensorError = sensor.error.map(AuthenticationError.init)
        if let seen = sensor.enrolment {
            do {
                switch await keybag.state() {
                case .unlocked, .lockedAfterFirstUnlock: domainState = try await observe(seen).domainState
                case .notSetUp, .locked, .damaged: break
                }
            } catch {
                if await keybag.state() == .unlocked { sensorError = AuthenticationError(unobserved: error) }
            }
            if seen.isEmpty { sensorError = AuthenticationError(FingerprintError(.noEnrolledPrints)) }
            if seen.sensor.grade == .unsafe { sensorError = .sensorUnsafe }
        }
        return AuthenticationAvailability(
            error: await obstacle(to: policy, sensorError),
            hasSensor: sensor.error.map(\.leavesSensor) ?? true,
            domainState: domainState
        )
    }

    /// Attempts, lockouts and sensor, for `touchstone status`.
    public func status() async -> AuthenticationStatus {
        let sensor = await lookAtSensor()
        if let seen = sensor.enrolment, await keybag.state().comparesEnrolments {
            // A failure can be ignored: an enrolment that cannot be compared now is compared before a finger counts.
            _ = try? await observe(seen)
        }
        var status = AuthenticationStatus(
            sensor: sensor.error.map(\.leavesSensor) ?? true ? sensor.enrolment?.device ?? lastDevice : nil,
            sensorFault: sensor.error?.cause,
            fingers: sensor.enrolment?.fingers ?? [],
            binding: sensor.enrolment?.binding
        )
        status.sensorFacts = sensor.enrolment?.sensor ?? SensorFacts()
        if await keybag.state() != .notSetUp {
            // Not during an attempt that the hardware has not judged yet.
            if runner == nil { status.hardwareFault = await agreeWithHardware(isFirst: true)?.cause }
            status.storeFault = attempts.fault(needingRoom: true)?.cause
        }
        status.isTamperedWith = isCountPutBack || attempts.isTamperedWith()
        guard let record = try? loadRecord() else {
            // Without the counts no attempt is allowed.
            status.isBiometryLockedOut = true
            return status
        }
        let now = clock.now()
        let throttle = PasscodeThrottle(record)
        status.biometryFailures = record.biometryFailures
        status.passcodeFailures = record.passcodeFailures
        status.isBiometryLockedOut =
            BiometryAttempts(record).isLockedOut || passcodeDue(record, at: now) != nil
        status.isClosed = throttle.isClosed
        if case .wait(let delay) = throttle.verdict(at: now) { status.passcodeDelay = delay.wholeSeconds }
        return status
    }

    /// What a look at the sensor found.
    private typealias Look = (enrolment: Enrolment?, error: FingerprintError?)

    /// Looks at the sensor; gives up once this look, or an earlier one that has no answer either, took
    /// ``AuthenticationConfiguration/sensorPatience``, but not before ``AuthenticationConfiguration/lookPatience``: an fprintd that
    /// replies again is noticed while it still owes the reply to an earlier look.
    private func lookAtSensor() async -> Look {
        let age = openLooks.first.flatMap { clock.now().since($0) } ?? .zero
        let silence = FingerprintError(.noReply, message: "fprintd has not replied")
        let patience = max(configuration.sensorPatience - age, configuration.lookPatience)
        let (looks, mailbox) = AsyncStream<Look>.makeStream()
        Task { mailbox.yield(await readSensor()) }
        let wait = Task {
            try await timer.sleep(for: patience)
            mailbox.yield((nil, silence))
        }
        defer { wait.cancel() }
        return await looks.first { _ in true } ?? (nil, silence)
    }

    private func readSensor() async -> Look {
        do {
            return (try await enrolment(), nil)
        } catch {
            return (nil, error)
        }
    }

    /// Why a policy cannot be evaluated; nil if it can.
    private func obstacle(
        to policy: AuthenticationPolicy,
        _ sensorError: AuthenticationError?
    ) async -> AuthenticationError? {
        guard let requirement = policy.requirement else { return AuthenticationError(.companionNotAvailable) }
        let needsFinger = requirement == .biometry
        do {
            let state = try await usableState()
            let record = try loadRecord()
            guard !PasscodeThrottle(record).isClosed else {
                return AuthenticationError(
                    needsFinger ? .biometryLockout : .authenticationFailed,
                    cause: .closed,
                    remedy: .recover
                )
            }
            // During an attempt the hardware has not judged it yet.
            if runner == nil {
                // Where no finger can be given, a prompt for either is one for the passcode.
                let isPasscode = !needsFinger && (sensorError != nil || BiometryAttempts(record).isLockedOut)
                let needed = isPasscode ? .passcode : requirement
                if let fault = await hardwareFault(for: needed, state) {
                    return AuthenticationError(keychain: fault)
                }
            }
            guard needsFinger else { return nil }
            if let sensorError { return sensorError }
            if let wait = await credentialGuard?.fingersWait() { return .fingersDelayed(wait) }
            if BiometryAttempts(record).isLockedOut {
                return AuthenticationError(.biometryLockout, remedy: .usePasscode)
            }
            let isEscrowed = await keybag.holdsEscrow()
            let isOpenable = state == .unlocked || isEscrowed
            let due = passcodeDue(record, at: clock.now()) ?? (isOpenable ? nil : .passcodeDue)
            return due.map { AuthenticationError(.biometryLockout, cause: $0, remedy: .usePasscode) }
        } catch {
            return error
        }
    }
}

extension KeybagState {
    /// Whether the keys needed to compare the enrolled fingers are in memory.
    var comparesEnrolments: Bool {
        switch self {
        case .unlocked, .lockedAfterFirstUnlock: true
        case .notSetUp, .locked, .damaged: false
        }
    }
}

extension FingerprintError {
    /// Whether the sensor is present in spite of the error.
    fileprivate var leavesSensor: Bool {
        switch code {
        case .noSuchDevice, .serviceUnknown, .noBus, .untrustedOwner, .disconnected: false
        default: true
        }
    }
}
