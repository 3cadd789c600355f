internal import KeychainModel
internal import Primitives
internal import SecretMemory

extension SealedItems {
    /// Seals all exportable items into a file without a name.
    func export(with recovered: RecoveredKeys, code: Key) throws(KeychainError) -> KeychainExport {
        try export(recovered.context, ExportSeal(code: code), opener: recovered.passcodeKey)
    }

    /// Writes all exportable items as they are stored into a file without a name: no key opens their data for it.
    func backUp(_ record: KeybagRecord, _ context: ItemContext) throws(KeychainError) -> KeychainExport {
        try export(context, ExportSeal(backupOf: record, context), opener: nil)
    }

    private func export(
        _ context: ItemContext,
        _ seal: ExportSeal,
        opener: PasscodeKey?
    ) throws(KeychainError) -> KeychainExport {
        let file = try UnnamedFile(in: directory)
        let export = try ItemExport(context, seal, opener: opener, into: file)
        try withState { (state) throws(KeychainError) in try export.begin(try reachableStore(state)) }
        defer { withState { $0.store?.willChange = nil } }
        return try inSlices { (state) throws(KeychainError) in try export.goOn(try reachableStore(state)) }
    }
}

extension Keybag {
    /// Lends the keys for the items of this keybag except the current set's key, whose items are not exported; no other
    /// operation uses the keybag meanwhile.
    func withRecoveredKeys<R>(
        _ code: Key,
        _ body: (RecoveredKeys) throws(KeychainError) -> R
    ) async throws(KeychainError) -> sending R {
        await enterKeybag()
        defer { leaveKeybag() }
        let recovered = try await openWithRecovery(code)
        var record = recovered.record
        record.keys[KeybagKeyName.biometryCurrentSet.rawValue] = nil
        let wrapping = KeybagKeys.Wrapping(keybagKey: recovered.keybagKey, epoch: nil)
        let context = ItemContext(of: record, try KeybagKeys.unwrapAll(of: record, with: wrapping))
        return try body(
            RecoveredKeys(context: context, passcodeKey: PasscodeKey(recovered.privateKey.copy()))
        )
    }

    /// Lends the keybag on the disk and the keys that are in memory, for a backup: those that survive a lock are enough.
    ///
    /// No other operation uses the keybag meanwhile.
    /// - Throws: ``KeychainError`` with `errSecInteractionNotAllowed` before the first unlock.
    func withStoredKeys<R>(
        _ body: (KeybagRecord, ItemContext) throws(KeychainError) -> R
    ) async throws(KeychainError) -> sending R {
        await enterKeybag()
        defer { leaveKeybag() }
        let record = try authenticRecord()
        guard let context = standing.context else { throw standing.refusal }
        return try body(record, context)
    }
}

/// The keys opened by the recovery code.
struct RecoveredKeys {
    let context: ItemContext
    /// Opens items that need the passcode.
    let passcodeKey: PasscodeKey
}

/// An export under way: the items as they were at its begin, although others change them meanwhile.
///
/// Whoever changes an item first has it exported (``ItemStore/willChange``).
private final class ItemExport {
    private let context: ItemContext
    private let seal: ExportSeal
    /// Opens items that need the passcode, to seal them anew; nil for a backup, which has them as they are stored.
    private let opener: PasscodeKey?
    private let file: UnnamedFile
    private var report = ExportReport()
    /// The last row that was exported in turn, and the last one that existed at the begin.
    private var row = Int64.min
    private var last = Int64.min
    /// The rows at the begin, and those that were authentic.
    private var expected = 0
    private var found = 0
    private var seen = 0
    private var hasSet = false
    /// The rows that were exported before their turn.
    private var done: Set<Int64> = []
    /// Why a row could not be exported before it was changed.
    private var failure: KeychainError?

    init(
        _ context: ItemContext,
        _ seal: ExportSeal,
        opener: PasscodeKey?,
        into file: UnnamedFile
    ) throws(KeychainError) {
        self.context = context
        self.seal = seal
        self.opener = opener
        self.file = file
        try file.append(seal.head)
        try file.append(seal.sealed(ExportRecord.encodedStart(), number: 0))
    }

    func begin(_ store: ItemStore) throws(KeychainError) {
        try store.reopenIfNeeded(context)
        if store.itemSet.digest == nil { _ = store.load(context) }
        try store.readWholeSetIfSound(context)
        hasSet = store.itemSet.digest != nil
        expected = store.itemSet.tags.count
        last = try store.counts().last
        store.willChange = { [unowned store, weak self] row in self?.takeBeforeChange(row, of: store) }
    }

    /// Exports the next items.
    ///
    /// - Returns: the export after the last one; nil while there are more.
    func goOn(_ store: ItemStore) throws(KeychainError) -> KeychainExport? {
        if let failure { throw failure }
        let slice = WorkSlice()
        let progress = WorkProgress.current
        let reached = try ItemDatabase.translatingErrors {
            try ItemRow.forEach(store.database, after: row, atMost: .max, while: { slice.goesOn }) { row in
                guard let row else {
                    seen += 1
                    return report.leaveOut(.damaged)
                }
                guard row.id <= last, !done.contains(row.id) else { return }
                seen += 1
                progress?.note(seen, of: expected)
                try take(row, of: store)
            }
        }
        if let reached, reached <= last {
            row = reached
            return nil
        }
        try file.append(
            seal.sealed(ExportRecord.encodedEnd(items: report.items), number: UInt64(report.items) + 1)
        )
        report.isSetAuthentic = hasSet && found == expected
        return KeychainExport(file: file, report: report)
    }

    private func takeBeforeChange(_ id: Int64, of store: ItemStore) {
        guard id > row, id <= last, failure == nil, done.insert(id).inserted else { return }
        do throws(KeychainError) {
            try ItemDatabase.translatingErrors {
                _ = try ItemRow.forEach(store.database, after: id - 1, atMost: 1) { row in
                    if let row, row.id == id { try take(row, of: store) }
                }
            }
        } catch {
            failure = error
        }
    }

    private func take(_ row: ItemRow, of store: ItemStore) throws {
        // An outdated state of an item is not exported.
        guard try row.fault(store.itemSet.tags, store.database, context) == nil,
            let outcome = try? row.leaving(seal, UInt64(report.items) + 1, context, opener)
        else { return report.leaveOut(.damaged) }
        found += 1
        switch outcome {
        case .sealed(let octets):
            guard report.items < MigrationLimits.mostItems else { throw KeychainError(.dataTooLarge) }
            try file.append(octets)
            report.items += 1
        case .stays(let item): report.leaveOut(item.reason, named: item)
        // The importing keychain has other keys, which open no representation of this one.
        case .none: break
        }
    }
}

/// The outcome for an item that was opened.
private enum Leaving {
    case sealed([UInt8])
    case stays(ExportReport.LeftOut)
    /// It is no item of the user's.
    case none
}

extension ItemRow {
    /// Seals the item for an export, or returns why it is left out.
    fileprivate func leaving(
        _ seal: ExportSeal,
        _ number: UInt64,
        _ context: ItemContext,
        _ opener: PasscodeKey?
    ) throws -> Leaving {
        try open(in: context) { header in
            guard hasDigests(of: header) else { throw AEAD.NotAuthentic() }
            guard !header.isKeyRow else { return .none }
            var content = try ItemContent(header)
            guard content.group != AccessGroup.reads.name else { return .none }
            let effective = header.accessControl(atEpoch: context.epoch)
            if case .some(.some(let control)) = effective { content.accessControl = control }
            if let reason = content.reasonToStay ?? (effective == nil ? .enrolledSet : nil) {
                let item = ExportReport.LeftOut(reason: reason, group: content.group, name: content.name)
                return .stays(item)
            }
            guard let opener else {
                // The ways of a replaced enrolled set are dropped: its key is in no backup.
                guard let whole = unsafe keys.map({ unsafe Array($0) }),
                    let wraps = header.epoch == 0 ? whole : ItemKeyWrap.withoutCurrentSet(whole)
                else { throw KeychainError.damaged }
                let parts = StoredParts(
                    reference: unsafe Array(reference),
                    header: unsafe Array(header.header),
                    wraps: wraps,
                    data: unsafe data.map { unsafe Array($0) }
                )
                return .sealed(seal.sealed(ExportRecord.encoded(content, parts), number: number))
            }
            let count = try unsafe data.map { try unsafe AEAD.plaintextByteCount(of: $0) }
            var record = ExportRecord.encoded(content, dataByteCount: count)
            if let count {
                try appendData(count, to: &record, header, content.accessControl, context, opener)
            }
            return .sealed(seal.sealed(record, number: number))
        }
    }

    /// Opens the item's data, which must exist, with the keys opened by the recovery code.
    private func appendData(
        _ count: Int,
        to record: inout SecretBuffer,
        _ header: OpenedHeader,
        _ control: AccessControl,
        _ context: ItemContext,
        _ opener: PasscodeKey
    ) throws {
        guard let sealed = unsafe data, let wraps = unsafe keys else { throw KeychainError.damaged }
        let binding = unsafe header.header
        let key = try unsafe context.withBinding(of: .key, reference, binding) {
            (binding) throws(KeychainError) in
            try unsafe ItemKeyWrap.open(
                Array(wraps),
                control: control,
                keys: context.keys,
                shown: [ItemKeyWrap.Shown(biometry: true, passcodeKey: opener)],
                password: nil,
                authenticating: Array(binding)
            ).symmetric
        }
        _ = try unsafe record.append(upTo: count) { room in
            try unsafe context.withBinding(of: .data, reference, binding) { binding in
                try unsafe AEAD.open(sealed, with: key, authenticating: binding, into: room)
            }
            return count
        }
    }
}

extension ItemContent {
    /// Why the item is not exported; nil if it is.
    fileprivate var reasonToStay: ExportReport.Reason? {
        let isToken = attributes[.tokenID].map { !$0.isBlank } ?? false
        if isToken || accessControl.flags.contains(.privateKeyUsage) { return .privateKey }
        if accessControl.accessibility.isThisDeviceOnly { return .thisDeviceOnly }
        if accessControl.flags.contains(.biometryCurrentSet) { return .enrolledSet }
        return accessControl.needsApplicationPassword ? .applicationPassword : nil
    }

    /// A name by which the user may recognise the item.
    var name: String {
        if group.isEmpty { return "deleted key" }
        // The account of a value that is kept for a time only distinguishes it from others.
        if ends != nil, case .string(let text)? = attributes[.label], !text.isEmpty {
            return "\(text), former value"
        }
        for key in [AttributeKey.account, .label, .service, .server] {
            if case .string(let text)? = attributes[key], !text.isEmpty { return text }
        }
        return itemClass.rawValue
    }
}

extension Accessibility {
    /// Whether items of this class stay on their device.
    fileprivate var isThisDeviceOnly: Bool {
        switch self {
        case .whenUnlocked, .afterFirstUnlock, .always: false
        case .whenPasscodeSetThisDeviceOnly, .whenUnlockedThisDeviceOnly, .afterFirstUnlockThisDeviceOnly,
            .alwaysThisDeviceOnly:
            true
        }
    }
}
