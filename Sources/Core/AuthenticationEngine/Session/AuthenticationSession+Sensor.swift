import KeychainModel

/// Fingers: when the sensor is armed, what is counted, and how its reports are handled.
extension AuthenticationSession {
    mutating func elapsed(_ number: Int, at now: BootTime) -> [SessionAction] {
        if number == Self.firstLook, case .looking(.atStart) = phase {
            return setup.requirement == .biometryOrPasscode ? lookIsLate(at: now) : []
        }
        guard case .asking(let box, let sensor) = phase, sensor == .waiting(number) else { return [] }
        switch claim {
        case .held: return arm(box, at: now)
        case .pending:
            phase = .asking(box, .claiming)
            return []
        case .none:
            phase = .asking(box, .claiming)
            claim = .pending
            return [.claimSensor]
        }
    }

    mutating func claimed(at now: BootTime) -> [SessionAction] {
        guard claim == .pending else { return [] }
        claim = .held
        switch phase {
        case .stopping(let stop): return proceed(stop.next, at: now)
        case .asking(let box, .claiming): return arm(box, at: now)
        // The settling time still runs: save the count now, because saving takes time too.
        case .asking(_, .waiting): return count(at: now)
        case .idle, .asking, .looking, .trying, .over: return []
        }
    }

    /// Counts the attempt, then arms the sensor.
    private mutating func arm(_ box: Box, at now: BootTime) -> [SessionAction] {
        let actions = count(at: now)
        guard attempt != nil else { return actions }
        phase = .asking(box, .armed)
        return actions + [.armSensor]
    }

    /// Counts an attempt, unless the previous one is still open because no touch was judged.
    private mutating func count(at now: BootTime) -> [SessionAction] {
        guard attempt == nil else { return [] }
        guard !BiometryAttempts(record).isLockedOut else {
            turn(.off)
            return lockedOut(at: now)
        }
        record = BiometryAttempts(record).counted()
        attempt = Attempt()
        return [.count(record)]
    }

    mutating func progressed(_ status: FingerprintStatus, at now: BootTime) -> [SessionAction] {
        guard sensor == .armed else { return [] }
        switch status {
        case .armed:
            attempt?.wasArmed = true
            return []
        case .finger:
            // Naming the finger would need another prompt, which would start the sensor's round again.
            return []
        case .fingerPresent:
            // A touch implies that the sensor was armed, even if that was not reported.
            attempt?.wasArmed = true
            attempt?.hadContact = true
            attempt?.isScanning = true
            return []
        case .retry(let word):
            attempt?.wasArmed = true
            attempt?.hadContact = true
            attempt?.isScanning = false
            retryScans += 1
            let told = miss(MissedTouch.Reason(fprintd: word))
            guard retryScans < setup.configuration.retryScans else {
                return told
                    + biometryEnded(
                        AuthenticationError(
                            .authenticationFailed,
                            cause: DriverCause(domain: "fprintd", code: word),
                            remedy: .retry
                        ),
                        "The sensor could not read the finger.",
                        at: now
                    )
            }
            guard case .asking = phase else { return told }
            message = Self.advice(for: word)
            return told + stop(then: .show, at: now)
        }
    }

    mutating func matched(at now: BootTime) -> [SessionAction] {
        guard sensor == .armed else { return [] }
        attempt = nil
        if case .stopping(let stop) = phase {
            if case .end = stop.next { return proceed(stop.next, at: now) }
            // The sensor's last verdict, from before the fingers changed.
            if passcodeDue == .enrolmentChanged, stage == .passcode { return proceed(stop.next, at: now) }
        }
        return look(.afterMatch) + [.dismissBox]
    }

    /// A match that opens nothing, because its prompt was lost; the finger was right, so the attempt is given back.
    mutating func matchedUnseen(at now: BootTime) -> [SessionAction] {
        guard sensor == .armed else { return [] }
        attempt = nil
        record = BiometryAttempts(record).refunded()
        return [.relax(record)] + sensorFailed(FingerprintError(.cancelled), at: now)
    }

    mutating func refused(at now: BootTime) -> [SessionAction] {
        guard sensor == .armed else { return [] }
        attempt = nil
        let attempts = BiometryAttempts(record)
        let report = [.audit(.authenticationFailed, [.biometry], "no match")] + miss(.noMatch)
        if case .stopping(let stop) = phase {
            switch stop.next {
            case .end: return report + proceed(stop.next, at: now)
            case .tryPasscode:
                if attempts.isLockedOut, stage == .either { stage = .passcode }
                return report + proceed(stop.next, at: now)
            case .show: break
            }
        }
        turn(.off)
        if attempts.isLockedOut { return report + lockedOut(at: now) }
        let tries = attempts.remaining == 1 ? "1 try" : "\(attempts.remaining) tries"
        message = "No match. \(tries) left."
        return report + show()
    }

    /// Tells the request of a touch that missed, unless its end is pending.
    private mutating func miss(_ reason: MissedTouch.Reason) -> [SessionAction] {
        if case .stopping(let stop) = phase, case .end = stop.next { return [] }
        missCount += 1
        return [.tellMiss(MissedTouch(count: missCount, reason: reason))]
    }

    mutating func sensorFailed(_ error: FingerprintError, at now: BootTime) -> [SessionAction] {
        guard sensor == .armed || claim == .pending else { return [] }
        // After any error the driver has released the sensor.
        claim = .none
        if case .stopping(let stop) = phase {
            // Stopped on request: the attempt stays open, unless a touch was just being judged.
            if stop.isArmed, error != FingerprintError(.cancelled) || attempt?.isScanning == true {
                attempt = nil
            }
            return proceed(stop.next, at: now)
        }
        turn(.off)
        if error.code == .alreadyInUse, attempt?.wasArmed != true {
            busyPause = SensorBackoff.next(after: busyPause)
            let words = "The sensor is in use."
            guard let box, box.message != words else { return box == nil ? [] : rest(busyPause) }
            message = words
            sensorDelay = busyPause
            return show()
        }
        attempt = nil
        let failure = AuthenticationError(error)
        return biometryEnded(failure, Self.words(for: failure), at: now)
    }

    mutating func enrolmentChanged(at now: BootTime) -> [SessionAction] {
        passcodeDue = .enrolmentChanged
        switch phase {
        case .trying:
            if stage == .either { stage = .passcode }
            return []
        case .looking(let check):
            guard stage.takesFinger || check == .afterMatch else { return [] }
            // The look-up may have begun before the change.
            phase = .idle(.off)
        case .idle, .asking, .stopping, .over:
            guard stage.takesFinger || box == nil else { return [] }
        }
        return biometryEnded(
            AuthenticationError(.biometryLockout, cause: .enrolmentChanged, remedy: .usePasscode),
            "The enrolled fingers have changed.",
            at: now
        )
    }

    private mutating func lockedOut(at now: BootTime) -> [SessionAction] {
        [.audit(.biometryLockedOut, [.biometry], "")]
            + biometryEnded(
                AuthenticationError(.biometryLockout, remedy: .usePasscode),
                "Fingers are off until the passcode is entered.",
                at: now
            )
    }

    /// Ends biometry for this evaluation: continues with the passcode alone, or ends.
    mutating func biometryEnded(
        _ error: AuthenticationError,
        _ words: String,
        at now: BootTime
    ) -> [SessionAction] {
        guard setup.requirement == .biometryOrPasscode else { return end(error, at: now) }
        message = words
        return askPasscode(at: now)
    }

    /// The message why no finger can be used.
    static func words(for error: AuthenticationError) -> String {
        switch error.code {
        case .biometryNotEnrolled: "No finger is enrolled."
        case .biometryDisconnected: "The fingerprint sensor was disconnected."
        case _ where error.cause?.known == .brokerAway: "The enrolled fingers cannot be checked now."
        case _ where error.cause?.known == .sensorTooWeak: "The fingerprint sensor is too weak for this."
        case _ where error.cause?.known == .sensorUnsafe: "The fingerprint sensor is not safe to use."
        case _ where error.cause?.known == .fingersDelayed:
            "The enrolled fingers have changed and do not count yet."
        default: "The fingerprint sensor cannot be used."
        }
    }

    /// The message for a poor scan, by fprintd's status.
    private static func advice(for word: String) -> String {
        switch word {
        case "verify-swipe-too-short": "The swipe was too short. Try again."
        case "verify-finger-not-centered": "Put the finger on the middle of the sensor."
        case "verify-remove-and-retry": "Lift the finger, then touch again."
        default: "The finger could not be read. Try again."
        }
    }
}
