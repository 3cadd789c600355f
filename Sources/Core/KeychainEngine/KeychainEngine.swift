internal import Glibc
public import KeychainModel
internal import SecretMemory

/// Holds the keybag, the items and the private keys: everything that is opened here is opened with a key, never by a yes.
///
/// It runs on the threads of those who call (`EngineExecutor`): a look-up costs no change of threads, and a commit
/// blocks the client's own thread. Deriving a passcode's key has a thread of its own.
public actor KeychainEngine {
    let executor = EngineExecutor()
    let directory: StoreDirectory
    let sealer: any KeySealer
    let counters: (any HardwareGuard)?
    let privateKeys: any PrivateKeyHardware
    let attester: (any KeyAttester)?
    let audit: (any AuditLog)?
    /// The counts of failed attempts: one for the whole process, because it remembers what it saved.
    public nonisolated let attempts: AttemptFile
    let keybagFile: AtomicFile
    let wallClock: @Sendable () -> Int64
    let requestedCost: PasscodeDerivation.Cost?
    let storeLimits: StoreLimits
    let delays: BackgroundDelays
    /// Whether a part of this daemon is a test part: then it opens only keybags that are `test` already.
    let isForTests: Bool

    /// The keybag, with the keys of it that are in memory.
    var standing: Standing { didSet { sealing.withLock { $0 = nil } } }
    var record: KeybagRecord? { standing.record }
    /// What new items are sealed with while the engine is at work for others; nil until it sealed one itself.
    let sealing = Guarded<ItemSealing?>(nil)
    /// The groups that were seen to have items.
    let knownGroups = KnownGroups()
    /// What the driver had counted at the last observation in this run.
    var seenCompletions: UInt64 = 0
    /// Whether the enrolled set could not be told from another one at the last look.
    var isCurrentSetUntold = false

    /// The keybag key in hardware's keeping; nil without.
    var escrow: Escrow?
    /// Whether the next right passcode seals the keybag anew.
    var isMigrating = false

    /// The items; nil before set-up.
    var store: ItemStore?
    /// What hardware's counter of the store's generations says; nil while that is not known.
    var countedGeneration: UInt64?
    var isSettlingGeneration = false
    /// Why the items cannot be reached.
    var storeFault: KeychainError?
    var pendingWrites: [PendingWrite] = []
    var isCommitDue = false
    /// Empties the log some time after a deletion.
    var purge: Task<Void, Never>?
    /// Brings the log into the file some time after the last change.
    var settling: Task<Void, Never>?
    var lastCommit = ContinuousClock.now
    /// Looks through the items some time after the first unlock.
    var sweep: Task<Void, Never>?
    var isTamperingReported = false

    private(set) var isKeybagBusy = false
    private var keybagWaiters: [CheckedContinuation<Void, Never>] = []

    /// Opens the keychain of a directory, locked; an empty directory is a keychain that is not set up.
    ///
    /// - Parameters:
    ///   - directory: where its files are.
    ///   - sealer: seals the device part of the keybag's keys.
    ///   - counters: hardware that counts epochs and generations; nil where there is none.
    ///   - privateKeys: makes and uses private keys; nil for software.
    ///   - attester: vouches for private keys that hardware keeps; nil where there is none.
    ///   - derivation: the cost of deriving a passcode's key in keybags made here; nil measures it, so that one
    ///     derivation takes at least 500 ms. A keybag that exists keeps its own.
    ///   - groupsInSection: how many groups of 16 items are proved together, so that a larger store is not read whole at
    ///     its first unlock; nil for as many as take less than 20 ms.
    ///   - mostItems: how many items there may be before an add is refused; nil for ``ItemLimits/mostItems``.
    ///   - delays: when the engine does what nobody waits for.
    ///   - isForTests: a part of the daemon is a test part. Keybags made here are `test` for good; one that is more
    ///     is not opened.
    ///   - wallClock: microseconds since 1970, for the dates of items.
    ///   - audit: takes security events.
    /// - Throws: ``KeychainError`` with `errSecNotAvailable` when a file is not a plain file of ours alone, or when
    ///   a newer version wrote it, or it is not for this daemon (`isForTests`). Damage does not throw: ``state()`` tells it.
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
            // Items without their keybag are not a keychain that was never set up.
            standing = try ItemStore.hasItems(in: directory) ? .damaged(last: nil) : .notSetUp
            return
        case .authentic(let record): standing = .locked(record)
        case .damaged: standing = .damaged(last: nil)
        }
        do throws(KeychainError) {
            store = try ItemStore(directory: directory, limits: storeLimits)
        } catch {
            // Unreadable items leave a keybag that can say so; a newer format must not be touched at all.
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

    /// Waits until no other operation works on the keybag; operations on items go on meanwhile.
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
        /// Holds what could be parsed all the same: the recovery code authenticates it by opening it.
        case damaged(KeybagRecord?)
    }

    /// The keybag as it lies on the disk.
    func readKeybag() throws(KeychainError) -> KeybagReading {
        let reading = try Self.readKeybag(keybagFile, directory)
        try Self.checkOpens(reading, isForTests: isForTests)
        return reading
    }

    /// A prompt program or a sensor of a test gets nothing to do with a keybag that was made without it.
    static func checkOpens(_ reading: KeybagReading, isForTests: Bool) throws(KeychainError) {
        switch reading {
        case .authentic(let record), .damaged(.some(let record)):
            guard isForTests, record.assurance > .test else { return }
            throw KeychainError(.notAvailable, cause: .notForTests)
        case .missing, .damaged(nil): return
        }
    }

    /// Reads the keybag and says whether it is as it was written.
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

    /// Writes the keybag, all or nothing, and takes it for the current one.
    func writeKeybag(_ record: KeybagRecord) throws(KeychainError) {
        guard let key = try DeviceKeyFile(directory: directory).key("keybag") else { throw .damaged }
        try keybagFile.replace(with: record.file(authenticatedBy: key))
        standing.wrote(record)
    }
}
