import KeychainModel

/// The counts of failed attempts, saved on disk and kept by hardware.
///
/// If the hardware counts wrong passcodes, its count is authoritative: it cannot be rolled back, and it counts exactly
/// the attempts it judged. If the hardware's count is higher, the saved counts are an older copy. If it is lower, a
/// passcode was counted on disk and never judged, because the hardware was silent, cleared or absent: that attempt is
/// given back when the hardware reports its count, and not before.
extension AuthenticationEngine {
    /// The saved counts.
    ///
    /// A delay during which the machine was restarted starts again, and the new start is saved.
    func loadRecord() throws(AuthenticationError) -> AttemptRecord {
        do {
            let record = try attempts.load()
            guard let restarted = PasscodeThrottle(record).restarted(at: clock.now()) else { return record }
            try attempts.save(restarted)
            return restarted
        } catch {
            throw AuthenticationError(unsaved: error)
        }
    }

    /// The counts, checked before a prompt is shown.
    ///
    /// - Throws: ``AuthenticationError`` if nothing could be counted, or if a passcode is needed that could not be
    ///   judged: then no prompt is shown.
    func judgedRecord(
        for requirement: AuthenticationRequirement,
        _ state: KeybagState
    ) async throws(AuthenticationError) -> AttemptRecord {
        if let fault = attempts.fault(needingRoom: false) { throw AuthenticationError(unsaved: fault) }
        if let fault = await hardwareFault(for: requirement, state) {
            throw AuthenticationError(keychain: fault)
        }
        return try loadRecord()
    }

    /// Why the hardware cannot open what a requirement needs opened; nil if it can, or is not needed.
    func hardwareFault(
        for requirement: AuthenticationRequirement,
        _ state: KeybagState
    ) async -> KeychainError? {
        let isFingerEnough: Bool
        switch requirement {
        case .passcode, .biometryAndPasscode: isFingerEnough = false
        case .biometry, .biometryOrPasscode:
            guard state != .unlocked else { return nil }
            isFingerEnough = await keybag.holdsEscrow()
        }
        let fault = await agreeWithHardware(isFirst: true)
        // The chip's lockout is about passcodes; what is in escrow opens without one.
        return isFingerEnough && fault?.cause == .chipLockout ? nil : fault
    }

    /// Sets the saved count of wrong passcodes to the hardware's count; no attempt may be running.
    ///
    /// - Parameter isFirst: whether no passcode was tried since the counts last agreed: a higher hardware count is then
    ///   reported as tampering. After an attempt it may be higher because a command was sent twice.
    /// - Returns: why no passcode can be judged; nil if one can.
    @discardableResult
    func agreeWithHardware(isFirst: Bool) async -> KeychainError? {
        // A right passcode was just judged, so no failure is counted.
        if !isFirst, (try? attempts.load())?.passcodeFailures == 0 { return nil }
        let counted: Int?
        do {
            counted = try await keybag.countedPasscodeFailures()
        } catch {
            return error
        }
        guard let counted, runner == nil, var record = try? attempts.load(),
            record.passcodeFailures != counted
        else { return nil }
        if counted > record.passcodeFailures {
            if isFirst {
                isCountPutBack = true
                audit.record(
                    AuditEvent(
                        .tamperDetected,
                        detail:
                            "attempts: the TPM counted \(counted) wrong passcodes, the file \(record.passcodeFailures)"
                    )
                )
            }
            record.lastPasscodeFailure = clock.now()
        }
        record.passcodeFailures = counted
        // If this cannot be saved, the next attempt is refused for the same reason.
        try? attempts.save(record)
        return nil
    }
}
