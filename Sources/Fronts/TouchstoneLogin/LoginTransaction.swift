internal import Crypto
public import Foundation
public import Touchstone
internal import WebAuthnModel

/// An operation that needs the user's confirmation, such as a payment: the prompt shows ``details``, and exactly these are
/// signed.
public struct LoginTransaction: Sendable {
    /// The transaction's identifier on the server.
    public let id: String
    /// The details to confirm; a nested member has a name such as `payee.name`.
    public let details: [String: String]
    /// When the transaction expires.
    public let expires: Date

    private let session: LoginSession
    private let publicKey: JSONValue
    /// SHA-256 of the details in their canonical form.
    private let digest: [UInt8]

    static let label = Array("touchstone transaction 1".utf8)

    /// Parses a transaction, and checks that its challenge is derived from its details.
    ///
    /// - Throws: `TouchstoneError`: `badReply`, `refused` for a transaction that is decided or expired.
    init(_ answer: JSONObject, id: String, _ session: LoginSession) throws(TouchstoneError) {
        guard answer["id"]?.string == id else { throw .badReply("id") }
        guard let status = answer["status"]?.string else { throw .badReply("status") }
        guard status == "pending" else {
            throw TouchstoneError(
                .refused,
                part: "server",
                cause: "transaction_not_pending",
                details: ["it is \(status.loggable)"]
            )
        }
        guard let details = answer["details"], details.object != nil,
            let text = try? CanonicalJSON.encode(details)
        else { throw .badReply("details") }
        guard let nonce = answer["nonce"]?.bytes, nonce.count >= 16 else { throw .badReply("nonce") }
        guard let seconds = answer["expiresAt"]?.integer else { throw .badReply("expiresAt") }
        guard let publicKey = answer["publicKey"], let challenge = publicKey.object?["challenge"]?.bytes
        else { throw .badReply("publicKey") }
        let digest = Array(SHA256.hash(data: text))
        guard challenge == Array(SHA256.hash(data: Self.label + [0] + nonce + digest)) else {
            throw .badReply("challenge: it is not made of the details")
        }
        self.id = id
        self.details = try Self.flat(details)
        self.session = session
        self.publicKey = publicKey
        self.digest = digest
        expires = Date(timeIntervalSince1970: Double(seconds))
    }

    /// Approves the transaction, after one prompt that shows the details below the app's reason.
    ///
    /// - Parameter prompt: The text of the prompt; its items are replaced by the details.
    /// - Returns: the server's receipt, as JSON.
    /// - Throws: `TouchstoneError`: `limitExceeded` for details that the prompt cannot show completely, `notFound` if the
    ///   device was not set up, `refused` if the transaction was decided meanwhile, the errors of a prompt and of a server.
    public func approve(_ prompt: PromptText) async throws(TouchstoneError) -> Data {
        var shown = prompt
        shown.items = details.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
        try Self.checkIsShownWhole(shown)
        let answer = try await session.approve(id, publicKey, shown)
        guard answer["status"]?.string == "approved", let receipt = answer["receipt"],
            receipt.object?["transactionId"]?.string == id,
            receipt.object?["detailsHash"]?.bytes == digest
        else { throw .badReply("receipt") }
        return Data(receipt.json)
    }

    /// Rejects the transaction; shows no prompt.
    ///
    /// - Throws: `TouchstoneError`: `refused` if the transaction was decided meanwhile, the errors of a
    ///   server.
    public func reject() async throws(TouchstoneError) {
        _ = try await session.call("POST", "/v1/transactions/\(id)/rejection")
    }

    // MARK: What is shown

    /// Checks that the prompt, with a line for each detail, shows everything: what it would truncate must not be signed.
    ///
    /// - Throws: `TouchstoneError` with `limitExceeded`.
    private static func checkIsShownWhole(_ prompt: PromptText) throws(TouchstoneError) {
        try prompt.checkIsWhole()
        let texts = [prompt.reason, prompt.title ?? "", prompt.subtitle ?? ""] + prompt.items
        let isShown = texts.allSatisfy { text in
            text.allSatisfy { character in
                character.utf8.count <= 32 && character.unicodeScalars.allSatisfy(Self.isShown)
            }
        }
        guard isShown else {
            throw TouchstoneError(
                .limitExceeded,
                details: ["details: no characters that a prompt does not show"]
            )
        }
    }

    private static func isShown(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator:
            false
        default:
            !scalar.properties.isDefaultIgnorableCodePoint
                && (scalar == " " || !scalar.properties.isWhitespace)
        }
    }

    /// Flattens all values to text, keyed by their paths.
    private static func flat(_ value: JSONValue, _ path: String = "") throws(TouchstoneError) -> [String:
        String]
    {
        let parts: [(String, JSONValue)]
        switch value {
        case .object(let object): parts = object.members.map { ($0.name, $0.value) }
        case .array(let values): parts = values.enumerated().map { ("\($0.offset + 1)", $0.element) }
        case .string(let text): return [path: text]
        case .integer(let number): return [path: "\(number)"]
        case .bool(let flag): return [path: "\(flag)"]
        case .null: return [path: "null"]
        case .number: throw .badReply("details: a fraction")
        }
        // An empty object or array is signed too, so it is shown.
        if parts.isEmpty, !path.isEmpty { return [path: "-"] }
        var all: [String: String] = [:]
        for (name, part) in parts {
            for (path, text) in try flat(part, path.isEmpty ? name : "\(path).\(name)") {
                // Two equal paths could not be told apart in the prompt.
                guard all.updateValue(text, forKey: path) == nil else {
                    throw .badReply("details: \(path.loggable)")
                }
            }
        }
        return all
    }
}

extension LoginSession {
    /// Fetches a transaction that waits for this user.
    ///
    /// - Parameter id: The transaction's identifier, which the app got from the server.
    /// - Returns: the transaction, whose challenge is derived from the details that it shows.
    /// - Throws: `TouchstoneError`: `notFound`, `refused` for a transaction that is decided or expired, `badReply` if
    ///   the challenge does not match the details.
    public func transaction(_ id: String) async throws(TouchstoneError) -> LoginTransaction {
        guard Base64URL.decode(id)?.isEmpty == false else { throw TouchstoneError(.notFound) }
        return try LoginTransaction(try await call("GET", "/v1/transactions/\(id)"), id: id, self)
    }

    /// Signs a transaction with the device's key.
    fileprivate func approve(
        _ id: String,
        _ publicKey: JSONValue,
        _ prompt: PromptText
    ) async throws(TouchstoneError) -> JSONObject {
        let record = try await client.store.require(account, .prompt(prompt))
        let (assertion, _) = try await client.assert(publicKey, by: record, prompt)
        return try await call("POST", "/v1/transactions/\(id)/approval", ["credential": assertion])
    }
}
