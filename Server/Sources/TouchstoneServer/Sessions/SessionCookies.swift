internal import AccountStore
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import RelyingParty
internal import WebAuthnModel

/// How a client gets the tokens of a session.
enum SessionForm: String, CaseIterable {
    /// In the body of the answer.
    case tokens
    /// In cookies, which no script reads: for pages.
    case cookie
}

/// The cookies that hold the tokens of a page's session.
///
/// Both are for this host alone (`__Host-`, RFC 6265bis, section 4.1.3.2), for TLS, for no script and for requests from
/// pages of the same site. Not every browser takes the prefix without TLS, so that they go without it on
/// `http://localhost`, the one address without TLS that a configuration may have.
struct SessionCookies: Sendable {
    private let prefix: String
    private let attributes: String

    /// The longest field that is read, in bytes.
    private static let mostBytes = 8192

    init(isSecure: Bool) {
        prefix = isSecure ? "__Host-" : ""
        attributes = "Path=/; HttpOnly; SameSite=Strict\(isSecure ? "; Secure" : "")"
    }

    func name(_ kind: TokenKind) -> String {
        switch kind {
        case .access: "\(prefix)touchstone-access"
        case .refresh: "\(prefix)touchstone-refresh"
        }
    }

    /// The token that a request brought; nil: none, or two of the name, one of which somebody else set.
    func token(_ kind: TokenKind, in request: Request) -> String? {
        let name = name(kind)
        var values: [Substring] = []
        for field in request.headers[values: .cookie] where field.utf8.count <= Self.mostBytes {
            for pair in field.split(separator: ";") {
                let parts = pair.drop { $0 == " " }.split(separator: "=", maxSplits: 1)
                if parts.count == 2, parts[0] == name { values.append(parts[1]) }
            }
        }
        return values.count == 1 ? String(values[0]) : nil
    }

    /// Hands a session's tokens to the browser, each for as long as it is good.
    func set(_ tokens: NewTokens, refresh: String, of session: Session, now: Timestamp, on reply: inout Reply)
    {
        add(.access, tokens.access.text, for: tokens.accessExpiresAt - now, to: &reply)
        add(.refresh, refresh, for: session.refreshExpiresAt - now, to: &reply)
    }

    /// Makes the browser forget them.
    func remove(on reply: inout Reply) {
        for kind in TokenKind.allCases { add(kind, "", for: .zero, to: &reply) }
    }

    private func add(_ kind: TokenKind, _ value: String, for time: Duration, to reply: inout Reply) {
        let age = max(time.components.seconds, 0)
        reply.fields.append(
            HTTPField(name: .setCookie, value: "\(name(kind))=\(value); \(attributes); Max-Age=\(age)")
        )
    }
}

extension Service {
    /// That a request which changes something, and whose only witness is a cookie, comes from a page that may do so.
    ///
    /// Browsers set `Origin` themselves on every request that is not GET or HEAD (Fetch, section 3.2).
    ///
    /// - Throws: ``Problem`` with `forbidden`.
    func requireListedOrigin(_ request: Request) throws(Problem) {
        let given = request.headers[values: .origin]
        guard given.count == 1, callingOrigins.contains(given[0]) else {
            throw Problem(
                .forbidden,
                "a session in cookies needs the header Origin of public-url or of cors-origins"
            )
        }
    }

    /// How whoever signs in gets the tokens: as it asks, but a browser that has such cookies gets no others, so that no
    /// script of a page has tokens made that it can read.
    ///
    /// - Throws: ``Problem`` with `forbidden`.
    func form(_ asked: SessionForm, _ request: Request) throws(Problem) -> SessionForm {
        let hasCookies = TokenKind.allCases.contains { cookies.token($0, in: request) != nil }
        guard asked == .cookie || hasCookies else { return .tokens }
        try requireListedOrigin(request)
        return .cookie
    }

    /// *tokens*, the answer of logins and refreshes, in the form that the client asked for.
    func reply(
        _ tokens: NewTokens,
        _ session: Session,
        refresh: String? = nil,
        as form: SessionForm,
        offersDevice: Bool? = nil,
        _ call: Call
    ) -> Reply {
        let refresh = refresh ?? tokens.refresh.text
        var members = tokens.reply(session, refresh: refresh, now: call.now)
        if form == .cookie { members.removeAll { NewTokens.secretMembers.contains($0.name) } }
        if let offersDevice { members.append(("offerDeviceLogin", .bool(offersDevice))) }
        var reply = Reply.json(.object(JSONObject(members)))
        if form == .cookie { cookies.set(tokens, refresh: refresh, of: session, now: call.now, on: &reply) }
        return reply
    }
}
