import ArgumentParser
import Glibc
import KeychainModel
import SecretMemory

/// Where secrets are imported from.
enum ImportFormat: String, CaseIterable, ExpressibleByArgument {
    /// A directory of the standard Unix password manager.
    case pass
    /// KeePassXC's and KeePass 2's unencrypted XML.
    case keepassxc
    /// Bitwarden's and Vaultwarden's unencrypted JSON.
    case bitwarden
    /// The CSV of Chrome and the browsers built on it.
    case chrome
    /// The CSV of Firefox.
    case firefox
    /// The CSV of 1Password 8.
    case onePassword = "1password"
    /// The Credential Exchange Format of the FIDO Alliance, version 1.0, as JSON.
    case cxf

    /// Its name in messages.
    var title: String {
        switch self {
        case .pass: "a password store"
        case .keepassxc: "KeePassXC's XML"
        case .bitwarden: "Bitwarden's JSON"
        case .chrome: "Chrome's CSV"
        case .firefox: "Firefox's CSV"
        case .onePassword: "1Password's CSV"
        case .cxf: "CXF 1.0"
        }
    }

    static let names = allCases.map(\.rawValue).joined(separator: ", ")

    /// Reads what there is to import at a path, in the given format or the one that it has.
    static func read(_ path: String, as format: ImportFormat?) throws(CommandError) -> ImportSource {
        var status = stat()
        let isThere = unsafe stat(path, &status) == 0
        let isDirectory = path != "-" && isThere && status.st_mode & S_IFMT == S_IFDIR
        guard format ?? (isDirectory ? .pass : nil) != .pass else {
            return ImportSource(.pass, try PassStore(path).read())
        }
        guard !isDirectory else {
            throw CommandError(
                "\(path) is a directory; only pass has its secrets in one",
                hint: "name the file",
                exitCode: .validationFailure
            )
        }
        let document = try ExportDocument(path)
        do throws(ExportFault) {
            var json: ExportJSON?
            let format = if let format { format } else { try recognised(document, &json) }
            return ImportSource(format, try format.entries(of: document, json))
        } catch {
            let place = error.place.map { ", in line \(document.line(of: $0))" } ?? ""
            let named = format.map { " as \($0.title)" } ?? ""
            throw CommandError(
                "\(document.name) cannot be imported\(named)\(place): \(error.reason)",
                hint: "formats are \(names); --format names one"
            )
        }
    }

    /// The format of a file, by its content; of JSON, what was parsed for it.
    private static func recognised(_ document: ExportDocument, _ json: inout ExportJSON?) throws(ExportFault)
        -> ImportFormat
    {
        let first = (document.start..<document.count).first { document[$0] > 0x20 } ?? document.start
        if document.has("<?xml", at: first) || document.has("<KeePassFile", at: first) { return .keepassxc }
        if document.has("{", at: first) {
            let parsed = try ExportJSON(document)
            json = parsed
            if parsed["exporterRpId"] != nil || parsed["accounts"] != nil { return .cxf }
            if parsed["encrypted"] != nil || parsed["items"] != nil { return .bitwarden }
        } else {
            let header = ExportCSV.header(of: document)
            for format in [ImportFormat.chrome, .firefox, .onePassword]
            where format.columns.isSubset(of: header) && format.allColumns.isSuperset(of: header) {
                return format
            }
        }
        throw ExportFault("its format is not known")
    }

    /// The columns that a CSV export has at least.
    var columns: Set<String> {
        switch self {
        case .chrome: ["name", "url", "username", "password"]
        case .firefox: ["url", "username", "password", "httpRealm", "formActionOrigin"]
        case .onePassword: ["Title", "Username", "Password", "OTPAuth", "Notes"]
        case .pass, .keepassxc, .bitwarden, .cxf: []
        }
    }

    /// All columns that it may have: other managers' tables have the first ones too, and more that must not be lost.
    private var allColumns: Set<String> {
        switch self {
        case .chrome: columns.union(["note"])
        case .firefox: columns.union(["guid", "timeCreated", "timeLastUsed", "timePasswordChanged"])
        case .onePassword: columns.union(["Url", "URL", "Favorite", "Archived", "Tags"])
        case .pass, .keepassxc, .bitwarden, .cxf: []
        }
    }

    private func entries(of document: ExportDocument, _ json: ExportJSON?) throws(ExportFault) -> [ImportItem]
    {
        func parsed() throws(ExportFault) -> ExportJSON {
            if let json { return json }
            return try ExportJSON(document)
        }
        let entries =
            switch self {
            case .keepassxc: try KeePassExport.entries(of: document)
            case .bitwarden: try BitwardenExport.entries(of: document, parsed())
            case .cxf: try CXFExport.entries(of: document, parsed())
            case .chrome, .firefox, .onePassword: try BrowserExport.entries(of: document, self)
            case .pass: [ImportEntry]()
            }
        guard entries.count <= ExportLimits.mostEntries else {
            throw ExportFault("it has more than \(ExportLimits.mostEntries) entries, the limit")
        }
        return entries.map { entry in
            ImportItem(
                folders: entry.folders,
                title: entry.title.isEmpty ? entry.host(in: document) : entry.title,
                user: entry.user.map { document.string($0) },
                leftOut: entry.leftOut
            ) { () throws(CommandError) in try EntryText.content(of: entry, in: document) }
        }
    }
}

/// What there is to import.
struct ImportSource {
    let format: ImportFormat
    let items: [ImportItem]

    init(_ format: ImportFormat, _ items: [ImportItem]) {
        (self.format, self.items) = (format, items)
    }
}

/// One entry of a source, whose secret is read when it is needed.
struct ImportItem {
    typealias Content = () throws(CommandError) -> ImportContent

    /// The folders that it is in, the outermost first.
    let folders: [String]
    let title: String
    /// The user name; nil if there is none, or it is not read yet.
    let user: String?
    /// What of the entry stays behind, in words.
    let leftOut: [String]
    /// Reads the whole secret with its fields; nil for an entry of which all stays behind.
    let content: Content?

    init(
        folders: [String],
        title: String,
        user: String? = nil,
        leftOut: [String] = [],
        content: Content?
    ) {
        (self.folders, self.title, self.user) = (folders, title, user)
        (self.leftOut, self.content) = (leftOut, content)
    }
}

/// What an entry turned out to hold.
enum ImportContent: ~Copyable {
    case secret(SecretBytes)
    case empty
    /// Others can still be read; the reason is in words.
    case unreadable(String)
}
