internal import AccountStore
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import RelyingParty
internal import WebAuthnModel

/// The first administrator, and all administrators' tokens.
enum BootstrapRoutes {
    static let operations: [Operation] = [
        Operation(.post, "/admin/v1/bootstrap", "bootstrap", .open, handle: bootstrap),
        Operation(.get, "/admin/v1/tokens", "listAdminTokens", .admin(.read), handle: list),
        Operation(.post, "/admin/v1/tokens", "addAdminToken", .admin(.all), handle: add),
        Operation(.delete, "/admin/v1/tokens/{id}", "removeAdminToken", .admin(.all), handle: remove),
    ]

    /// Exchanges the one-time token that the server printed at its first start.
    private static func bootstrap(_ service: Service, _ call: Call) async throws -> Reply {
        var reader = MemberReader(try await BodyReader.object(of: call.request))
        let text = reader.string("token", bytes: 1...256)
        let name = reader.optionalLabel("name", bytes: 1...64) ?? "first"
        try reader.finish()
        guard let token = OpaqueToken(text, .bootstrap) else {
            throw Problem.authenticationFailed("bootstrap_token")
        }
        let admin = OpaqueToken(.administration, at: call.now.milliseconds)
        let record = AdminToken(digest: TokenDigest(admin.digest), name: name, createdAt: call.now)
        do throws(StoreError) {
            try await service.store.redeemFirstAdmin(
                TokenDigest(token.digest),
                for: record,
                audit: call.event(.administration, reason: "bootstrap", details: call.adminDetails(name)),
                now: call.now
            )
        } catch {
            guard error.code == .notFound else { throw error }
            await service.audit(call.event(.authorizationFail, reason: "bootstrap_token"), at: call.now)
            throw Problem.authenticationFailed("bootstrap_token")
        }
        return .json(record.json(text: admin.text), status: .created)
    }

    private static func list(_ service: Service, _ call: Call) async throws -> Reply {
        .json(["tokens": .array(try await service.store.adminTokens().map { $0.json(text: nil) })])
    }

    private static func add(_ service: Service, _ call: Call) async throws -> Reply {
        var reader = MemberReader(try await BodyReader.object(of: call.request))
        let name = reader.label("name", bytes: 1...64)
        let role = reader.choice("role", default: AdminRole.all)
        let expiresIn = reader.optionalInteger("expiresIn", in: 60...(10 * 366 * 86_400))
        try reader.finish()
        let token = OpaqueToken(.administration, at: call.now.milliseconds)
        let record = AdminToken(
            digest: TokenDigest(token.digest),
            name: name,
            role: role,
            createdAt: call.now,
            expiresAt: expiresIn.map { call.now + .seconds($0) }
        )
        try await service.store.addAdminToken(
            record,
            audit: call.event(.administration, reason: "add_token", details: call.adminDetails()),
            now: call.now
        )
        return .json(record.json(text: token.text), status: .created)
    }

    private static func remove(_ service: Service, _ call: Call) async throws -> Reply {
        try await service.store.removeAdminToken(
            TokenDigest(try call.identifierBytes()),
            audit: call.event(.administration, reason: "remove_token", details: call.adminDetails()),
            now: call.now
        )
        return .noContent
    }
}

extension AdminToken {
    /// The token in the API's form: the id is the digest; the token itself is only returned once.
    func json(text: String?) -> JSONValue {
        JSONValue(members: [
            "id": JSONValue(base64URL: digest.bytes),
            "name": .string(name),
            "role": .string(role.rawValue),
            "createdAt": .integer(createdAt.seconds),
            "expiresAt": expiresAt.map { .integer($0.seconds) },
            "token": text.map { .string($0) },
        ])
    }
}

extension Call {
    /// The administrator's name, for the audit, and the scripts of a new username that mixes some.
    func adminDetails(_ name: String? = nil, mixedScripts: [String]? = nil) -> String {
        var admin = name ?? ""
        if case .admin(let known, _) = caller { admin = known }
        let details = JSONValue(members: [
            "admin": .string(admin), "mixedScripts": mixedScripts.map { .array($0.map { .string($0) }) },
        ])
        return String(decoding: (try? CanonicalJSON.encode(details)) ?? [], as: UTF8.self)
    }

    /// The page size from the query.
    ///
    /// - Throws: ``Problem`` with `invalid_request`.
    func pageSize() throws(Problem) -> Int {
        guard let text = query("count") else { return 100 }
        guard let count = Int(text), (1...1000).contains(count) else {
            throw Problem(.invalidRequest, "count has to be a number from 1 to 1000")
        }
        return count
    }
}
