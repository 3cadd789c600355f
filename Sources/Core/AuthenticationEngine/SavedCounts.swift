import KeychainModel

/// The counts of failed attempts: as they are saved, and as hardware has them.
///
/// Where hardware counts wrong passcodes, it is right: nobody puts its count back, and it counts what it judged and
/// nothing else. More there than here means that the saved counts are an older copy. Fewer means that a passcode was
/// counted and never judged, because the hardware was silent, cleared or away: that attempt is given back then, by its
/// own word, and not before.
extension AuthenticationEngine {
    /// The counts, as they are saved.
    ///
    /// A delay during which the machine was restarted begins anew, durably.
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

    /// The counts before a box is shown.
    ///
    /// - Throws: ``AuthenticationError`` when nothing could be counted, and when a passcode is needed that could not be
    ///   judged: nobody is asked in vain.
    func judgedRecord(
        for requirement: AuthenticationRequirement,
        _ state: KeybagState
    ) async throws(AuthenticationError) -> AttemptRecord {
        if let fault = attempts.fault(needingRoom: false) { throw AuthenticationError(unsaved: fault) }
        let isPasscodeNeeded: Bool
        switch requirement {
        case .passcode, .biometryAndPasscode: isPasscodeNeeded = true
        case .biometry, .biometryOrPasscode: isPasscodeNeeded = state != .unlocked
        }
        if isPasscodeNeeded, let fault = await agreeWithHardware(isFirst: true) {
            throw AuthenticationError(keychain: fault)
        }
        return try loadRecord()
    }

    /// Brings the saved count of wrong passcodes in step with the hardware's; nothing is being tried meanwhile.
    ///
    /// - Parameter isFirst: whether no passcode was tried since they were last in step: a higher count is told as
    ///   tampering then. After a try it may be higher because a command was sent twice.
    /// - Returns: why no passcode can be judged; nil when one can.
    @discardableResult
    func agreeWithHardware(isFirst: Bool) async -> KeychainError? {
        // A right passcode has just been judged, and nothing stands against it.
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
        // Where it cannot be saved, the next count is refused for the same reason.
        try? attempts.save(record)
        return nil
    }
}
