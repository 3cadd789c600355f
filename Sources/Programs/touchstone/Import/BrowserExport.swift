/// The CSV exports of Chrome, Firefox and 1Password, by the names of their columns.
enum BrowserExport {
    static func entries(of document: ExportDocument, _ format: ImportFormat) throws(ExportFault)
        -> [ImportEntry]
    {
        let table = try ExportCSV(document)
        guard format.columns.allSatisfy(table.header.contains) else {
            throw ExportFault("its header is not that of \(format.title)")
        }
        return table.rows.map { row in
            var entry = ImportEntry()
            for (column, cell) in zip(table.header, row) { add(column, cell, to: &entry, document) }
            if entry.title.isEmpty, let address = entry.fields.first(where: { $0.name == FieldName.url.text })
            {
                entry.title = host(of: document.string(address.value))
            }
            return entry
        }
    }

    private static func add(
        _ column: String,
        _ cell: ExportText,
        to entry: inout ImportEntry,
        _ document: ExportDocument
    ) {
        switch column {
        case "name", "Title": entry.title = document.string(cell)
        case "url", "Url", "URL": entry.add(FieldName.url.text, cell, in: document)
        case "username", "Username": entry.add(FieldName.user.text, cell, in: document)
        case "password", "Password": entry.addPassword(cell, in: document)
        case "note", "Notes": entry.addNote(cell, in: document)
        case "OTPAuth": entry.addOneTimeKey(cell, in: document)
        case "httpRealm": entry.add("realm", cell, in: document)
        case "Tags": entry.add("tags", cell, in: document)
        // The browser's own: formActionOrigin, guid, times; 1Password's marks: Favorite, Archived.
        default: break
        }
    }

    /// The host of an address, as a title; the address itself if it has none.
    static func host(of address: String) -> String {
        let parts = address.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count > 2, parts[0].last == ":", parts[1].isEmpty else { return address }
        let authority = parts[2].prefix { $0 != "?" && $0 != "#" }
        return String(authority.split(separator: "@").last ?? authority)
    }
}
