/// The FIDO Alliance's Credential Exchange Format 1.0 (Proposed Standard, 2025-08-14) as a JSON file, without the protocol around it.
enum CXFExport {
    static func entries(of document: ExportDocument, _ json: ExportJSON) throws(ExportFault) -> [ImportEntry]
    {
        // Section 2.1: another major version is another format.
        guard json["version"]?["major"]?.scalar.map({ document.string($0) }) == "1" else {
            throw ExportFault("its version is not 1")
        }
        guard case .list(let accounts)? = json["accounts"] else {
            throw ExportFault("it has no list of accounts")
        }
        var entries: [ImportEntry] = []
        for account in accounts {
            var folders: [String: [String]] = [:]
            let owner = account["username"]?.text ?? account["email"]?.text
            let top = accounts.count > 1 ? owner.map { [document.string($0)] } ?? [] : []
            collect(account["collections"], below: [], into: &folders, document)
            for item in account["items"]?.elements ?? [] {
                var entry = entry(item, document)
                let identity = item["id"]?.text.map { document.string($0) } ?? ""
                entry.folders = top + (folders[identity] ?? [])
                entries.append(entry)
            }
        }
        return entries
    }

    /// The collections that each item is in, the first one of several.
    private static func collect(
        _ collections: ExportJSON?,
        below path: [String],
        into folders: inout [String: [String]],
        _ document: ExportDocument
    ) {
        for collection in collections?.elements ?? [] {
            let path = path + [collection["title"]?.text.map { document.string($0) } ?? ""]
            for link in collection["items"]?.elements ?? [] {
                guard let item = link["item"]?.text.map({ document.string($0) }) else { continue }
                if folders[item] == nil { folders[item] = path }
            }
            collect(collection["subCollections"], below: path, into: &folders, document)
        }
    }

    private static func entry(_ item: ExportJSON, _ document: ExportDocument) -> ImportEntry {
        var entry = ImportEntry()
        entry.title = item["title"]?.text.map { document.string($0) } ?? ""
        for credential in item["credentials"]?.elements ?? [] { add(credential, to: &entry, document) }
        for address in item["scope"]?["urls"]?.elements ?? [] {
            entry.add(FieldName.url.text, address.text, in: document)
        }
        return entry
    }

    /// Section 3.3; a credential of a type that is not named here keeps all its fields.
    private static func add(_ credential: ExportJSON, to entry: inout ImportEntry, _ document: ExportDocument)
    {
        let type = credential["type"]?.text.map { document.string($0) } ?? ""
        switch type {
        case "passkey": entry.leftOut.append("a passkey")
        case "file": entry.leftOut.append("a file")
        case "item-reference": entry.leftOut.append("a reference to another item")
        case "note": entry.addNote(value(credential["content"]), in: document)
        case "totp": addOneTimeKey(credential, to: &entry, document)
        case "custom-fields":
            for field in credential["fields"]?.elements ?? [] {
                let label = field["label"]?.text.map { document.string($0) } ?? ""
                entry.add(label, value(field), in: document)
            }
        default:
            for (name, member) in credential.members where !["type", "id", "extensions"].contains(name) {
                switch name {
                case "username": entry.add(FieldName.user.text, value(member), in: document)
                case "password", "passphrase": entry.addPassword(value(member), in: document)
                default: entry.add(name, value(member), in: document)
                }
            }
        }
    }

    /// Importers "MUST ignore TotpCredential entries with unknown algorithm values".
    private static func addOneTimeKey(
        _ key: ExportJSON,
        to entry: inout ImportEntry,
        _ document: ExportDocument
    ) {
        func string(_ name: String) -> String? { key[name]?.scalar.map { document.string($0) } }
        let algorithm = string("algorithm")
        guard let secret = key["secret"]?.text, ["sha1", "sha256", "sha512"].contains(algorithm ?? "sha1")
        else {
            entry.leftOut.append("a one-time key of an unknown kind")
            return
        }
        entry.oneTimeKeys.append(
            ImportEntry.OneTimeKey(
                text: secret,
                algorithm: algorithm,
                digits: string("digits"),
                period: string("period")
            )
        )
    }

    /// The value of an editable field (section 2.6), or a plain value.
    private static func value(_ field: ExportJSON?) -> ExportText? {
        field?["value"]?.scalar ?? field?.scalar
    }
}
