internal import AccountStore
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import RelyingParty
internal import WebAuthnModel

/// The links by which an account's owner gets in once: made, listed and revoked by administrators.
enum UserLinkRoutes {
    static let operations: [Operation] = [
        Operation(.post, "/admin/v1/users/{id}/links", "createUserLink", .admin(.helpDesk), handle: create),
        Operation(.get, "/admin/v1/users/{id}/links", "userLinks", .admin(.read), handle: list),
        Operation(
            .delete,
            "/admin/v1/users/{id}/links/{link}",
            "revokeUserLink",
            .admin(.helpDesk),
            handle: revoke
        ),
    ]

    /// How long a link can be valid, in seconds: a minute to 30 days.
    static let lifetimes: ClosedRange<Int64> = 60...30 * 86_400

    private static func create(_ service: Service, _ call: Call) async throws -> Reply {
        let account = try await UserRoutes.account(service, call)
        var reader = MemberReader(try await BodyReader.object(of: call.request))
        let kind: AccountLink.Kind? = reader.requiredChoice("kind")
        let credentials: FormerCredentials?
        switch kind {
        case .recovery: credentials = reader.requiredChoice("credentials")
        case .enrolment, nil: credentials = .keep
        }
        let isChosen = reader.optionalString("credentials", bytes: 0...64) != nil
        let expiresIn = reader.optionalInteger("expiresIn", in: lifetimes)
        let delivers = reader.optionalBool("deliver") ?? false
        try reader.finish()
        guard let kind, let credentials else { throw Problem(.internalError) }
        guard kind == .recovery || !isChosen else {
            throw Problem.invalidMember("credentials", "is for a recovery only")
        }
        guard !delivers || service.mailHook != nil else {
            throw Problem.invalidMember("deliver", "needs the setting mail-command or mail-webhook")
        }
        let token = OpaqueToken(.link, at: call.now.milliseconds)
        let link = AccountLink(
            digest: TokenDigest(token.digest),
            account: account.id,
            kind: kind,
            credentials: credentials,
            createdAt: call.now,
            expiresAt: call.now + .seconds(expiresIn ?? kind.standardLifetime)
        )
        // In the fragment, which browsers send to no server: it is in no log and in no Referer.
        let url = "\(service.configuration.publicURL)/#link=\(token.text)"
        var event = call.event(
            .linkIssued,
            account: account.id,
            reason: link.reason,
            details: call.adminDetails()
        )
        if delivers, let notice = event.notice {
            event.notice?.link = url
            event.notice?.expiresAt = min(notice.expiresAt, link.expiresAt)
        }
        let issue = try await service.store.issue(link, audit: event, now: call.now)
        guard issue == .issued else { throw Problem(.accountLockedByAdmin, "unlock the account first") }
        // The administrator does not get what the owner is sent.
        return .json(link.json(url: delivers ? nil : url), status: .created)
    }

    private static func list(_ service: Service, _ call: Call) async throws -> Reply {
        let account = try await UserRoutes.account(service, call)
        let links = try await service.store.links(of: account.id, now: call.now)
        return .json(["links": .array(links.map { $0.json(url: nil) })])
    }

    private static func revoke(_ service: Service, _ call: Call) async throws -> Reply {
        let account = AccountID(try call.identifierBytes())
        let digest = TokenDigest(try call.identifierBytes("link"))
        try await service.store.revokeLink(
            digest,
            of: account,
            audit: call.event(.linkRevoked, account: account, details: call.adminDetails()),
            now: call.now
        )
        return .noContent
    }
}

extension AccountLink.Kind {
    /// How long a link is valid unless the administrator says otherwise, in seconds.
    fileprivate var standardLifetime: Int64 {
        switch self {
        case .enrolment: 86_400
        case .recovery: 3600
        }
    }
}

extension AccountLink {
    /// The reason in audit records: the kind, and for a recovery what becomes of the credentials.
    var reason: String {
        switch kind {
        case .enrolment: kind.rawValue
        case .recovery: "\(kind.rawValue)_\(credentials.rawValue)"
        }
    }

    /// The link in the API's form: the id is the digest; the address with the token is only returned once.
    fileprivate func json(url: String?) -> JSONValue {
        JSONValue(members: [
            "id": JSONValue(base64URL: digest.bytes),
            "kind": .string(kind.rawValue),
            "credentials": .string(credentials.rawValue),
            "createdAt": .integer(createdAt.seconds),
            "expiresAt": .integer(expiresAt.seconds),
            "url": url.map { .string($0) },
        ])
    }
}
