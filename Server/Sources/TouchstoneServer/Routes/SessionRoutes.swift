internal import AccountStore
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import WebAuthnModel

/// The caller's sessions.
enum SessionRoutes {
    static let operations: [Operation] = [
        Operation(.get, "/v1/sessions", "listSessions", .session, handle: list),
        Operation(.delete, "/v1/sessions", "endOtherSessions", .session, handle: endOthers),
        Operation(.delete, "/v1/sessions/{id}", "endSession", .session, handle: end),
    ]

    private static func list(_ service: Service, _ call: Call) async throws -> Reply {
        let caller = try call.session
        let sessions = try await service.store.sessions(of: caller.account.id, now: call.now)
        return .json(["sessions": .array(sessions.map { $0.json(current: caller.session.id) })])
    }

    private static func end(_ service: Service, _ call: Call) async throws -> Reply {
        let caller = try call.session
        let id = SessionID(try call.identifierBytes())
        try await service.store.endSession(
            id,
            of: caller.account.id,
            audit: call.event(.sessionLogout, account: caller.account.id, session: id),
            now: call.now
        )
        return .noContent
    }

    /// Ends all sessions but the calling one; requires a query parameter, so that a mistyped path cannot end all
    /// sessions.
    private static func endOthers(_ service: Service, _ call: Call) async throws -> Reply {
        let caller = try call.session
        guard call.query("except") == "current" else {
            throw Problem(.invalidRequest, "the query has to be ?except=current")
        }
        try await service.store.endSessions(
            of: caller.account.id,
            except: caller.session.id,
            audit: call.event(
                .sessionLogout,
                account: caller.account.id,
                session: caller.session.id,
                reason: "all_but_current"
            ),
            now: call.now
        )
        return .noContent
    }
}

extension Session {
    /// The session as an entry of a list.
    func json(current: SessionID?) -> JSONValue {
        JSONValue(members: [
            "id": JSONValue(base64URL: id.bytes),
            "current": current.map { .bool($0 == id) },
            "acr": .string(acr),
            "amr": .array(amr.map { .string($0) }),
            "authTime": .integer(authTime.seconds),
            "createdAt": .integer(createdAt.seconds),
            "lastUsedAt": .integer(lastUsedAt.seconds),
            "expiresAt": .integer(refreshExpiresAt.seconds),
            "bound": .bool(thumbprint != nil),
            "credentialId": credential.map { JSONValue(base64URL: $0.bytes) },
            "client": client.isEmpty ? nil : .string(client),
            "address": .string(address),
            "task": task.map { .string($0.rawValue) },
        ])
    }
}

extension Call {
    /// A parameter of the path as bytes in base64url.
    ///
    /// - Throws: ``Problem`` with `not_found`: no object has a malformed identifier.
    func identifierBytes(_ name: String = "id") throws(Problem) -> [UInt8] {
        guard let bytes = Base64URL.decode(try identifier(name)), !bytes.isEmpty else {
            throw Problem(.notFound)
        }
        return bytes
    }
}
