import Glibc
import KeychainModel
import Primitives
import SecretMemory

/// Writes secrets in the FIDO Alliance's Credential Exchange Format 1.0 (Proposed Standard, 2025-08-14), as JSON.
///
/// A secret's values go from locked memory to the file through one array, which is wiped after each item.
struct CXFWriter {
    /// The domain that the format asks for (section 2.1); this program has none (RFC 6761, section 6.4).
    private static let domain = "touchstone.invalid"

    /// A collection (section 2.3): what is before a slash in names.
    private final class Collection {
        let title: String
        var items: [String] = []
        var inner: [Collection] = []

        init(_ title: String) { self.title = title }
    }

    private let target: ExportedFile
    private let root = Collection("")
    private var count = 0

    /// Begins a file.
    init(_ target: ExportedFile) throws(CommandError) {
        self.target = target
        let header = JSONText.object([
            ("version", .object([("major", .number(1)), ("minor", .number(0))])),
            ("exporterRpId", .text(Self.domain)), ("exporterDisplayName", .text("Touchstone")),
            ("timestamp", .number(Int64(time(nil)))),
        ]).renderedOnOneLine()
        let account = JSONText.object([
            ("id", .text(Self.identity("account"))), ("username", .text("")), ("email", .text("")),
        ]).renderedOnOneLine()
        try append(Array("\(header.dropLast()),\"accounts\":[\(account.dropLast()),\"items\":[\n".utf8))
    }

    /// Writes a secret as an item (section 2.4).
    ///
    /// - Returns: false for one that is no text, which is not written.
    mutating func add(_ stored: StoredSecret, _ secret: borrowing SecretBytes) throws(CommandError) -> Bool {
        guard
            secret.withOctets({ octets in (try? UTF8Span(validating: octets)) != nil && !octets.contains(0) })
        else {
            return false
        }
        var buffer = try CommandMemory.buffer(secret.count * 2 + 512)
        buffer.append(text: count > 0 ? ",\n" : "")
        let identity = Self.identity(stored.name)
        let title = place(stored.name, identity)
        var members: [(String, JSONText)] = [("id", .text(identity)), ("title", .text(title))]
        if let created = stored.created { members.append(("creationAt", .number(created / 1_000_000))) }
        if let modified = stored.modified { members.append(("modifiedAt", .number(modified / 1_000_000))) }
        buffer.append(text: "\(JSONText.object(members).renderedOnOneLine().dropLast())")
        secret.withOctets { octets in Self.append(SecretParts(octets), of: octets, to: &buffer) }
        buffer.append(text: "}")
        let item = try CommandMemory.finish(buffer)
        var octets = item.withOctets { octets in octets.indices.map { octets[$0] } }
        defer { wipe(&octets) }
        try append(octets)
        count += 1
        return true
    }

    /// Completes the file.
    func finish() throws(CommandError) {
        let collections = JSONText.list(root.inner.map { Self.json($0, below: "") }).renderedOnOneLine()
        try append(Array("\n],\"collections\":\(collections)}]}\n".utf8))
        try target.finish()
    }

    private func append(_ octets: [UInt8]) throws(CommandError) {
        do throws(KeychainError) {
            try target.append(octets)
        } catch {
            throw target.failure ?? ErrorText.describe(error)
        }
    }

    /// An identifier (at most 64 bytes, in base64url): all hexadecimal digits are base64url.
    private static func identity(_ text: String) -> String {
        HexText.of(Array(SHA256.digest(of: Array(text.utf8)).prefix(16)))
    }

    /// Puts an item into the collections that its name says, and returns what is left as its title.
    private func place(_ name: String, _ identity: String) -> String {
        var parts = name.split(separator: "/").map(String.init)
        guard let title = parts.popLast() else { return name }
        var collection = root
        for part in parts {
            if let next = collection.inner.first(where: { $0.title.utf8.elementsEqual(part.utf8) }) {
                collection = next
            } else {
                let next = Collection(part)
                collection.inner.append(next)
                collection = next
            }
        }
        if collection !== root { collection.items.append(identity) }
        return title
    }

    private static func json(_ collection: Collection, below path: String) -> JSONText {
        let path = "\(path)\(collection.title)/"
        return .object([
            ("id", .text(identity("collection \(path)"))), ("title", .text(collection.title)),
            ("items", .list(collection.items.map { .object([("item", .text($0))]) })),
            ("subCollections", .list(collection.inner.map { json($0, below: path) })),
        ])
    }

    /// The members `scope` and `credentials`.
    private static func append(_ parts: SecretParts, of octets: Span<UInt8>, to buffer: inout SecretBuffer) {
        buffer.append(text: ",\"scope\":{\"urls\":[")
        for (index, address) in parts.addresses.enumerated() {
            buffer.append(text: index > 0 ? "," : "")
            buffer.append(quoted: octets.extracting(address))
        }
        buffer.append(text: "],\"androidApps\":[]},\"credentials\":[")
        var separator = ""
        func begin(_ type: String) {
            buffer.append(text: "\(separator){\"type\":\"\(type)\"")
            separator = ","
        }
        /// An editable field (section 2.6).
        func field(_ name: String, _ type: String, _ value: Range<Int>) {
            buffer.append(text: ",\"\(name)\":{\"fieldType\":\"\(type)\",\"value\":")
            buffer.append(quoted: octets.extracting(value))
            buffer.append(text: "}")
        }
        if parts.user != nil || !parts.password.isEmpty {
            begin("basic-auth")
            if let user = parts.user { field("username", "string", user) }
            if !parts.password.isEmpty { field("password", "concealed-string", parts.password) }
            buffer.append(text: "}")
        }
        for key in parts.oneTimeKeys {
            begin("totp")
            buffer.append(text: ",\"secret\":\"")
            for index in key.secret where Base32.isDigit(octets[index]) {
                let isLower = octets[index] >= UInt8(ascii: "a")
                buffer.append(isLower ? octets[index] - 0x20 : octets[index])
            }
            buffer.append(
                text:
                    "\",\"period\":\(key.period),\"digits\":\(key.digits),\"algorithm\":\"\(key.algorithm)\"}"
            )
        }
        if !parts.fields.isEmpty {
            begin("custom-fields")
            buffer.append(text: ",\"fields\":[")
            for (index, (name, value)) in parts.fields.enumerated() {
                buffer.append(text: (index > 0 ? "," : "") + "{\"fieldType\":\"concealed-string\",\"value\":")
                buffer.append(quoted: octets.extracting(value))
                buffer.append(text: ",\"label\":\(JSONText.text(name).rendered())}")
            }
            buffer.append(text: "]}")
        }
        if let note = parts.note {
            begin("note")
            field("content", "string", note)
            buffer.append(text: "}")
        }
        buffer.append(text: "]")
    }
}

extension Span<UInt8> {
    fileprivate func contains(_ octet: UInt8) -> Bool { indices.contains { self[$0] == octet } }
}
