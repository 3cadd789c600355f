public import KeychainModel
public import SecretMemory

/// Exports a keychain's items, and creates a keychain from an export.
public final class Archive: KeychainArchive, AuditReporter {
    private let keybag: Keybag
    private let items: SealedItems
    private let directory: StoreDirectory
    let audit: (any AuditLog)?

    init(of keybag: Keybag, _ items: SealedItems, in directory: StoreDirectory, audit: (any AuditLog)?) {
        self.keybag = keybag
        self.items = items
        self.directory = directory
        self.audit = audit
    }

    // MARK: Export

    /// Seals all exportable items; the keychain does not change.
    public func export(recoveryCode: borrowing SecretBytes) async throws(KeychainError) -> KeychainExport {
        guard let code = RecoveryCode.parse(recoveryCode) else {
            throw KeychainError(.authFailed, cause: .mistypedRecoveryCode)
        }
        let export = try await keybag.withRecoveredKeys(code) { (recovered) throws(KeychainError) in
            try items.export(with: recovered, code: code)
        }
        let leftOut = export.report.leftOut.values.reduce(0, +)
        report(.keybagRecovered, detail: "export of \(export.report.items) items, \(leftOut) left out")
        return export
    }

    /// Writes a backup: all exportable items as they are stored, which the recovery code opens.
    public func backUp() async throws(KeychainError) -> KeychainExport {
        let backup = try await keybag.withStoredKeys { (record, context) throws(KeychainError) in
            try items.backUp(record, context)
        }
        let leftOut = backup.report.leftOut.values.reduce(0, +)
        report(.keychainBackedUp, detail: "\(backup.report.items) items, \(leftOut) left out")
        return backup
    }

    // MARK: Import

    /// Creates an empty file for an export that is uploaded in parts.
    public func makeExportFile() async throws(KeychainError) -> any ExportFile {
        try UnnamedFile(in: directory)
    }

    /// Checks the head of an export.
    public func checkStart(of export: any ExportFile) async throws(KeychainError) {
        _ = try ExportSeal.head(of: export)
    }

    /// Whether a text is an export's recovery code; if it is, the whole export is read and checked.
    ///
    /// - Throws: also `errSecDiskFull` with ``KnownCause/storeFull`` if it has more items than a keychain may have.
    public func accepts(
        recoveryCode: borrowing SecretBytes,
        of export: any ExportFile
    ) async throws(KeychainError) -> Bool {
        guard let code = RecoveryCode.parse(recoveryCode) else {
            throw KeychainError(.param, cause: .mistypedRecoveryCode, remedy: .retry)
        }
        var reader = try ExportReader(export, code: code)
        guard try reader.start() else { return false }
        try reader.forEachItem { _, _ in }
        try items.limits.check(items: reader.items)
        return true
    }

    /// Creates the keybag and all items of an export, and leaves it unlocked.
    public func setUp(
        from export: any ExportFile,
        passcode: consuming SecretBytes,
        recoveryCode: borrowing SecretBytes,
        enrolled: Enrolment? = nil
    ) async throws(KeychainError) -> Int {
        guard let code = RecoveryCode.parse(recoveryCode) else {
            throw KeychainError(.authFailed, cause: .mistypedRecoveryCode)
        }
        var reader = try ExportReader(started: export, code: code)
        try await keybag.makeKeybag(passcode: passcode, code: code, enrolled: enrolled) {
            store,
            context throws(KeychainError) in
            try store.fill(from: &reader, context)
        }
        report(.keybagCreated, detail: "import of \(reader.items) items")
        return reader.items
    }

    // MARK: Reading and merging

    /// Reads an export's items, without a keychain.
    public func read(
        _ export: any ExportFile,
        recoveryCode: borrowing SecretBytes
    ) throws(KeychainError) -> any ExportWork {
        ExportListing(try reader(of: export, recoveryCode))
    }

    /// Merges an export into the unlocked keychain.
    public func merge(
        _ export: any ExportFile,
        recoveryCode: borrowing SecretBytes,
        proof: AuthenticationProof,
        _ merge: ExportMerge
    ) throws(KeychainError) -> any ExportWork {
        let reader = try reader(of: export, recoveryCode)
        // The proof counts by the key it holds, not by its claim.
        guard let key = proof.passcodeKey,
            PasscodeConstraint.publicKey(of: key) == (try items.keys.context().passcodePublicKey)
        else { throw KeychainError(.authFailed) }
        try reader.checkNames(merge.names)
        return items.merging(reader, merge, key)
    }

    private func reader(
        of export: any ExportFile,
        _ recoveryCode: borrowing SecretBytes
    ) throws(KeychainError) -> ExportReader {
        guard let code = RecoveryCode.parse(recoveryCode) else {
            throw KeychainError(.authFailed, cause: .mistypedRecoveryCode)
        }
        return try ExportReader(started: export, code: code)
    }
}

extension ItemStore {
    /// The most items committed together, all of which are in memory.
    private static let itemsAtOnce = 256
    private static let octetsAtOnce = 8 << 20

    /// Adds all items of an export to an empty store.
    fileprivate func fill(from reader: inout ExportReader, _ context: ItemContext) throws(KeychainError) {
        var writes: [PendingWrite] = []
        var octets = 0
        try reader.forEachItem { exported, data throws(KeychainError) in
            var content = exported
            content.mark = content.mark?.remade(for: data, context)
            let sealed = try content.sealed(
                row: rows.take(),
                data: data,
                password: nil,
                // What was stored is stored again: an earlier version may have taken more.
                atMost: .max,
                in: context
            )
            writes.append(PendingWrite(.add(sealed, in: context)))
            octets += data.octetCount
            guard writes.count >= Self.itemsAtOnce || octets >= Self.octetsAtOnce else { return }
            try commitAll(writes, context)
            writes = []
            octets = 0
        }
        try commitAll(writes, context)
        try emptyLog()
    }

    private func commitAll(_ writes: [PendingWrite], _ context: ItemContext) throws(KeychainError) {
        commit(writes, context)
        for write in writes { _ = try write.result?.get() }
    }
}
