internal import AccountStore
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import WebAuthnModel

/// The sessions, credentials and audit of an account, and the audit of all accounts.
enum UserPropertyRoutes {
    static let operations: [Operation] = [
        Operation(.get, "/admin/v1/users/{id}/sessions", "userSessions", .admin(.read), handle: sessions),
        Operation(
            .delete,
            "/admin/v1/users/{id}/sessions",
            "endUserSessions",
            .admin(.helpDesk),
            handle: endSessions
        ),
        Operation(
            .delete,
            "/admin/v1/users/{id}/sessions/{session}",
            "endUserSession",
            .admin(.helpDesk),
            handle: endSession
        ),
        Operation(
            .get,
            "/admin/v1/users/{id}/credentials",
            "userCredentials",
            .admin(.read),
            handle: credentials
        ),
        Operation(
            .delete,
            "/admin/v1/users/{id}/credentials/{credential}",
            "removeUserCredential",
            .admin(.helpDesk),
            handle: removeCredential
        ),
        Operation(
            .post,
            "/admin/v1/users/{id}/credentials/{credential}/suspend",
            "suspendCredential",
            .admin(.helpDesk)
        ) { try await setSuspension(.administrator, $0, $1) },
        Operation(
            .post,
            "/admin/v1/users/{id}/credentials/{credential}/restore",
            "restoreCredential",
            .admin(.helpDesk)
        ) { try await setSuspension(nil, $0, $1) },
        Operation(.get, "/admin/v1/users/{id}/audit", "userAudit", .admin(.read), handle: userAudit),
        Operation(.get, "/admin/v1/audit", "audit", .admin(.read), handle: audit),
    ]

    private static func sessions(_ service: Service, _ call: Call) async throws -> Reply {
        let account = try await UserRoutes.account(service, call)
        let sessions = try await service.store.sessions(of: account.id, now: call.now)
        return .json(["sessions": .array(sessions.map { $0.json(current: nil) })])
    }

    private static func endSessions(_ service: Service, _ call: Call) async throws -> Reply {
        let account = try await UserRoutes.account(service, call)
        let count = try await service.store.endSessions(
            of: account.id,
            except: nil,
            audit: call.event(
                .sessionLogout,
                account: account.id,
                reason: "administrator",
                details: call.adminDetails()
            ),
            now: call.now
        )
        return .json(["ended": .integer(Int64(count))])
    }

    private static func endSession(_ service: Service, _ call: Call) async throws -> Reply {
        let account = AccountID(try call.identifierBytes())
        let id = SessionID(try call.identifierBytes("session"))
        try await service.store.endSession(
            id,
            of: account,
            audit: call.event(
                .sessionLogout,
                account: account,
                session: id,
                reason: "administrator",
                details: call.adminDetails()
            ),
            now: call.now
        )
        return .noContent
    }

    private static func credentials(_ service: Service, _ call: Call) async throws -> Reply {
        let account = try await UserRoutes.account(service, call)
        let credentials = try await service.store.credentials(of: account.id)
        return .json(["credentials": .array(credentials.map(service.json))])
    }

    private static func removeCredential(_ service: Service, _ call: Call) async throws -> Reply {
        let account = AccountID(try call.identifierBytes())
        let id = CredentialID(try call.identifierBytes("credential"))
        try await service.store.removeCredential(
            id,
            of: account,
            keeping: nil,
            audit: call.event(
                .credentialRemoved,
                account: account,
                credential: id,
                reason: "administrator",
                details: call.adminDetails()
            ),
            now: call.now
        )
        return .noContent
    }

    private static func setSuspension(
        _ suspension: Credential.Suspension?,
        _ service: Service,
        _ call: Call
    ) async throws -> Reply {
        let account = AccountID(try call.identifierBytes())
        let id = CredentialID(try call.identifierBytes("credential"))
        try await service.store.setSuspension(
            suspension,
            ofCredential: id,
            of: account,
            audit: call.event(
                suspension == nil ? .credentialRestored : .credentialSuspended,
                account: account,
                credential: id,
                reason: "administrator",
                details: call.adminDetails()
            ),
            now: call.now
        )
        guard let credential = try await service.store.credential(id, of: account) else {
            throw Problem(.notFound)
        }
        return .json(service.json(of: credential))
    }

    static func cursor(_ call: Call) throws(Problem) -> Int64 {
        guard let text = call.query("after") else { return 0 }
        guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let cursor = Int64(text)
        else { throw Problem(.invalidRequest, "after has to be the value of next of a former page") }
        return cursor
    }

    private static func audit(_ service: Service, _ call: Call) async throws -> Reply {
        let cursor = try cursor(call)
        let records = try await service.store.auditPage(after: cursor, count: try call.pageSize())
        return .json([
            "records": .array(records.map(\.json)),
            "next": .string(String(records.last?.position ?? cursor)),
        ])
    }

    /// A deleted account still has its audit, so the account need not exist.
    private static func userAudit(_ service: Service, _ call: Call) async throws -> Reply {
        let cursor = try cursor(call)
        let records = try await service.store.auditPage(
            of: AccountID(try call.identifierBytes()),
            after: cursor,
            count: try call.pageSize()
        )
        return .json([
            "records": .array(records.map(\.json)),
            "next": .string(String(records.last?.sequence ?? cursor)),
        ])
    }
}

extension AuditRecord {
    /// The form for administrators.
    var json: JSONValue {
        JSONValue(members: [
            // A string: it exceeds JSON's exact numbers after 2^33 transactions of PostgreSQL.
            "position": .string(String(position)),
            "chain": JSONValue(base64URL: chain),
            "sequence": .integer(sequence),
            "time": .integer(time.milliseconds),
            "event": .string(event.name.rawValue),
            "account": event.account.map { JSONValue(base64URL: $0.bytes) },
            "session": event.session.map { JSONValue(base64URL: $0.bytes) },
            "credential": event.credential.map { JSONValue(base64URL: $0.bytes) },
            "address": .string(event.address),
            "trace": .string(event.trace),
            "reason": .string(event.reason),
            "details": event.details.isEmpty ? nil : .string(event.details),
            "previousHash": JSONValue(base64URL: previousHash),
            "hash": JSONValue(base64URL: hash),
        ])
    }
}

/// All operations of the admin port.
enum AdminAPI {
    static let operations: [Operation] =
        HealthRoutes.operations + BootstrapRoutes.operations + UserRoutes.operations
        + UserPropertyRoutes.operations + UserLinkRoutes.operations + [
            Operation(.get, "/admin/v1/openapi.json", "adminOpenAPI", .open) { service, _ in
                let (address, hasTLS) = (service.configuration.adminListen, service.configuration.adminTLS)
                let server = "\(hasTLS ? "https" : "http")://\(address.text)"
                return .json(OpenAPIDocument(operations, server: server).json)
            }
        ]
}
