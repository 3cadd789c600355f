public import KeychainModel

/// The enrolled fingers: looked at before any finger counts, and whenever they may have changed.
extension AuthenticationEngine {
    /// Hears of enrolments and of sleep until the task is cancelled; the daemon runs it in a task of its own.
    public func run() async {
        // A delay that a restart interrupted begins now, not when somebody next asks.
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

    /// Looks at the enrolled fingers and lets the keybag compare them with the set it knows.
    ///
    /// A set that nobody can tell from another one now is good for what any finger opens, and for nothing else.
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
                // A locked keybag asks for the passcode first, and is looked at again after it.
                if await keybag.state() == .unlocked {
                    return .failed(AuthenticationError(unobserved: error))
                }
            }
        case .notSetUp, .locked, .damaged: break
        }
        guard !seen.isEmpty else { return .failed(AuthenticationError(FingerprintError(.noEnrolledPrints))) }
        guard seen.binding != .untold || !demand.bindsCurrentSet else { return .failed(.currentSetUntold) }
        return areFingersDoubted ? .changed : .ready
    }

    /// What is enrolled; that nothing is, is a set like any other.
    func enrolment() async throws(FingerprintError) -> Enrolment {
        do {
            let seen = try await reader.enrolment()
            lastDevice = seen.device
            return seen
        } catch {
            guard error.code == .noEnrolledPrints else { throw error }
            return Enrolment(device: lastDevice ?? "", fingers: [], templateDigest: nil, completions: 0)
        }
    }

    /// What is enrolled when a keybag is made; nil when it cannot be seen.
    func enrolmentAtSetUp() async -> Enrolment? {
        do {
            return try await enrolment()
        } catch {
            // Without a sensor nobody's finger is enrolled.
            guard error.code == .noSuchDevice else { return nil }
            return Enrolment(device: "", fingers: [], templateDigest: nil, completions: 0)
        }
    }

    /// Looks at the enrolled fingers before something is bound to them.
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
        _ = try await observe(seen)
        guard !seen.isEmpty else {
            throw KeychainError(AuthenticationError(FingerprintError(.noEnrolledPrints)))
        }
        guard seen.binding != .untold else { throw KeychainError(.currentSetUntold) }
    }

    /// Lets the keybag compare, and draws the consequences of a change.
    func observe(_ seen: Enrolment) async throws(KeychainError) -> EnrolmentObservation {
        let observation = try await keybag.observe(seen)
        doubtFingers(after: seen)
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

    /// What can be seen without templates is enough for a doubt: the passcode comes before a finger that may be a new one.
    ///
    /// No event tells of it: whether the set is another one is found out once its templates are told.
    private func doubtFingers(after seen: Enrolment) {
        defer { lastSeen = seen }
        guard seen.binding == .untold, let lastSeen,
            (lastSeen.device, lastSeen.fingers, lastSeen.completions)
                != (seen.device, seen.fingers, seen.completions)
        else { return }
        areFingersDoubted = true
        reuse.clear()
        tellRunner()
    }

    private func lookForChange() async {
        switch await keybag.state() {
        case .unlocked, .lockedAfterFirstUnlock:
            // What cannot be seen now is looked at again before a finger counts.
            guard let seen = try? await enrolment() else { return }
            do {
                _ = try await observe(seen)
            } catch {
                // Locked meanwhile, it is looked at again after the passcode.
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
    /// Nobody can tell now whether the enrolled fingers are still the ones that something is bound to.
    static var currentSetUntold: AuthenticationError {
        AuthenticationError(.biometryNotAvailable, cause: .brokerAway, remedy: .check)
    }

    /// The enrolled fingers could not be compared: none of them counts.
    init(unobserved error: KeychainError) {
        self.init(
            .biometryNotAvailable,
            cause: error.cause ?? DriverCause(domain: "keybag", code: String(error.status.rawValue)),
            remedy: .check
        )
    }
}
