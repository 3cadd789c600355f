/// The CSV exports of Chrome, Firefox and 1Password, by the names of their columns.
enum BrowserExport {
    static func entries(of document: ExportDocument, _ format: ImportFormat) throws(ExportFault)
        -> [ImportEntry]
    {
        let table = try ExportCSV(document)
        guard format.columns.isSubset(of: table.header) else {
            throw ExportFault("its header is not that of \(format.title)")
        }
        return table.rows.map { row in
            var entry = ImportEntry()
            for (column, cell) in zip(table.header, row) { add(column, cell, to: &entry, document) }
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
        // The programs' own marks and times.
        case "formActionOrigin", "guid", "timeCreated", "timeLastUsed", "timePasswordChanged", "Favorite",
            "Archived":
            break
        default: entry.add(column, cell, in: document)
        }
    }
}
