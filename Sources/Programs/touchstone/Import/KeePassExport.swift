/// KeePassXC's unencrypted XML (KDBX 4 payload, "KeePass2 XML" of keepassxc-specs), which KeePass 2 writes too.
struct KeePassExport {
    private struct Group {
        var identity = ""
        var name = ""
        var entries: [ImportEntry] = []
        var groups: [Group] = []
    }

    private let document: ExportDocument
    private var recycleBin: String?
    private var count = 0

    /// The entries of all groups but the recycle bin.
    static func entries(of document: ExportDocument) throws(ExportFault) -> [ImportEntry] {
        var export = KeePassExport(document: document)
        return try export.read()
    }

    private init(document: ExportDocument) { self.document = document }

    private mutating func read() throws(ExportFault) -> [ImportEntry] {
        var xml = try ExportXML(document)
        guard case .start("KeePassFile")? = try xml.next() else {
            throw ExportFault("the root element is not KeePassFile")
        }
        var groups: [Group] = []
        try xml.children { xml, name throws(ExportFault) in
            switch name {
            case "Meta": try readMeta(&xml)
            case "Root":
                try xml.children { xml, name throws(ExportFault) in
                    if name == "Group" { groups.append(try readGroup(&xml)) } else { try xml.skip() }
                }
            default: try xml.skip()
            }
        }
        guard try xml.next() == nil else { throw ExportFault("something follows the root element") }
        var entries: [ImportEntry] = []
        // The root group has the name of the database, which is no part of a name.
        for group in groups { flatten(group, below: [], into: &entries) }
        return entries
    }

    private func flatten(_ group: Group, below folders: [String], into entries: inout [ImportEntry]) {
        if let recycleBin, group.identity == recycleBin { return }
        for entry in group.entries {
            var entry = entry
            entry.folders = folders
            entries.append(entry)
        }
        for inner in group.groups { flatten(inner, below: folders + [inner.name], into: &entries) }
    }

    private mutating func readMeta(_ xml: inout ExportXML) throws(ExportFault) {
        var identity = ""
        var isEnabled = true
        try xml.children { xml, name throws(ExportFault) in
            switch name {
            case "RecycleBinUUID": identity = document.string(try xml.content())
            case "RecycleBinEnabled": isEnabled = document.string(try xml.content()).lowercased() != "false"
            default: try xml.skip()
            }
        }
        // A group that does not exist has the identity of zeros.
        if isEnabled, identity.contains(where: { $0 != "A" && $0 != "=" }) { recycleBin = identity }
    }

    private mutating func readGroup(_ xml: inout ExportXML) throws(ExportFault) -> Group {
        var group = Group()
        try xml.children { xml, name throws(ExportFault) in
            switch name {
            case "UUID": group.identity = document.string(try xml.content())
            case "Name": group.name = document.string(try xml.content())
            case "Entry": group.entries.append(try readEntry(&xml))
            case "Group": group.groups.append(try readGroup(&xml))
            default: try xml.skip()
            }
        }
        return group
    }

    private mutating func readEntry(_ xml: inout ExportXML) throws(ExportFault) -> ImportEntry {
        count += 1
        guard count <= ExportLimits.mostEntries else {
            throw ExportFault("it has more than \(ExportLimits.mostEntries) entries, the limit")
        }
        var entry = ImportEntry()
        var files = 0
        /// The old form of one-time keys in KeePassXC, "TOTP Seed" and "TOTP Settings".
        var (seed, settings): (ExportText?, ExportText?)
        try xml.children { xml, name throws(ExportFault) in
            switch name {
            case "String":
                let (key, value) = try readString(&xml)
                switch key {
                case "Title": entry.title = document.string(value)
                case "UserName": entry.add(FieldName.user.text, value, in: document)
                case "Password": entry.addPassword(value, in: document)
                case "URL": entry.add(FieldName.url.text, value, in: document)
                case "Notes": entry.addNote(value, in: document)
                case "otp": entry.addOneTimeKey(value, in: document)
                case "TOTP Seed": seed = value
                case "TOTP Settings": settings = value
                default: entry.add(key, value, in: document)
                }
            case "Binary":
                files += 1
                try xml.skip()
            // "History" has the entry's earlier versions.
            default: try xml.skip()
            }
        }
        if let seed, let key = oneTimeKey(seed, settings) {
            entry.oneTimeKeys.append(key)
        } else {
            entry.add("TOTP Seed", seed, in: document)
            entry.add("TOTP Settings", settings, in: document)
        }
        if files > 0 { entry.leftOut.append(files == 1 ? "an attachment" : "\(files) attachments") }
        let values = entry.fields.map(\.value) + [entry.password].compactMap { $0 }
        if values.contains(where: { document.begins($0, with: "{REF:") }) {
            entry.leftOut.append("the value that a reference to another entry stands for")
        }
        return entry
    }

    private func readString(_ xml: inout ExportXML) throws(ExportFault) -> (key: String, value: ExportText) {
        var (key, value): (String?, ExportText?)
        try xml.children { xml, name throws(ExportFault) in
            switch name {
            case "Key": key = document.string(try xml.content())
            case "Value":
                // In a database itself, and so never in an export.
                guard
                    !xml.attributes.contains(where: {
                        $0.name == "Protected" && document.string($0.value) == "True"
                    })
                else { throw ExportFault("its values are encrypted; export it as unencrypted XML") }
                value = try xml.content()
            default: try xml.skip()
            }
        }
        guard let key, let value else { throw ExportFault("a String element has no Key or no Value") }
        return (key, value)
    }

    /// A key whose settings are `PERIOD;DIGITS`; nil for others, such as Steam's.
    private func oneTimeKey(_ seed: ExportText, _ settings: ExportText?) -> ImportEntry.OneTimeKey? {
        guard !document.isEmpty(seed) else { return nil }
        guard let settings, !document.isEmpty(settings) else { return ImportEntry.OneTimeKey(text: seed) }
        let parts = document.string(settings).split(separator: ";")
        guard parts.count == 2, parts.allSatisfy({ UInt16($0) != nil }) else { return nil }
        return ImportEntry.OneTimeKey(text: seed, digits: String(parts[1]), period: String(parts[0]))
    }
}
