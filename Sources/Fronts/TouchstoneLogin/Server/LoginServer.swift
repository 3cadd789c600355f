internal import Crypto
internal import Foundation
internal import SecretMemory
internal import Touchstone
internal import WebAuthnModel

/// The HTTP API of one server: JSON requests and replies, DPoP proofs, error codes.
///
/// Its state is the server's last DPoP nonce, and the values that the server must not send twice.
final class LoginServer: Sendable {
    /// The content of a request.
    enum Body {
        case none
        case json(JSONValue)
        case form([(name: String, value: String)])
    }

    /// The server's address without a trailing slash, as in proofs.
    let base: String
    /// Scheme, host and port: the origin of ceremonies.
    let origin: String
    let host: String
    private let url: URL
    private let transport: any LoginTransport
    private let nonce = Guarded<String?>(nil)
    /// Shared by all servers of this process.
    private static let seen = Guarded(SeenValues())
    /// The time limit for a response.
    private let patience: Duration

    init(_ url: URL, _ transport: any LoginTransport, patience: Duration) {
        var text = url.absoluteString
        while text.hasSuffix("/") { text.removeLast() }
        self.url = url
        self.transport = transport
        self.patience = patience
        base = text
        host = (url.host() ?? "").lowercased()
        let scheme = url.scheme?.lowercased() ?? ""
        let port = url.port.flatMap { ["https": 443, "http": 80][scheme] == $0 ? nil : ":\($0)" } ?? ""
        origin = "\(scheme)://\(host.contains(":") ? "[\(host)]" : host)\(port)"
    }

    /// Makes a DPoP proof for method, address, nonce and access token of a request.
    typealias Prove = (String, String, String?, String?) async throws(TouchstoneError) -> String

    /// Sends a request and returns the members of its reply.
    ///
    /// - Parameters:
    ///   - method: The HTTP method, such as `POST`.
    ///   - path: The path, starting with `/v1`.
    ///   - body: The content.
    ///   - access: The session's access token.
    ///   - prove: Makes its proof; nil for a request without one.
    /// - Returns: the members; empty for a reply without content.
    /// - Throws: `TouchstoneError`: `unreachable`, `timedOut`, `untrustedServer`, `badReply`, `replayed`, and the
    ///   errors for the server's error codes.
    func call(
        _ method: String,
        _ path: String,
        _ body: Body = .none,
        access: String? = nil,
        prove: Prove? = nil
    ) async throws(TouchstoneError) -> JSONObject {
        let address = try address(path)
        var headers = ["Accept": "application/json"]
        var content = Data()
        switch body {
        case .none: break
        case .json(let value): (headers["Content-Type"], content) = ("application/json", Data(value.json))
        case .form(let fields):
            headers["Content-Type"] = "application/x-www-form-urlencoded"
            content = Data(
                fields.map { "\($0.name)=\($0.value.formEncoded)" }.joined(separator: "&").utf8
            )
        }
        headers["Authorization"] = access.map { "Bearer \($0)" }
        // The server sends a nonce in reply to a proof without one or with an old one (RFC 9449, section 8).
        for isLast in [false, true] {
            if let prove {
                headers["DPoP"] = try await prove(method, base + path, nonce.withLock(\.self), access)
            }
            let request = LoginRequest(method: method, url: address, headers: headers, body: content)
            let response = try await transport.send(request, within: patience)
            if let given = response.headers["dpop-nonce"], given.isToken {
                nonce.withLock { $0 = given }
            }
            guard !(200..<300).contains(response.status) else { return try Self.members(response) }
            let refusal = Refusal(response)
            guard refusal.word == "use_dpop_nonce", prove != nil, !isLast else {
                throw TouchstoneError(refusal)
            }
        }
        throw .badReply("DPoP-Nonce")
    }

    /// Records a value that a server must send only once: a challenge or an access token.
    ///
    /// - Throws: `TouchstoneError` with `replayed` if the value was recorded before.
    func checkIsNew(_ value: some Sequence<UInt8>, _ what: String) throws(TouchstoneError) {
        let digest = Array(SHA256.hash(data: Data(value)))
        guard Self.seen.withLock({ $0.insert(digest) }) else {
            throw TouchstoneError(.replayed, part: "server", details: ["\(what) was used before"])
        }
    }

    /// - Throws: `TouchstoneError` with `untrustedServer` for plain HTTP to another machine, `limitExceeded` for an invalid
    ///   server address.
    private func address(_ path: String) throws(TouchstoneError) -> URL {
        guard let address = URL(string: base + path), !host.isEmpty, url.query() == nil,
            url.fragment() == nil, url.user() == nil, ["http", "https"].contains(url.scheme?.lowercased())
        else {
            throw TouchstoneError(
                .limitExceeded,
                details: ["server: https://host, without user, query and fragment"]
            )
        }
        guard url.scheme?.lowercased() == "https" || Self.loopback.contains(host) else {
            throw TouchstoneError(
                .untrustedServer,
                part: "server",
                details: ["plain HTTP is for servers of this machine alone"]
            )
        }
        return address
    }

    private static let loopback: Set<String> = ["localhost", "127.0.0.1", "::1", "[::1]"]

    private static func members(_ response: LoginResponse) throws(TouchstoneError) -> JSONObject {
        if response.body.isEmpty { return JSONObject([]) }
        guard let value = try? JSONValue(parsing: Array(response.body), depth: 16), let members = value.object
        else { throw .badReply("no JSON object") }
        return members
    }
}

/// The newest 4,096 values that a server must send only once.
private struct SeenValues {
    private static let most = 4096
    private var values: Set<[UInt8]> = []
    private var order: [[UInt8]] = []

    /// - Returns: false if the value is already contained.
    mutating func insert(_ value: [UInt8]) -> Bool {
        guard values.insert(value).inserted else { return false }
        order.append(value)
        if order.count > Self.most { values.remove(order.removeFirst()) }
        return true
    }
}

extension String {
    /// Percent-encoded as form content (URL Living Standard, section 5.2), with blanks as `%20`.
    fileprivate var formEncoded: String {
        utf8.map { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"),
                UInt8(ascii: "."), UInt8(ascii: "*"):
                String(UnicodeScalar(byte))
            default: "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }.joined()
    }

    /// Whether it is valid in a header field: visible ASCII, at most 4,096 characters.
    var isToken: Bool {
        1...4096 ~= utf8.count && utf8.allSatisfy { 0x21...0x7E ~= $0 }
    }
}
