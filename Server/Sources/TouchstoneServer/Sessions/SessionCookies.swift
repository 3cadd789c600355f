internal import AccountStore
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import RelyingParty
internal import WebAuthnModel

/// How a client gets the tokens of a session.
enum SessionForm: String, CaseIterable {
    /// In the body of the response.
    case tokens
    /// In cookies that scripts cannot read: for pages.
    case cookie
}

/// The cookies with the tokens of a page's session.
///
/// Both are restricted to this host (`__Host-`, RFC 6265bis, section 4.1.3.2), to TLS, to requests from pages of the
/// same site, and cannot be read by scripts. Not every browser accepts the prefix without TLS, so it is omitted on
/// `http://localhost`, the only address without TLS that a configuration may have.
struct SessionCookies: Sendable {
    private let prefix: String
    private let attributes: String

    /// The maximum length of the header field, in bytes.
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

    /// The token in a request's cookies; nil: there is none, or two of the same name, one of which was set by another
    /// site.
    func token(_ kind: TokenKind, in request: Request) -> String? {
        Self.value(of: name(kind), in: request)
    }

    /// The value of a cookie; nil: there is none, or two of the same name.
    static func value(of name: String, in request: Request) -> String? {
        var values: [Substring] = []
        for field in request.headers[values: .cookie] where field.utf8.count <= mostBytes {
            for pair in field.split(separator: ";") {
                let parts = pair.drop { $0 == " " }.split(separator: "=", maxSplits: 1)
                if parts.count == 2, parts[0] == name { values.append(parts[1]) }
            }
        }
        return values.count == 1 ? String(values[0]) : nil
    }

    /// Sets the cookies with a session's tokens, each for the token's lifetime.
    func set(_ tokens: NewTokens, of session: Session, now: Timestamp, on reply: inout Reply) {
        add(.access, tokens.access.text, for: tokens.accessExpiresAt - now, to: &reply)
        add(.refresh, tokens.refresh.text, for: session.refreshExpiresAt - now, to: &reply)
    }

    /// Removes the cookies from the browser.
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
    /// Checks that a request that makes changes, and is authenticated only by a cookie, comes from an allowed page.
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

    /// The form of the tokens for a sign-in: the requested one, but cookies for a browser that already has such
    /// cookies, so that a page's script cannot obtain readable tokens.
    ///
    /// - Throws: ``Problem`` with `forbidden`.
    func form(_ asked: SessionForm, _ request: Request) throws(Problem) -> SessionForm {
        let hasCookies = TokenKind.allCases.contains { cookies.token($0, in: request) != nil }
        guard asked == .cookie || hasCookies else { return .tokens }
        try requireListedOrigin(request)
        return .cookie
    }

    /// Removes the cookies of a limited session that ended with what a request did.
    func endTask(of caller: AuthenticatedSession, on reply: inout Reply) {
        if caller.session.task != nil, caller.isInCookies { cookies.remove(on: &reply) }
    }

    /// The API's *tokens*, the response to logins and refreshes, in the form that the client requested, with members of one
    /// operation.
    func reply(
        _ tokens: NewTokens,
        _ session: Session,
        as form: SessionForm,
        adding more: [(name: String, value: JSONValue)] = [],
        _ call: Call
    ) throws -> Reply {
        var members = try tokens.reply(session, now: call.now)
        if form == .cookie { members.removeAll { NewTokens.secretMembers.contains($0.name) } }
        members += more
        var reply = Reply.json(.object(JSONObject(members)))
        if form == .cookie { cookies.set(tokens, of: session, now: call.now, on: &reply) }
        return reply
    }
}
