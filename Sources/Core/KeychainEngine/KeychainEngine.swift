internal import Glibc
public import KeychainModel
internal import SecretMemory

/// Holds the keybag, the items and the private keys: everything opened here is opened with a key, never by a mere
/// decision.
///
/// It runs on its callers' threads (`EngineExecutor`): a look-up needs no thread switch, and a commit blocks the client's
/// own thread. Deriving a passcode's key uses a separate thread.
public actor KeychainEngine {
    let executor = EngineExecutor()
    let directory: StoreDirectory
    let sealer: any KeySealer
    let counters: (any HardwareGuard)?
    let privateKeys: any PrivateKeyHardware
    let attester: (any KeyAttester)?
    let audit: (any AuditLog)?
    /// The counts of failed attempts: one instance per process, because it remembers what it saved.
    public nonisolated let attempts: AttemptFile
    let keybagFile: AtomicFile
    let wallClock: @Sendable () -> Int64
    let requestedCost: PasscodeDerivation.Cost?
    let storeLimits: StoreLimits
    let delays: BackgroundDelays
    /// Whether this daemon has a test part: then it opens only keybags whose assurance is `test`.
    let isForTests: Bool

    /// The keybag, with its keys that are in memory.
    var standing: Standing { didSet { sealing.withLock { $0 = nil } } }
    var record: KeybagRecord? { standing.record }
    /// Seals new items while the engine works for others; nil until the engine has sealed one itself.
    let sealing = Guarded<ItemSealing?>(nil)
    /// The groups known to have items.
    let knownGroups = KnownGroups()
    /// The driver's count at the last observation in this run.
    var seenCompletions: UInt64 = 0
    /// Whether the last observation could not read the templates.
    var isCurrentSetUntold = false

    /// The keybag key in escrow with the hardware; nil if there is none.
    var escrow: Escrow?
    /// Whether the next right passcode seals the keybag again.
    var isMigrating = false

    /// The items; nil before set-up.
    var store: ItemStore?
    /// The hardware's count of the store's generation; nil while unknown.
    var countedGeneration: UInt64?
    var isSettlingGeneration = false
    /// The error for uses of the items; nil if they can be reached.
    var storeFault: KeychainError?
    var pendingWrites: [PendingWrite] = []
    var isCommitDue = false
    /// Empties the log a while after a deletion.
    var purge: Task<Void, Never>?
    /// Checkpoints the log a while after the last change.
    var settling: Task<Void, Never>?
    var lastCommit = ContinuousClock.now
    /// Sweeps the items a while after the first unlock.
    var sweep: Task<Void, Never>?
    var isTamperingReported = false

    private(set) var isKeybagBusy = false
    private var keybagWaiters: [CheckedContinuation<Void, Never>] = []

    /// Opens the keychain of a directory, locked; an empty directory is a keychain that is not set up.
    ///
    /// - Parameters:
    ///   - directory: the directory of its files.
    ///   - sealer: seals the device part of the keybag's keys.
    ///   - counters: hardware that counts epochs and generations; nil if there is none.
    ///   - privateKeys: creates and uses private keys; nil for software.
    ///   - attester: attests private keys kept by hardware; nil if there is none.
    ///   - derivation: the cost of deriving a passcode's key in keybags created here; nil measures it, so that one
    ///     derivation takes at least 500 ms. An existing keybag keeps its own cost.
    ///   - groupsInSection: the most groups of 16 items that are verified together, so that a larger store is not read
    ///     completely at its first unlock; nil for as many as take less than 20 ms.
    ///   - mostItems: the most items before an addition is refused; nil for ``ItemLimits/mostItems``.
    ///   - delays: the delays of background work.
    ///   - isForTests: whether the daemon has a test part. Keybags created here have the assurance `test` permanently; a
    ///     keybag with a higher one is not opened.
    ///   - wallClock: microseconds since 1970, for the dates of items.
    ///   - audit: the log of security events.
    /// - Throws: ``KeychainError`` with `errSecNotAvailable` if a file is not a regular file that only this user can
    ///   access, if a newer version wrote it, or if it is not for this daemon (`isForTests`). Damage does not throw:
    ///   ``state()`` reports it.
    public init(
        directory: StoreDirectory,
        sealer: any KeySealer,
        counters: (any HardwareGuard)? = nil,
        privateKeys: (any PrivateKeyHardware)? = nil,
        attester: (any KeyAttester)? = nil,
        derivation: PasscodeDerivation.Cost? = nil,
        groupsInSection: Int? = nil,
        mostItems: Int? = nil,
        delays: BackgroundDelays = BackgroundDelays(),
        isForTests: Bool = false,
        wallClock: @escaping @Sendable () -> Int64 = KeychainEngine.systemWallClock,
        audit: (any AuditLog)? = nil
    ) throws(KeychainError) {
        try directory.checkFiles()
        self.directory = directory
        self.sealer = sealer
        self.counters = counters
        self.privateKeys = privateKeys ?? SoftwarePrivateKeys()
        self.attester = attester
        self.audit = audit
        self.wallClock = wallClock
        requestedCost = derivation
        self.delays = delays
        storeLimits = StoreLimits(groupsInSection: groupsInSection, items: mostItems)
        self.isForTests = isForTests
        attempts = AttemptFile(directory: directory, audit: audit)
        keybagFile = AtomicFile(.keybag, in: directory, longest: KeybagRecord.longestFile)
        let reading = try Self.readKeybag(keybagFile, directory)
        try Self.checkOpens(reading, isForTests: isForTests)
        try ImportMark(in: directory).settle()
        try ItemReplacement(in: directory).settle()
        switch reading {
        case .missing:
            // Items without a keybag mean a lost keybag, not a keychain that was never set up.
            standing = try ItemStore.hasItems(in: directory) ? .damaged(last: nil) : .notSetUp
            return
        case .authentic(let record): standing = .locked(record)
        case .damaged: standing = .damaged(last: nil)
        }
        do throws(KeychainError) {
            store = try ItemStore(directory: directory, limits: storeLimits)
        } catch {
            // With unreadable items the keybag can still report that; a newer format must not be touched at all.
            if error.cause == KeychainError.newerFormat.cause { throw error }
            storeFault = error
            if error.cause == .logDamaged {
                audit?.record(AuditEvent(.tamperDetected, detail: "items: the log is damaged"))
            }
        }
    }

    /// Runs the engine's jobs on the callers' threads.
    public nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe executor.asUnownedSerialExecutor()
    }

    /// `CLOCK_REALTIME` in microseconds.
    public static let systemWallClock: @Sendable () -> Int64 = {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
    }

    deinit {
        purge?.cancel()
        settling?.cancel()
        sweep?.cancel()
    }

    /// Waits until no other operation uses the keybag; item operations continue meanwhile.
    func enterKeybag() async {
        guard isKeybagBusy else {
            isKeybagBusy = true
            return
        }
        await withCheckedContinuation { keybagWaiters.append($0) }
    }

    func leaveKeybag() {
        if keybagWaiters.isEmpty {
            isKeybagBusy = false
        } else {
            keybagWaiters.removeFirst().resume()
        }
    }

    func report(_ kind: AuditEvent.Kind, factors: Set<AuthenticationFactor> = [], detail: String = "") {
        audit?.record(AuditEvent(kind, factors: factors, detail: detail))
    }
}

extension KeychainEngine {
    enum KeybagReading {
        case missing
        case authentic(KeybagRecord)
        /// With the record if it could be parsed: the recovery code authenticates it by opening it.
        case damaged(KeybagRecord?)
    }

    /// Reads the keybag from the disk.
    func readKeybag() throws(KeychainError) -> KeybagReading {
        let reading = try Self.readKeybag(keybagFile, directory)
        try Self.checkOpens(reading, isForTests: isForTests)
        return reading
    }

    /// Refuses a keybag created without test parts if this daemon has some: a test's prompt program or sensor must not
    /// use it.
    static func checkOpens(_ reading: KeybagReading, isForTests: Bool) throws(KeychainError) {
        switch reading {
        case .authentic(let record), .damaged(.some(let record)):
            guard isForTests, record.assurance > .test else { return }
            throw KeychainError(.notAvailable, cause: .notForTests)
        case .missing, .damaged(nil): return
        }
    }

    /// Reads the keybag and verifies that it is intact.
    static func readKeybag(
        _ file: AtomicFile,
        _ directory: StoreDirectory
    ) throws(KeychainError) -> KeybagReading {
        do throws(KeychainError) {
            guard let octets = try file.read() else { return .missing }
            let key = try DeviceKeyFile(directory: directory).key("keybag")
            let (record, isAuthentic) = try KeybagRecord.read(octets, key: key)
            return isAuthentic ? .authentic(record) : .damaged(record)
        } catch {
            guard error.status == .decode else { throw error }
            return .damaged(nil)
        }
    }

    /// Writes the keybag, all or nothing, and makes it the current one.
    func writeKeybag(_ record: KeybagRecord) throws(KeychainError) {
        guard let key = try DeviceKeyFile(directory: directory).key("keybag") else { throw .damaged }
        try keybagFile.replace(with: record.file(authenticatedBy: key))
        standing.wrote(record)
    }
}
