public import KeychainModel
public import SecretMemory

extension KeychainEngine: KeychainArchive {
    /// An empty place for an export that comes in parts.
    public func makeExportFile() async throws(KeychainError) -> any ExportFile {
        guard case .notSetUp = standing else { throw KeychainError(.duplicateItem) }
        return try UnnamedFile(in: directory)
    }

    /// Looks at the start of an export.
    public func checkStart(of export: any ExportFile) async throws(KeychainError) {
        _ = try ExportSeal.head(of: export)
    }

    /// Whether a text is an export's recovery code; with the right one, the export is read to its end.
    ///
    /// - Throws: also `errSecDiskFull` with ``KnownCause/storeFull`` when it has more items than a keychain may.
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
        try storeLimits.check(items: reader.items)
        return true
    }

    /// Makes the keybag and all items of an export, and leaves it unlocked.
    public func setUp(
        from export: any ExportFile,
        passcode: consuming SecretBytes,
        recoveryCode: borrowing SecretBytes,
        enrolled: Enrolment? = nil
    ) async throws(KeychainError) -> Int {
        guard let code = RecoveryCode.parse(recoveryCode) else {
            throw KeychainError(.authFailed, cause: .mistypedRecoveryCode)
        }
        var reader = try ExportReader(export, code: code)
        guard try reader.start() else { throw KeychainError(.authFailed) }
        let mark = ImportMark(in: directory)
        do throws(KeychainError) {
            try await makeKeybag(passcode: passcode, code: code, enrolled: enrolled) {
                store,
                context throws(KeychainError) in
                try mark.set()
                try store.fill(from: &reader, context)
            }
        } catch {
            try? mark.settle()
            throw error
        }
        // The keybag is there: a mark that stays goes at the next start.
        try? mark.settle()
        report(.keybagCreated, detail: "import of \(reader.items) items")
        return reader.items
    }
}

extension ItemStore {
    /// How many items are committed together; all of them are in memory then.
    private static let itemsAtOnce = 256
    private static let octetsAtOnce = 8 << 20

    /// Puts all items of an export into an empty store.
    fileprivate func fill(from reader: inout ExportReader, _ context: ItemContext) throws(KeychainError) {
        var writes: [PendingWrite] = []
        var octets = 0
        try reader.forEachItem { content, data throws(KeychainError) in
            let sealed = try content.sealed(
                row: rows.take(),
                data: data,
                password: nil,
                in: context
            )
            writes.append(PendingWrite(.add(sealed)))
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
