internal import KeychainModel
internal import SecretMemory

/// Reads an export and tells its items.
final class ExportListing: ExportWork {
    private let reader: Guarded<ExportReader?>

    init(_ reader: ExportReader) { self.reader = Guarded(reader) }

    func next() throws(KeychainError) -> [ExportedItem]? {
        try reader.withLock { current throws(KeychainError) in
            guard var reader = current.take() else { return nil }
            var items: [ExportedItem] = []
            while items.count < ExportItems.most {
                switch try reader.next() {
                case .item(let item, _): items.append(item.told(.read))
                case .end: return items
                }
            }
            reader.noteProgress()
            current = reader
            return items
        }
    }
}

extension ExportReader {
    /// Checks that the export has an item of each name.
    func checkNames(_ names: [String]) throws(KeychainError) {
        guard !names.isEmpty else { return }
        var missing = Set(names)
        var reader = self
        try reader.forEachItem { item, _ in missing.remove(item.name) }
        guard let name = names.first(where: missing.contains) else { return }
        throw KeychainError(.itemNotFound, cause: DriverCause(.notInExport, detail: name))
    }
}
