internal import AccountStore
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import WebAuthnModel

/// What is kept of the caller, and the end of that.
enum OwnAccountRoutes {
    static let operations: [Operation] = [
        Operation(.get, "/v1/account/export", "exportAccount", .session, handle: export),
        Operation(.delete, "/v1/account", "deleteOwnAccount", .fresh, handle: delete),
    ]

    /// The number of audit records in one response; the rest follows by `after`.
    static let auditPage = 10_000

    private static func export(_ service: Service, _ call: Call) async throws -> Reply {
        let account = try call.session.account
        let cursor = try UserPropertyRoutes.cursor(call)
        let store = service.store
        let credentials = try await store.credentials(of: account.id)
        let keys = try await store.attestedKeys(of: account.id)
        let sessions = try await store.sessions(of: account.id, now: call.now)
        let codes = try await store.recoveryCodes(of: account.id)
        let transactions = try await store.transactions(of: account.id, now: call.now)
        let records = try await store.auditPage(of: account.id, after: cursor, count: auditPage)
        let last = records.count == auditPage ? records.last?.sequence : nil
        return .json(
            JSONValue(members: [
                "account": account.json,
                "credentials": .array(credentials.map(service.json)),
                "deviceKeys": .array(keys.map(\.json)),
                "sessions": .array(sessions.map { $0.json(current: nil) }),
                "recoveryCodes": .integer(Int64(codes.left)),
                "transactions": .array(
                    try transactions.prefix(Limits.exportedTransactions).map { try $0.json }
                ),
                "hasOlderTransactions": .bool(transactions.count > Limits.exportedTransactions),
                "audit": .array(records.map(\.ownJSON)),
                "next": last.map { .string(String($0)) },
            ])
        )
        .with(.contentDisposition, "attachment; filename=\"account.json\"")
    }

    private static func delete(_ service: Service, _ call: Call) async throws -> Reply {
        let caller = try call.session
        var reader = MemberReader(try await BodyReader.object(of: call.request))
        let name = reader.string("username", bytes: 1...1024)
        try reader.finish()
        guard TypedName(name).forms.contains(caller.account.username) else {
            throw Problem.invalidMember("username", "must be the name of the account")
        }
        try await service.store.deleteAccount(
            caller.account.id,
            audit: call.event(
                .userDeleted,
                account: caller.account.id,
                session: caller.session.id,
                reason: "owner"
            ),
            now: call.now
        )
        var reply = Reply.noContent
        if caller.isInCookies { service.cookies.remove(on: &reply) }
        return reply
    }
}

extension AuditRecord {
    /// The form for the account's owner: of an administrator's operation neither the name nor the address.
    fileprivate var ownJSON: JSONValue {
        let details = try? JSONValue(parsing: Array(event.details.utf8))
        let isOfAdministrator = details?.object?["admin"] != nil
        return JSONValue(members: [
            "sequence": .integer(sequence),
            "time": .integer(time.milliseconds),
            "event": .string(event.name.rawValue),
            "reason": .string(event.reason),
            "session": event.session.map { JSONValue(base64URL: $0.bytes) },
            "credential": event.credential.map { JSONValue(base64URL: $0.bytes) },
            "byAdministrator": .bool(isOfAdministrator),
            "address": isOfAdministrator ? nil : .string(event.address),
            "details": isOfAdministrator || event.details.isEmpty ? nil : .string(event.details),
        ])
    }
}
