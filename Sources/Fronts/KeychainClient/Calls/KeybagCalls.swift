import CBOR
public import KeychainModel

/// Requests about the keybag: its state and its passcode.
extension RemoteKeychain {
    /// The state of keybag, sensor and hardware; shows no prompt.
    ///
    /// With `origin`, includes the fault that a prompt would have there; without it, only faults that would occur
    /// anywhere.
    public func status(promptsAt origin: PromptOrigin? = nil) throws(KeychainError) -> StatusReply {
        guard let origin else { return try call(.status, EmptyBody(), reply: StatusReply.self) }
        return try call(.status, PromptFields(origin: origin), reply: StatusReply.self)
    }

    /// Checks the whole store and reports what is not authentic; shows no prompt.
    ///
    /// `progress` is called on any thread, after the first second.
    public func check(
        progress: @escaping @Sendable (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) throws(KeychainError) -> StoreReport {
        try call(.check, EmptyBody(), reply: CheckReply.self, progress: progress).report
    }

    /// Asks for the passcode and finds items that were tampered with; with `accepting`, makes the intact items the
    /// current state.
    ///
    /// `progress` is called on any thread, after the first second.
    public func repair(
        _ prompt: PromptFields,
        accepting: Bool,
        cancellation: Cancellation? = nil,
        progress: @escaping @Sendable (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) throws(KeychainError) -> StoreRepair {
        try prompt.checkLimits()
        let request = RepairRequest(prompt: prompt, accepts: accepting)
        return try call(
            .repair,
            request,
            reply: RepairReply.self,
            cancellation: cancellation,
            progress: progress
        ).repair
    }

    /// Creates the keybag: asks for a new passcode and shows the recovery code.
    ///
    /// - Throws: ``KeychainError`` with `errSecDuplicateItem` if there is a keybag.
    public func setUp(_ prompt: PromptFields, cancellation: Cancellation? = nil) throws(KeychainError) {
        try prompted(.setUp, prompt, cancellation)
    }

    /// Asks for the passcode, unless the keybag is unlocked and no finger waits for it.
    public func unlock(_ prompt: PromptFields, cancellation: Cancellation? = nil) throws(KeychainError) {
        try prompted(.unlock, prompt, cancellation)
    }

    /// Asks for the old passcode and for a new one.
    public func changePasscode(_ prompt: PromptFields, cancellation: Cancellation? = nil)
        throws(KeychainError)
    {
        try prompted(.changePasscode, prompt, cancellation)
    }

    /// Asks for the recovery code and for a new passcode.
    public func recover(_ prompt: PromptFields, cancellation: Cancellation? = nil) throws(KeychainError) {
        try prompted(.recover, prompt, cancellation)
    }

    /// Asks for the passcode, shows a new recovery code, and replaces the former one.
    public func changeRecoveryCode(_ prompt: PromptFields, cancellation: Cancellation? = nil)
        throws(KeychainError)
    {
        try prompted(.changeRecoveryCode, prompt, cancellation)
    }

    /// Asks for the recovery code, and throws if it is not right.
    public func checkRecoveryCode(_ prompt: PromptFields, cancellation: Cancellation? = nil)
        throws(KeychainError)
    {
        try prompted(.checkRecoveryCode, prompt, cancellation)
    }

    /// Has the user confirm it, and puts the keychain's files aside, so that another one can be created.
    public func startOver(_ prompt: PromptFields, cancellation: Cancellation? = nil) throws(KeychainError) {
        try prompted(.startOver, prompt, cancellation)
    }

    /// Asks for the passcode and reseals the keybag with the best protection of this machine.
    ///
    /// - Throws: ``KeychainError`` with `errSecParam` if it already has that protection.
    public func migrate(_ prompt: PromptFields, cancellation: Cancellation? = nil) throws(KeychainError) {
        try prompted(.migrate, prompt, cancellation)
    }

    /// Shows a code for the TPM's lockout authorisation, asks the user to type it, and sets it.
    ///
    /// - Throws: ``KeychainError`` with `errSecParam` without a TPM, or if its lockout authorisation is
    ///   already set.
    public func protectLockout(
        _ prompt: PromptFields,
        cancellation: Cancellation? = nil
    ) throws(KeychainError) {
        try prompted(.protectLockout, prompt, cancellation)
    }

    /// Locks the keybag and discards all authentications, now or after a time.
    ///
    /// - Parameter seconds: the time, at most ``LockTime/longest``; the daemon keeps it, and a lock before then ends it. Nil for
    ///   now.
    /// - Throws: ``KeychainError`` with `errSecParam` for another time.
    public func lock(after seconds: Int? = nil) throws(KeychainError) {
        let request = LockRequest(after: seconds.map { UInt64(clamping: $0) })
        try call(.lock, request, replies: Acknowledgement())
    }

    private func prompted(
        _ method: Method,
        _ prompt: PromptFields,
        _ cancellation: Cancellation?
    ) throws(KeychainError) {
        try prompt.checkLimits()
        try call(method, prompt, replies: Acknowledgement(), cancellation: cancellation)
    }
}
