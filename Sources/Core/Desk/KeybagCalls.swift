package import KeychainModel

/// Calls about the whole keybag and the store.
extension Visit {
    /// Creates the keybag, with a passcode and a recovery code.
    package func setUp(_ prompt: PromptFields) async throws(KeychainError) {
        try await keybag(.setUp, prompt, services.authenticator.setUp)
    }

    /// Unlocks the keybag: prompts for the passcode, unless it is unlocked and fingers count.
    package func unlock(_ prompt: PromptFields) async throws(KeychainError) {
        try await keybag(.unlock, prompt) { request async throws(AuthenticationError) in
            _ = try await services.authenticator.unlock(request)
        }
    }

    /// Locks the keybag and discards the proofs in all contexts of all visits, now or after a time.
    ///
    /// - Parameter seconds: the time, at most ``LockTime/longest``; nil for now. A keychain that is locked now stays so, and is
    ///   not locked again then.
    /// - Throws: ``KeychainError`` with `errSecParam` for another time.
    package func lock(after seconds: UInt64? = nil) async throws(KeychainError) {
        try await serving(.lock) { () async throws(KeychainError) in
            guard let seconds else { return await lockNow() }
            guard (1...UInt64(LockTime.longest)).contains(seconds) else { throw KeychainError(.param) }
            guard await services.keybag.state() == .unlocked else { return }
            desk.lockTimer.set(.seconds(seconds)) { [self] in await lockNow() }
        }
    }

    private func lockNow() async {
        await services.authenticator.lock()
        desk.forgetProofs()
    }

    /// Asks for the old passcode and twice for the new one.
    package func changePasscode(_ prompt: PromptFields) async throws(KeychainError) {
        try await keybag(.changePasscode, prompt, services.authenticator.changePasscode)
    }

    /// Asks for the recovery code and twice for a new passcode.
    package func recover(_ prompt: PromptFields) async throws(KeychainError) {
        try await keybag(.recover, prompt, services.authenticator.recover)
    }

    /// Asks for the passcode and replaces the recovery code.
    package func changeRecoveryCode(_ prompt: PromptFields) async throws(KeychainError) {
        try await keybag(.changeRecoveryCode, prompt, services.authenticator.changeRecoveryCode)
    }

    /// Asks for the recovery code and says whether it is right.
    package func checkRecoveryCode(_ prompt: PromptFields) async throws(KeychainError) {
        try await keybag(.checkRecoveryCode, prompt, services.authenticator.checkRecoveryCode)
    }

    /// Moves the keybag to the best seal of this machine.
    package func migrate(_ prompt: PromptFields) async throws(KeychainError) {
        try await keybag(.migrate, prompt, services.authenticator.migrate)
    }

    /// Sets a code of the user's for the TPM's lockout.
    package func protectLockout(_ prompt: PromptFields) async throws(KeychainError) {
        try await keybag(.protectLockout, prompt, services.authenticator.protectLockout)
    }

    /// Puts the keychain's files aside, so that another one can be created, and discards all proofs.
    package func startOver(_ prompt: PromptFields) async throws(KeychainError) {
        try await keybag(.startOver, prompt, services.authenticator.startOver)
        desk.forgetProofs()
    }

    /// The daemon's status; with the caller's prompt fields, also whether a prompt could be shown there.
    package func status(_ prompt: PromptFields?) async throws(KeychainError) -> StatusReply {
        try await serving(.status) {
            let assurance = await services.keybag.assurance()
            return StatusReply(
                keybag: await services.keybag.state(),
                assurance: assurance.assurance,
                assuranceReasons: assurance.reasons
                    + [services.startFault, services.backupNote, services.trustNote].compactMap(\.self),
                authentication: await services.authenticator.status(),
                promptFault: await services.promptFault(prompt?.origin),
                daemonVersion: services.daemonVersion,
                daemonProcess: DaemonProcess.number,
                storeFaults: services.vault.storeFaults(),
                itemsFault: services.vault.itemsFault(),
                brokerFault: await services.brokerFault(),
                locking: LockingStatus(
                    triggers: services.lockTriggers,
                    sessionsFault: await services.sessionsFault(),
                    screenSaver: await services.screenSaver(),
                    secondsLeft: desk.lockTimer.secondsLeft
                ),
                chip: assurance.chip
            )
        }
    }

    /// Checks every item; reports progress to ``WorkProgress/current``.
    package func check() async throws(KeychainError) -> StoreReport {
        try await serving(.check) { services.vault.check() }
    }

    /// Runs one of the flows of the keybag.
    private func keybag(
        _ method: Method,
        _ prompt: PromptFields,
        _ flow: (PromptRequest) async throws(AuthenticationError) -> Void
    ) async throws(KeychainError) {
        try await serving(method) { () async throws(KeychainError) in
            guard prompt.interactionAllowed else { throw KeychainError(AuthenticationError(.notInteractive)) }
            try await asking { () async throws(AuthenticationError) in
                try await flow(request(prompt))
            }
            try requireSameAsker()
        }
    }
}
