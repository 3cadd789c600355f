import ArgumentParser
import SecretMemory

/// A credential as git describes it: lines `key=value`, up to a blank line or the end (git-credential(1)).
final class GitCredential {
    /// The longest description, in bytes.
    static let longest = 1 << 17

    private static let secretKeys = ["password", "oauth_refresh_token", "credential"]

    /// The non-secret values, the last one of each key.
    private var values: [String: [UInt8]] = [:]
    private(set) var capabilities: Set<String> = []
    /// The lines with secrets, in their original order.
    private var secrets: [(key: String, value: HeldValue)] = []

    private final class HeldValue {
        let secret: SecretBytes
        init(_ secret: consuming SecretBytes) { self.secret = secret }
    }

    /// Parses a description.
    ///
    /// - Throws: ``CommandError`` for an invalid line, whose content is not shown.
    init(_ text: borrowing SecretBytes) throws(CommandError) {
        let isWhole = try text.withOctets { octets throws(CommandError) in
            var start = 0
            while start < octets.count {
                let end = (start..<octets.count).first { octets[$0] == 0x0A } ?? octets.count
                if end == start { return true }
                guard let equals = (start..<end).first(where: { octets[$0] == UInt8(ascii: "=") }) else {
                    return false
                }
                let key = String(decoding: (start..<equals).map { octets[$0] }, as: UTF8.self)
                try take(key, octets.extracting((equals + 1)..<end))
                start = end + 1
            }
            return true
        }
        guard isWhole else {
            throw CommandError("a line of the credential has no '='", hint: "see git-credential(1)")
        }
    }

    private func take(_ key: String, _ value: Span<UInt8>) throws(CommandError) {
        if Self.secretKeys.contains(key) {
            secrets.removeAll { $0.key == key }
            secrets.append((key, HeldValue(try CommandMemory.copy(value))))
        } else if key == "capability[]" {
            capabilities.insert(String(decoding: value.indices.map { value[$0] }, as: UTF8.self))
        } else if !key.hasSuffix("[]") {
            values[key] = value.indices.map { value[$0] }
        }
    }

    /// A non-secret value; nil if it is missing.
    subscript(key: String) -> [UInt8]? { values[key] }

    /// Whether there is a secret of this name; it may be empty: some servers take a token as the user's name.
    func hasSecret(_ key: String) -> Bool { secrets.contains { $0.key == key } }

    /// The secret by which a credential is compared: the password, or what git has instead of one; nil without any.
    func comparedSecret() throws(CommandError) -> SecretBytes? {
        for key in ["password", "credential"] {
            guard let found = secrets.first(where: { $0.key == key }) else { continue }
            return try CommandMemory.copy(of: found.value.secret)
        }
        return nil
    }

    /// Whether both are compared by the same secret.
    func isSame(as stored: GitCredential) throws(CommandError) -> Bool {
        guard let mine = try comparedSecret(), let other = try stored.comparedSecret() else { return false }
        return mine.matches(other)
    }

    /// The scheme and the host, as the label to search by.
    var label: String {
        CredentialName.shortened(Self.labelPrefix + place(withUser: false, withPath: false))
    }

    /// The start of the labels of git's credentials.
    static let labelPrefix = "git:"

    /// The name to store it under: a URL with the user and, if git gives one, the path.
    var name: String { "git:\(place(withUser: true, withPath: true))" }

    private func place(withUser: Bool, withPath: Bool) -> String {
        let host = CredentialName.escaped(values["host"] ?? [], keeping: "@/")
        let user = values["username"].map { CredentialName.escaped($0, keeping: "@/:") + "@" }
        let path = values["path"].map { "/" + CredentialName.escaped($0, keeping: "@") }
        let scheme = CredentialName.escaped(values["protocol"] ?? [], keeping: ":/")
        return "\(scheme)://\(withUser ? user ?? "" : "")\(host)\(withPath ? path ?? "" : "")"
    }

    /// The lines stored beside the secret.
    var details: [UInt8] {
        ["username", "path", "authtype", "password_expiry_utc"].flatMap { key in
            values[key].map { Array("\(key)=".utf8) + $0 + [0x0A] } ?? []
        }
    }

    /// Whether a stored credential, of which only the details are known, is for this server and user.
    func isFor(_ details: GitCredential) -> Bool {
        ["username", "path"].allSatisfy { key in self[key] == nil || self[key] == details[key] }
    }

    /// The secret to store: the password alone, or all secret lines if there are more.
    func payload() throws(CommandError) -> SecretBytes {
        if secrets.count == 1, let only = secrets.first, only.key == "password" {
            return try CommandMemory.copy(of: only.value.secret)
        }
        var buffer = try CommandMemory.buffer(256)
        for (key, value) in secrets {
            buffer.append(text: "\(key)=")
            value.secret.withOctets { buffer.append(contentsOf: $0) }
            buffer.append(0x0A)
        }
        return try CommandMemory.finish(buffer)
    }

    /// Combines the stored details and the secret; a secret stored as lines ends with a newline and begins with a key.
    convenience init(details: [UInt8], payload: borrowing SecretBytes) throws(CommandError) {
        var buffer = try CommandMemory.buffer(details.count + payload.count + 16)
        unsafe details.withUnsafeBytes { unsafe buffer.append(contentsOf: $0) }
        // No value of git contains a newline.
        let holdsLines = payload.withOctets { octets in octets.count > 0 && octets[octets.count - 1] == 0x0A }
        if !holdsLines { buffer.append(text: "password=") }
        payload.withOctets { buffer.append(contentsOf: $0) }
        try self.init(CommandMemory.finish(buffer))
    }

    /// Creates a credential from the details alone.
    convenience init(details: [UInt8]) throws(CommandError) {
        try self.init(CommandMemory.copy(details.span))
    }

    /// The lines that answer a request, without those that git did not announce to understand.
    func answer(to question: GitCredential) throws(CommandError) -> SecretBytes {
        var buffer = try CommandMemory.buffer(256)
        let knowsTypes = question.capabilities.contains("authtype")
        if knowsTypes { buffer.append(text: "capability[]=authtype\n") }
        for key in ["username", "password_expiry_utc"] + (knowsTypes ? ["authtype"] : []) {
            guard let value = self[key] else { continue }
            buffer.append(text: "\(key)=")
            buffer.append(contentsOf: value.span)
            buffer.append(0x0A)
        }
        for (key, value) in secrets where key != "credential" || knowsTypes {
            buffer.append(text: "\(key)=")
            value.secret.withOctets { buffer.append(contentsOf: $0) }
            buffer.append(0x0A)
        }
        return try CommandMemory.finish(buffer)
    }
}
