/// Stores the counts of failed attempts so that a crash, a restart or a full disk cannot lose them.
public protocol AttemptStore: Sendable {
    /// The counts as last saved.
    ///
    /// - Throws: ``KeychainError`` with `errSecDecode` if the record is damaged: callers then refuse all attempts.
    func load() throws(KeychainError) -> AttemptRecord

    /// Saves the counts durably before it returns.
    func save(_ record: AttemptRecord) throws(KeychainError)

    /// Whether the stored counts were found, since the start, to differ from those saved.
    func isTamperedWith() -> Bool

    /// Why saving would fail now, as far as that can be told without saving; nil if no reason is known.
    ///
    /// With `needingRoom` a full disk counts too, which prevents everything except saving counts.
    func fault(needingRoom: Bool) -> KeychainError?
}

extension AttemptStore {
    /// False: no other process can write the store.
    public func isTamperedWith() -> Bool { false }

    /// Nil: there is no disk.
    public func fault(needingRoom: Bool) -> KeychainError? { nil }
}

/// The counts of failed attempts, and the times that delays depend on.
public struct AttemptRecord: Sendable, Equatable {
    /// Fingers that did not match, or prompts that were not answered, since the last success.
    public var biometryFailures: Int
    /// Wrong passcodes since the last correct one.
    public var passcodeFailures: Int
    /// When the last wrong passcode was counted: the delay starts here, and again after a restart.
    public var lastPasscodeFailure: BootTime?
    /// When the passcode was last correct; nil before the first time.
    public var lastPasscodeSuccess: BootTime?
    /// When the keybag was last opened, or used with a factor.
    public var lastUse: BootTime?

    /// Creates a record.
    public init(
        biometryFailures: Int = 0,
        passcodeFailures: Int = 0,
        lastPasscodeFailure: BootTime? = nil,
        lastPasscodeSuccess: BootTime? = nil,
        lastUse: BootTime? = nil
    ) {
        self.biometryFailures = biometryFailures
        self.passcodeFailures = passcodeFailures
        self.lastPasscodeFailure = lastPasscodeFailure
        self.lastPasscodeSuccess = lastPasscodeSuccess
        self.lastUse = lastUse
    }
}
