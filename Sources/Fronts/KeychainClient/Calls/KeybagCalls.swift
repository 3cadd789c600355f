import CBOR
public import KeychainModel

/// The keybag: its state, its passcode.
extension RemoteKeychain {
    /// Where everything stands; no prompt.
    ///
    /// With `origin`, where a prompt would be, the fault that it would have there is told as well; without, what would
    /// fail anywhere.
    public func status(promptsAt origin: PromptOrigin? = nil) throws(KeychainError) -> StatusReply {
        guard let origin else { return try call(.status, EmptyBody(), reply: StatusReply.self) }
        return try call(.status, PromptFields(origin: origin), reply: StatusReply.self)
    }

    /// Reads the whole store and reports what is not authentic; no prompt.
    ///
    /// `progress` is called on any thread, from the second second on.
    public func check(
        progress: @escaping @Sendable (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) throws(KeychainError) -> StoreReport {
        try call(.check, EmptyBody(), reply: CheckReply.self, progress: progress).report
    }

    /// Asks for the passcode and looks for items that are not as they were left; with `accepting`, makes what is good the
    /// present state.
    ///
    /// `progress` is called on any thread, from the second second on.
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

    /// Makes the keybag: asks for a new passcode and shows the recovery code.
    ///
    /// - Throws: ``KeychainError`` with `errSecDuplicateItem` when there is one.
    public func setUp(_ prompt: PromptFields, cancellation: Cancellation? = nil) throws(KeychainError) {
        try prompted(.setUp, prompt, cancellation)
    }

    /// Asks for the passcode, unless the keybag is unlocked.
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

    /// Asks for the passcode and moves the keybag to the best seal that this machine has.
    ///
    /// - Throws: ``KeychainError`` with `errSecParam` when it has that seal already.
    public func migrate(_ prompt: PromptFields, cancellation: Cancellation? = nil) throws(KeychainError) {
        try prompted(.migrate, prompt, cancellation)
    }

    /// Shows a code for the TPM's lockout, has it typed back, and sets it.
    ///
    /// - Throws: ``KeychainError`` with `errSecParam` without a TPM, or when its lockout has an owner already.
    public func protectLockout(
        _ prompt: PromptFields,
        cancellation: Cancellation? = nil
    ) throws(KeychainError) {
        try prompted(.protectLockout, prompt, cancellation)
    }

    /// Locks the keybag and forgets what was shown.
    public func lock() throws(KeychainError) {
        try call(.lock, EmptyBody(), replies: Acknowledgement())
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
