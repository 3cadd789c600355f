/// Keeps the counts of failed attempts where a crash, a restart and a full disk cannot lose them.
public protocol AttemptStore: Sendable {
    /// The counts as last saved.
    ///
    /// - Throws: ``KeychainError`` with `errSecDecode` when the record is damaged: callers then refuse.
    func load() throws(KeychainError) -> AttemptRecord

    /// Saves the counts durably before it returns.
    func save(_ record: AttemptRecord) throws(KeychainError)

    /// Whether, since the start, the store was found to hold something else than what was saved.
    func isTamperedWith() -> Bool

    /// Why nothing can be saved now, as far as that can be told without saving; nil when nothing speaks against it.
    ///
    /// With `needingRoom` a full disk counts too, which stops no count but everything else.
    func fault(needingRoom: Bool) -> KeychainError?
}

extension AttemptStore {
    /// Never, where nobody else can write.
    public func isTamperedWith() -> Bool { false }

    /// None, where there is no disk.
    public func fault(needingRoom: Bool) -> KeychainError? { nil }
}

/// The counts of failed attempts, and what follows from them.
public struct AttemptRecord: Sendable, Equatable {
    /// Fingers that did not match, or were not answered for, since the last success.
    public var biometryFailures: Int
    /// Wrong passcodes since the last right one.
    public var passcodeFailures: Int
    /// When the last wrong passcode was counted: the delay runs from here, and anew after a restart.
    public var lastPasscodeFailure: BootTime?
    /// When the passcode was last right; nil before the first time.
    public var lastPasscodeSuccess: BootTime?
    /// When the keybag was last opened or used with a factor.
    public var lastUse: BootTime?

    /// Holds the counts.
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
