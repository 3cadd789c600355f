internal import Crypto
internal import Foundation
internal import GRDB
internal import KeychainModel
internal import SecretMemory

/// The items of a keychain in their file; knows how to find and seal them, not who may ask.
///
/// Belongs to one actor.
final class ItemStore {
    let directory: StoreDirectory
    private(set) var database: ItemDatabase
    /// The digest over the items as the last commit left it; nil before the first unlock, or when it is damaged.
    var itemSet: ItemSetDigest?
    /// What looking through all items at the first unlock found.
    private(set) var health = StoreReport(
        items: 0,
        invalidated: 0,
        damaged: 0,
        isSetAuthentic: true,
        faults: []
    )
    /// After a write that failed on the disk nothing in memory is believed until it was read anew.
    var needsReopening = false
    /// Records that were deleted or replaced since the log was last emptied.
    private var deletedCount = 0

    /// Opens the items that are there.
    init(directory: StoreDirectory) throws(KeychainError) {
        self.directory = directory
        database = try ItemDatabase(openingIn: directory)
    }

    private init(directory: StoreDirectory, database: ItemDatabase) {
        self.directory = directory
        self.database = database
    }

    /// Makes an empty store in the place of whatever is there.
    static func make(
        in directory: StoreDirectory,
        storeID: [UInt8],
        setKey: Key
    ) throws(KeychainError) -> ItemStore {
        let store = ItemStore(directory: directory, database: try ItemDatabase(makingIn: directory))
        let empty = ItemSetDigest()
        try store.database.perform { database in
            try database.inTransaction(.immediate) {
                try store.write(empty, with: setKey, storeID: storeID, in: database)
                return .commit
            }
        }
        store.itemSet = empty
        return store
    }

    /// Whether a directory without a keybag holds items all the same; what a set-up that was cut short left behind
    /// does not count.
    static func hasItems(in directory: StoreDirectory) throws(KeychainError) -> Bool {
        guard let size = try directory.size(of: .items) else { return false }
        do throws(KeychainError) {
            let database = try ItemDatabase(openingIn: directory)
            defer { database.shut() }
            return try database.perform { try Int.fetchOne($0, sql: "SELECT EXISTS (SELECT 1 FROM items)") }
                == 1
        } catch {
            guard error.status == .decode else { throw error }
            // A new file has a page for each table and index; half of one cannot be opened, nor can a damaged one.
            return size > 32 * ItemSchema.pageByteCount
        }
    }

    /// Looks through all items once they can be opened.
    ///
    /// - Returns: whether all is well.
    func load(_ context: ItemContext) -> Bool {
        itemSet = nil
        health = check(context, readsData: false)
        return health.damaged == 0 && health.isSetAuthentic && health.faults.isEmpty
    }

    /// Opens the file anew after a failed write, and looks through it as at the first unlock.
    func reopenIfNeeded(_ context: ItemContext) throws(KeychainError) {
        guard needsReopening else { return }
        database.shut()
        database = try ItemDatabase(openingIn: directory)
        _ = load(context)
        needsReopening = false
    }

    /// Closes the file.
    func close() {
        purge()
        database.shut()
    }

    // MARK: Deleted records

    /// How many deleted records may stay in the log before it is emptied at once.
    private static let mostDeletedRecords = 256

    func noteDeleted(_ count: Int) {
        deletedCount += count
    }

    var hasDeletedRecords: Bool { deletedCount > 0 }

    var isPurgeDue: Bool { deletedCount > Self.mostDeletedRecords }

    /// Empties the log, so that deleted records are in no file any more; what fails is tried again.
    func purge() {
        guard deletedCount > 0, !needsReopening else { return }
        do throws(KeychainError) {
            try database.checkpoint()
            deletedCount = 0
        } catch {
            needsReopening = error.status == .io
        }
    }

    // MARK: The set

    func write(_ itemSet: ItemSetDigest, with key: Key, storeID: [UInt8], in database: Database) throws {
        let sealed = itemSet.sealed(with: key, storeID: storeID)
        let statement = try database.cachedStatement(
            sql: "INSERT OR REPLACE INTO item_set (id, sealed) VALUES (1, ?)"
        )
        try statement.execute(arguments: [sealed])
    }

    private func readSet(_ context: ItemContext) throws(KeychainError) -> ItemSetDigest? {
        let key = try context.keys.require(.itemSet)
        let rows = try database.perform { try Data.fetchAll($0, sql: "SELECT sealed FROM item_set") }
        guard rows.count == 1, let sealed = rows.first else { return nil }
        return ItemSetDigest(opening: sealed, with: key, storeID: context.storeID)
    }

    // MARK: Check

    /// Reads every item and the set's digest.
    ///
    /// With `readsData` the data of items that need no user are opened too.
    func check(_ context: ItemContext, readsData: Bool) -> StoreReport {
        var report = StoreReport(items: 0, invalidated: 0, damaged: 0, isSetAuthentic: false, faults: [])
        do throws(KeychainError) {
            let metadata = try context.keys.require(.metadata).symmetric
            let setKey = try context.keys.require(.itemSet).symmetric
            var found = ItemSetDigest()
            try database.perform { database in
                // Indexes too: an entry that is gone would make an item look absent.
                let faults = try String.fetchAll(database, sql: "PRAGMA integrity_check(20)")
                report.faults += faults.filter { $0 != "ok" }
                try ItemRow.forEach(database) { row in
                    guard let row,
                        let contribution = Self.inspect(row, metadata, setKey, context, readsData, &report)
                    else {
                        report.damaged += 1
                        return
                    }
                    found.insert(contribution)
                }
            }
            let recorded = try readSet(context)
            if recorded == nil { report.faults.append("the digest over the items is damaged") }
            if itemSet == nil { itemSet = recorded }
            report.isSetAuthentic = recorded == found && recorded == itemSet
        } catch {
            let cause = error.cause.map { " (\($0.domain) \($0.code))" } ?? ""
            report.faults.append("the items cannot be read: status \(error.status.rawValue)\(cause)")
        }
        return report
    }

    /// Judges one row; nil when it is damaged.
    private static func inspect(
        _ row: ItemRow,
        _ metadata: SymmetricKey,
        _ setKey: SymmetricKey,
        _ context: ItemContext,
        _ readsData: Bool,
        _ report: inout StoreReport
    ) -> SIMD4<UInt64>? {
        let judged: (isInvalidated: Bool, contribution: SIMD4<UInt64>)? = try? row.open(
            with: metadata,
            in: context
        ) { header in
            guard row.hasDigests(of: header) else { throw AEAD.NotAuthentic() }
            let control = header.accessControl(atEpoch: context.epoch)
            if readsData, case .some(.some(let control)) = control, ItemKeyWrap.demands(of: control) == [[]],
                context.keys[KeybagKeyName(control.accessibility.classKey)] != nil
            {
                _ = try row.openData(header, control, proofs: [], password: nil, context)
            }
            return (control == nil, row.contribution(generation: header.generation, key: setKey))
        }
        guard let judged else { return nil }
        if judged.isInvalidated { report.invalidated += 1 } else { report.items += 1 }
        return judged.contribution
    }

    /// Whether an item that was not found may be there all the same, in a damaged part of the file.
    var mayHideItems: Bool { !health.faults.isEmpty }
}

extension ItemRow {
    func contribution(generation: UInt64, key: SymmetricKey) -> SIMD4<UInt64> {
        unsafe reference.withUnsafeBytes { reference in
            unsafe attributes.withUnsafeBytes { attributes in
                unsafe ItemSetDigest.contribution(
                    reference: reference,
                    generation: generation,
                    attributes: attributes,
                    key: key
                )
            }
        }
    }

    /// Opens the item's data and lends them; nil when it has none.
    func openData(
        _ header: OpenedHeader,
        _ control: AccessControl,
        proofs: [AuthenticationProof],
        password: Key?,
        _ context: ItemContext
    ) throws -> SecretBytes? {
        var secret: SecretBytes?
        try unsafe withData(header, control, proofs: proofs, password: password, context) { octets in
            secret = unsafe SecretBytes(copying: octets)
        }
        return secret
    }

    /// Opens the item's data for the length of `body`, which is not called when it has none.
    func withData(
        _ header: OpenedHeader,
        _ control: AccessControl,
        proofs: [AuthenticationProof],
        password: Key?,
        _ context: ItemContext,
        _ body: (UnsafeRawBufferPointer) -> Void
    ) throws {
        guard let data else { return }
        guard let keys else { throw KeychainError.damaged }
        let identity = unsafe header.header
        let itemKey = try unsafe ItemKeyWrap.open(
            keys,
            control: control,
            keys: context.keys,
            proofs: proofs,
            password: password,
            authenticating: context.key(reference, identity)
        )
        let bound = unsafe context.data(reference, identity)
        do {
            try unsafe AEAD.open(data, with: itemKey.symmetric, authenticating: bound) { unsafe body($0) }
        } catch {
            throw KeychainError.damaged
        }
    }
}
