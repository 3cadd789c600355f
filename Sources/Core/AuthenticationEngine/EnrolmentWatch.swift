public import KeychainModel

/// Watches the enrolled fingers: compares them before any finger counts, and whenever they may have changed.
extension AuthenticationEngine {
    /// Handles changes of enrolment and sleep until the task is cancelled; the daemon runs it in a task of its own.
    public func run() async {
        // A delay interrupted by a restart begins now, not at the next request.
        do {
            _ = try loadRecord()
        } catch {
            audit.record(AuditEvent(.backgroundFailed, detail: "attempts \(error.auditDetail)"))
        }
        for await change in await reader.changes() {
            switch change {
            case .enrolment, .service: await lookForChange()
            case .suspend:
                await suspend()
                await reader.allowSleep()
            }
        }
    }

    /// Reads the enrolment and lets the keybag compare it with the known set.
    ///
    /// An enrolment whose templates cannot be read now satisfies demands that any finger satisfies, and no others.
    func checkEnrolment(for demand: EvaluationDemand) async -> EnrolmentCheck {
        let seen: Enrolment
        do {
            seen = try await enrolment()
        } catch {
            return .failed(AuthenticationError(error))
        }
        switch await keybag.state() {
        case .unlocked, .lockedAfterFirstUnlock:
            do {
                _ = try await observe(seen)
            } catch {
                // A locked keybag asks for the passcode first; the enrolment is checked again after it.
                if await keybag.state() == .unlocked {
                    return .failed(AuthenticationError(unobserved: error))
                }
            }
        case .notSetUp, .locked, .damaged: break
        }
        guard !seen.isEmpty else { return .failed(AuthenticationError(FingerprintError(.noEnrolledPrints))) }
        guard seen.binding != .untold || !demand.bindsCurrentSet else { return .failed(.currentSetUntold) }
        guard seen.sensor.grade != .unsafe else { return .failed(.sensorUnsafe) }
        isSensorWeak = seen.sensor.isWeak
        guard !demand.wantsStrongSensor || !isSensorWeak else { return .failed(.sensorTooWeak) }
        if let wait = await credentialGuard?.fingersWait() { return .failed(.fingersDelayed(wait)) }
        return areFingersDoubted ? .changed : .ready
    }

    /// The present enrolment; no enrolled finger is a valid, empty enrolment.
    ///
    /// - Throws: ``FingerprintError``; `disconnected` rather than `noSuchDevice` if there was a sensor since the daemon's start.
    func enrolment() async throws(FingerprintError) -> Enrolment {
        let beginning = clock.now()
        openLooks.append(beginning)
        // Two that began at one time are alike.
        defer { openLooks.firstIndex(of: beginning).map { _ = openLooks.remove(at: $0) } }
        do {
            let seen = try await reader.enrolment()
            lastDevice = seen.device
            return seen
        } catch {
            if error.code == .noSuchDevice, lastDevice != nil { throw FingerprintError(.disconnected) }
            guard error.code == .noEnrolledPrints else { throw error }
            return Enrolment(device: lastDevice ?? "", fingers: [], templateDigest: nil, completions: 0)
        }
    }

    /// The enrolment when a keybag is created; nil if it cannot be read.
    func enrolmentAtSetUp() async -> Enrolment? {
        do {
            return try await enrolment()
        } catch {
            // Without a sensor no finger is enrolled.
            guard error.code == .noSuchDevice || error.code == .disconnected else { return nil }
            return Enrolment(device: "", fingers: [], templateDigest: nil, completions: 0)
        }
    }

    /// Reads and compares the enrolment before an item is bound to it.
    public func observeCurrentSet() async throws(KeychainError) {
        switch await keybag.state() {
        case .notSetUp: throw KeychainError(.notAvailable, cause: .notSetUp, remedy: .setPasscode)
        case .damaged: throw KeychainError(.decode, cause: .damaged, remedy: .check)
        case .locked: throw KeychainError(.interactionNotAllowed, cause: .locked, remedy: .unlock)
        case .lockedAfterFirstUnlock, .unlocked: break
        }
        let seen: Enrolment
        do {
            seen = try await enrolment()
        } catch {
            throw KeychainError(AuthenticationError(error))
        }
        guard seen.sensor.grade != .unsafe else { throw KeychainError(.sensorUnsafe) }
        _ = try await observe(seen)
        guard !seen.isEmpty else {
            throw KeychainError(AuthenticationError(FingerprintError(.noEnrolledPrints)))
        }
        guard seen.binding != .untold else { throw KeychainError(.currentSetUntold) }
    }

    /// Lets the keybag compare the enrolment, and handles a change.
    func observe(_ seen: Enrolment) async throws(KeychainError) -> EnrolmentObservation {
        let observation = try await keybag.observe(seen)
        let areDoubted = doubtFingers(after: seen)
        if observation.changed || areDoubted { await credentialGuard?.fingersChanged() }
        guard observation.changed else { return observation }
        areFingersDoubted = true
        reuse.clear()
        audit.record(
            AuditEvent(
                .enrolmentChanged,
                detail: "\(seen.fingers.count) enrolled, seen by \(observation.binding)"
            )
        )
        tellRunner()
        return observation
    }

    /// Requires the passcode if an enrolment read without templates differs from the last one: a finger may be new.
    ///
    /// No audit event is recorded: whether the set changed is known once its templates can be read.
    ///
    /// - Returns: whether it differs.
    private func doubtFingers(after seen: Enrolment) -> Bool {
        defer { lastSeen = seen }
        guard seen.binding == .untold, let lastSeen,
            (lastSeen.device, lastSeen.fingers, lastSeen.completions)
                != (seen.device, seen.fingers, seen.completions)
        else { return false }
        areFingersDoubted = true
        reuse.clear()
        tellRunner()
        return true
    }

    private func lookForChange() async {
        switch await keybag.state() {
        case .unlocked, .lockedAfterFirstUnlock:
            // An enrolment that cannot be read now is read again before a finger counts.
            guard let seen = try? await enrolment() else { return }
            do {
                _ = try await observe(seen)
            } catch {
                // If the keybag was locked meanwhile, the enrolment is checked again after the passcode.
                guard error.cause != .locked else { return }
                let detail = AuthenticationError(unobserved: error).auditDetail
                audit.record(AuditEvent(.backgroundFailed, detail: "enrolment \(detail)"))
            }
        case .notSetUp, .locked, .damaged: break
        }
    }

    private func suspend() async {
        reuse.clear()
        interrupt(.suspended)
        audit.record(AuditEvent(.suspended))
        if configuration.locksKeybagOnSuspend { await keybag.lock() }
    }
}

extension AuthenticationError {
    /// The templates cannot be read now, so the enrolment cannot be compared with the one that an item is bound to.
    static var currentSetUntold: AuthenticationError {
        AuthenticationError(.biometryNotAvailable, cause: .brokerAway, remedy: .check)
    }

    /// A finger on a weak sensor does not count for this.
    static var sensorTooWeak: AuthenticationError {
        AuthenticationError(
            .biometryNotAvailable,
            cause: DriverCause(.sensorTooWeak),
            remedy: .usePasscode
        )
    }

    /// The enrolled fingers could not be compared, so no finger counts.
    init(unobserved error: KeychainError) {
        self.init(
            .biometryNotAvailable,
            cause: error.cause ?? DriverCause(domain: "keybag", code: String(error.status.rawValue)),
            remedy: .check
        )
    }
}
