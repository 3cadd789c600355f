/// Bitwarden's unencrypted JSON, of a user's vault or of an organisation's; Vaultwarden has the same.
enum BitwardenExport {
    static func entries(of document: ExportDocument, _ json: ExportJSON) throws(ExportFault) -> [ImportEntry]
    {
        guard json["encrypted"]?.flag != true else {
            throw ExportFault("it is encrypted; export it as .json, not as .json (encrypted)")
        }
        guard case .list(let items)? = json["items"] else { throw ExportFault("it has no list of items") }
        var folders: [String: String] = [:]
        for list in ["folders", "collections"] {
            for folder in json[list]?.elements ?? [] {
                guard let identity = folder["id"]?.text, let name = folder["name"]?.text else { continue }
                folders[document.string(identity)] = document.string(name)
            }
        }
        return items.compactMap { item in
            // In the trash.
            if item["deletedDate"] != nil { return nil }
            return entry(item, folders, document)
        }
    }

    private static func entry(
        _ item: ExportJSON,
        _ folders: [String: String],
        _ document: ExportDocument
    ) -> ImportEntry {
        var entry = ImportEntry()
        entry.title = item["name"]?.text.map { document.string($0) } ?? ""
        let place = item["folderId"]?.text ?? item["collectionIds"]?.elements.first?.text
        // A slash in a folder's name nests folders.
        entry.folders =
            place.flatMap { folders[document.string($0)] }.map { $0.split(separator: "/").map(String.init) }
            ?? []
        let kind = item["type"]?.scalar.map { document.string($0) } ?? "1"
        // Login, note, card, identity, ssh key.
        if !["1", "2", "3", "4", "5"].contains(kind) {
            entry.leftOut.append("what only items of its kind have: kind \(kind) is not known")
        }
        if let login = item["login"] { add(login, to: &entry, document) }
        for kind in ["card", "identity", "sshKey"] {
            for (name, value) in item[kind]?.members ?? [] { entry.add(name, value.scalar, in: document) }
        }
        for field in item["fields"]?.elements ?? [] {
            entry.add(
                field["name"]?.text.map { document.string($0) } ?? "",
                field["value"]?.scalar,
                in: document
            )
        }
        entry.addNote(item["notes"]?.text, in: document)
        if let files = item["attachments"]?.elements, !files.isEmpty { entry.leftOut.append("attachments") }
        return entry
    }

    private static func add(_ login: ExportJSON, to entry: inout ImportEntry, _ document: ExportDocument) {
        entry.add(FieldName.user.text, login["username"]?.text, in: document)
        entry.addPassword(login["password"]?.text, in: document)
        for address in login["uris"]?.elements ?? [] {
            entry.add(FieldName.url.text, address["uri"]?.text, in: document)
        }
        entry.addOneTimeKey(login["totp"]?.text, in: document)
        if let keys = login["fido2Credentials"]?.elements, !keys.isEmpty { entry.leftOut.append("a passkey") }
    }
}
