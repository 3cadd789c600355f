internal import Glibc
public import KeychainModel

/// The components of one keychain over one directory: everything opened here is opened with a key, never by a mere
/// decision.
public struct KeychainEngine: Sendable {
    /// Creates, opens and locks the keybag.
    public let keybag: Keybag
    /// Stores and finds items.
    public let items: SealedItems
    /// Creates and uses private keys.
    public let keys: PrivateKeys
    /// Exports and imports the keychain.
    public let archive: Archive
    /// The counts of failed attempts: one instance per process, because it remembers what it saved.
    public let attempts: AttemptFile

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
    ///   - hidesNamesWhileLocked: whether a locked keychain keeps to itself the attributes of items that it does not release:
    ///     a search for them fails as one for their data does.
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
        hidesNamesWhileLocked: Bool = false,
        delays: BackgroundDelays = BackgroundDelays(),
        isForTests: Bool = false,
        wallClock: @escaping @Sendable () -> Int64 = KeychainEngine.systemWallClock,
        audit: (any AuditLog)? = nil
    ) throws(KeychainError) {
        directory.removeUnfinished()
        try FormerFiles(in: directory).removeSecondNames()
        try directory.checkFiles()
        try FormerFiles(in: directory).settle()
        let file = KeybagFile(in: directory)
        let reading = try file.read()
        try Keybag.checkOpens(reading, isForTests: isForTests)
        try ImportMark(in: directory).settle()
        try NewItems(in: directory).settle()
        let standing: Standing
        if let intact = reading.intact {
            standing = .locked(intact.record)
        } else if reading.isMissing, try !ItemStore.mayHaveItems(in: directory) {
            standing = .notSetUp
        } else {
            // Items without a keybag mean a lost keybag, not a keychain that was never set up.
            standing = .damaged(last: nil)
        }
        let keysInMemory = KeysInMemory(standing)
        attempts = AttemptFile(directory: directory, audit: audit)
        items = SealedItems(
            in: directory,
            keys: keysInMemory,
            counters: counters,
            limits: StoreLimits(groupsInSection: groupsInSection, items: mostItems),
            hidesNamesWhileLocked: hidesNamesWhileLocked,
            delays: delays,
            wallClock: wallClock,
            audit: audit
        )
        if !reading.isMissing { try items.open() }
        keybag = Keybag(
            standing,
            file: file,
            in: directory,
            attempts: attempts,
            items: items,
            sealer: sealer,
            counters: counters,
            requestedCost: derivation,
            isForTests: isForTests,
            delays: delays,
            wallClock: wallClock,
            audit: audit
        )
        keys = PrivateKeys(keysInMemory, items, hardware: privateKeys, attester: attester)
        archive = Archive(of: keybag, items, in: directory, audit: audit)
    }

    /// `CLOCK_REALTIME` in microseconds.
    public static let systemWallClock: @Sendable () -> Int64 = {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
    }

    /// Writes the log back and closes the files; the keybag is locked, and no later call succeeds.
    public func close() async { await keybag.close() }
}
