internal import KeychainModel
internal import SecretMemory

/// The keybag of a keychain: creates, opens, locks and changes it, and says with which keys items are opened.
///
/// Deriving a passcode's key uses a separate thread.
public actor Keybag: AuditReporter {
    let directory: StoreDirectory
    let sealer: any KeySealer
    let counters: (any HardwareGuard)?
    let audit: (any AuditLog)?
    let wallClock: @Sendable () -> Int64
    let requestedCost: PasscodeDerivation.Cost?
    /// Whether this daemon has a test part: then it opens only keybags whose assurance is `test`.
    let isForTests: Bool
    let file: AtomicFile
    /// The counts of failed attempts.
    let attempts: AttemptFile
    /// The items, which get every change of the keys.
    let items: SealedItems

    /// The keybag, with its keys that are in memory.
    var standing: Standing { didSet { items.keysChanged(to: standing) } }
    var record: KeybagRecord? { standing.record }
    /// The driver's count at the last observation in this run.
    var seenCompletions: UInt64 = 0
    /// Whether the last observation could not read the templates.
    var isCurrentSetUntold = false
    /// The keybag key in escrow with the hardware; nil if there is none.
    var escrow: Escrow?
    /// Whether the next right passcode seals the keybag again.
    var isMigrating = false

    private(set) var isBusy = false
    private var waiters: [CheckedContinuation<Void, Never>] = []

    init(
        _ standing: Standing,
        file: AtomicFile,
        in directory: StoreDirectory,
        attempts: AttemptFile,
        items: SealedItems,
        sealer: any KeySealer,
        counters: (any HardwareGuard)?,
        requestedCost: PasscodeDerivation.Cost?,
        isForTests: Bool,
        wallClock: @escaping @Sendable () -> Int64,
        audit: (any AuditLog)?
    ) {
        self.standing = standing
        self.file = file
        self.directory = directory
        self.attempts = attempts
        self.items = items
        self.sealer = sealer
        self.counters = counters
        self.requestedCost = requestedCost
        self.isForTests = isForTests
        self.wallClock = wallClock
        self.audit = audit
    }

    /// Waits until no other operation uses the keybag; item operations continue meanwhile.
    func enterKeybag() async {
        guard isBusy else {
            isBusy = true
            return
        }
        await withCheckedContinuation { waiters.append($0) }
    }

    func leaveKeybag() {
        if waiters.isEmpty {
            isBusy = false
        } else {
            waiters.removeFirst().resume()
        }
    }

    /// Locks the keybag and closes the files; no later call succeeds.
    func close() {
        standing.close()
        items.close()
    }
}

extension Keybag {
    enum KeybagReading {
        case missing
        case authentic(KeybagRecord)
        /// With the record if it could be parsed: the recovery code authenticates it by opening it.
        case damaged(KeybagRecord?)
    }

    /// Reads the keybag from the disk.
    func readKeybag() throws(KeychainError) -> KeybagReading {
        let reading = try Self.read(file, directory)
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
    static func read(
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

    /// Writes the keybag, all or nothing, and makes it the current one together with another change of its state.
    func writeKeybag(
        _ record: KeybagRecord,
        with change: (inout Standing) -> Void = { _ in }
    ) throws(KeychainError) {
        try writeFile(of: record)
        var new = standing
        new.wrote(record)
        change(&new)
        standing = new
    }

    func writeFile(of record: KeybagRecord) throws(KeychainError) {
        guard let key = try DeviceKeyFile(directory: directory).key("keybag") else { throw .damaged }
        try file.replace(with: record.file(authenticatedBy: key))
    }
}
