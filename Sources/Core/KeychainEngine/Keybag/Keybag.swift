internal import KeychainModel
internal import Primitives
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
    let delays: BackgroundDelays
    let file: KeybagFile
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
    /// How the keybag's files were found when they were last read.
    var fileState = FileState.inStep
    /// Whether the next right passcode seals the keybag again.
    var isMigrating = false
    /// Whether hardware may hold something of this keychain that it did not remove when it was to.
    var hasLeftovers = false
    /// Whether the disk failed to confirm the present record.
    var isUnconfirmed = false
    /// Removes the leftovers once the hardware answers.
    var removal: Task<Void, Never>?

    private(set) var isBusy = false
    private var waiters: [CheckedContinuation<Void, Never>] = []

    init(
        _ standing: Standing,
        file: KeybagFile,
        in directory: StoreDirectory,
        attempts: AttemptFile,
        items: SealedItems,
        sealer: any KeySealer,
        counters: (any HardwareGuard)?,
        requestedCost: PasscodeDerivation.Cost?,
        isForTests: Bool,
        delays: BackgroundDelays,
        wallClock: @escaping @Sendable () -> Int64,
        audit: (any AuditLog)?
    ) {
        self.delays = delays
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
        removal?.cancel()
        standing.close()
        items.close()
    }
}

extension Keybag {
    /// How the keybag's two files were found.
    enum FileState {
        /// Both hold the same.
        case inStep
        /// One does not hold this keybag, because it is damaged or missing (`isFaulty`) or holds an earlier one.
        case apart(StoredKeybag, isFaulty: Bool)
    }

    /// Reads the keybag from the disk.
    func readKeybag() throws(KeychainError) -> KeybagFile.Reading {
        let reading = try file.read()
        try Self.checkOpens(reading, isForTests: isForTests)
        return reading
    }

    /// Refuses a keybag created without test parts if this daemon has some: a test's prompt program or sensor must not
    /// use it.
    static func checkOpens(_ reading: KeybagFile.Reading, isForTests: Bool) throws(KeychainError) {
        guard isForTests, let record = reading.record, record.assurance > .test else { return }
        throw KeychainError(.notAvailable, cause: .notForTests)
    }

    /// Where a record is after an attempt to write it: what the disk has counts, not which call failed.
    enum Written {
        /// On the disk, durably.
        case durable
        /// In the place of the former one, but the disk failed afterwards: a power failure may bring the former one back.
        case unconfirmed(KeychainError)
        /// Not on the disk: the former one counts.
        case refused(KeychainError)
        /// The disk cannot be read, so either may count.
        case unknown(KeychainError)

        /// The error for the caller; nil if there is none.
        var error: KeychainError? {
            switch self {
            case .durable: nil
            case .unconfirmed(let error):
                KeychainError(
                    error.status,
                    cause: DriverCause(.unconfirmedChange, detail: error.cause?.code),
                    remedy: .check
                )
            case .refused(let error), .unknown(let error): error
            }
        }
    }

    /// Writes the keybag, all or nothing, and makes it the current one together with another change of its state.
    ///
    /// The record gets the next revision, and its seal by `keybagKey`, or by the keys in memory if that is nil.
    func writeKeybag(
        _ record: inout KeybagRecord,
        keybagKey: Key? = nil,
        with change: (inout Standing) -> Void = { _ in }
    ) throws(KeychainError) {
        if let error = write(&record, keybagKey: keybagKey, with: change).error { throw error }
    }

    /// ``writeKeybag(_:keybagKey:with:)``, for callers who destroy something afterwards.
    func write(
        _ record: inout KeybagRecord,
        keybagKey: Key? = nil,
        with change: (inout Standing) -> Void = { _ in }
    ) -> Written {
        // The first seal makes a record of a version before 4 authentic: the items must know of none.
        let isFirst = record.revision == 0
        guard !isFirst || items.fault == nil && items.knownKeybag() == 0 else { return .refused(.damaged) }
        var next = record
        next.revision += 1
        let written = put(next, keybagKey: keybagKey)
        switch written {
        case .durable: isUnconfirmed = false
        case .unconfirmed: isUnconfirmed = true
        case .refused, .unknown: return written
        }
        record = next
        var new = standing
        new.wrote(record)
        change(&new)
        standing = new
        return written
    }

    /// Puts a record on the disk; after a failure it reads the disk, and tries once more if the record is there.
    func put(_ record: KeybagRecord, keybagKey: Key?) -> Written {
        var failure: KeychainError?
        for _ in 0..<2 {
            do throws(KeychainError) {
                try writeFile(of: record, keybagKey: keybagKey)
                return .durable
            } catch {
                guard let reading = try? file.read() else { return .unknown(error) }
                guard reading.intact?.record == record else {
                    return reading.isMissing || reading.intact != nil ? .refused(error) : .unknown(error)
                }
                failure = error
            }
        }
        return failure.map(Written.unconfirmed) ?? .durable
    }

    /// Writes the first keybag of a directory; one that is there stays.
    ///
    /// - Throws: ``KeychainError`` with `errSecDuplicateItem` if there is one.
    func makeFile(of record: KeybagRecord, keybagKey: Key) throws(KeychainError) {
        try file.make(octets(of: record, keybagKey))
    }

    private func writeFile(of record: KeybagRecord, keybagKey: Key?) throws(KeychainError) {
        try file.replace(with: octets(of: record, keybagKey))
    }

    private func octets(of record: KeybagRecord, _ keybagKey: Key?) throws(KeychainError) -> [UInt8] {
        guard let deviceKey = try DeviceKeyFile(directory: directory).key(.keybagCode) else { throw .damaged }
        let derived = keybagKey.map { KeybagKeys.sealKey(keybagKey: $0, storeID: record.storeID) }
        guard let sealKey = derived ?? standing.sealKey else { throw .locked }
        return StoredKeybag.file(of: record, sealKey: sealKey, deviceKey: deviceKey)
    }

    /// Follows the directory's path to a copy of this keychain that took its place; any, if there is no keychain yet.
    private func followDirectory() {
        guard !directory.isInPlace else { return }
        let isFollowed = directory.follow { found in
            if case .notSetUp = standing { return true }
            guard let reading = try? KeybagFile(in: found).read(), let keybag = reading.intact,
                (try? Self.checkOpens(reading, isForTests: isForTests)) != nil
            else { return false }
            return mayFollow(keybag)
        }
        guard isFollowed else { return }
        report(.tamperDetected, detail: "the directory was replaced while it is open; the new one is used")
    }

    /// Goes on with files that were replaced by the same, and reads a keybag again that was missing or damaged: it may have
    /// been put back.
    func lookAgain() {
        followDirectory()
        items.followFiles()
        switch standing {
        case .notSetUp: guard (try? KeybagFile.exists(in: directory)) == true else { return }
        case .damaged, .locked, .halfOpen, .open: guard standing.isFileDamaged else { return }
        }
        if let found = (try? readKeybag())?.intact, mayFollow(found) {
            standing.cameBack(found.record)
        } else if case .notSetUp = standing {
            // What cannot be read is a keychain nevertheless.
            standing.foundDamage()
        } else {
            return
        }
        items.openAgain()
    }

    /// Whether a keybag is that of this keychain as far as known, and not older than the one in memory.
    private func mayFollow(_ found: StoredKeybag) -> Bool {
        guard let record else { return true }
        guard record.storeID == found.record.storeID else { return false }
        guard let sealKey = standing.sealKey else { return true }
        return found.record == record
            || found.isSealed(by: sealKey) && found.record.revision >= record.revision
    }
}
