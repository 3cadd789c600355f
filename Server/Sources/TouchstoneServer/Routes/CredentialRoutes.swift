internal import AccountStore
internal import HTTPTypes
internal import Hummingbird
internal import WebAuthnModel

/// The caller's credentials.
enum CredentialRoutes {
    static let operations: [Operation] = [
        Operation(.get, "/v1/credentials", "listCredentials", .session, handle: list),
        Operation(.get, "/v1/credentials/{id}", "credential", .session, handle: one),
        Operation(.patch, "/v1/credentials/{id}", "renameCredential", .session, handle: rename),
        Operation(.delete, "/v1/credentials/{id}", "removeCredential", .fresh, handle: remove),
        Operation(.post, "/v1/credentials/{id}/restore", "restoreOwnCredential", .fresh, handle: restore),
        Operation(.post, "/v1/credentials/{id}/end", "endCredential", .open, takesDPoP: true, handle: end),
    ]

    private static func list(_ service: Service, _ call: Call) async throws -> Reply {
        let caller = try call.session
        let credentials = try await service.store.credentials(of: caller.account.id)
        // With these a page tells the browser which passkeys are still valid (`signalAllAcceptedCredentials`).
        return .json([
            "credentials": .array(credentials.map(service.json)),
            "rpId": .string(service.configuration.relyingPartyID),
            "userId": JSONValue(base64URL: caller.account.id.bytes),
        ])
    }

    private static func one(_ service: Service, _ call: Call) async throws -> Reply {
        let caller = try call.session
        let id = CredentialID(try call.identifierBytes())
        guard let credential = try await service.store.credential(id, of: caller.account.id) else {
            throw Problem(.notFound)
        }
        return .json(service.json(of: credential))
    }

    private static func rename(_ service: Service, _ call: Call) async throws -> Reply {
        let caller = try call.session
        let id = CredentialID(try call.identifierBytes())
        var reader = MemberReader(try await BodyReader.object(of: call.request))
        let label = reader.label("label")
        try reader.finish()
        try await service.store.renameCredential(
            id,
            of: caller.account.id,
            label: label,
            audit: call.event(
                .credentialRenamed,
                account: caller.account.id,
                session: caller.session.id,
                credential: id
            ),
            now: call.now
        )
        return try await one(service, call)
    }

    private static func remove(_ service: Service, _ call: Call) async throws -> Reply {
        let caller = try call.session
        let id = CredentialID(try call.identifierBytes())
        try await service.store.removeCredential(
            id,
            of: caller.account.id,
            keeping: caller.session.id,
            audit: call.event(
                .credentialRemoved,
                account: caller.account.id,
                session: caller.session.id,
                credential: id
            ),
            now: call.now
        )
        return .noContent
    }

    /// Restores a credential whose counter was refused; another factor must have signed in.
    private static func restore(_ service: Service, _ call: Call) async throws -> Reply {
        let caller = try call.session
        let id = CredentialID(try call.identifierBytes())
        guard caller.session.credential != id else {
            throw Problem(.forbidden, "sign in with another passkey or the password to restore this one")
        }
        try await service.store.restoreOwnCredential(
            id,
            of: caller.account.id,
            audit: call.event(
                .credentialRestored,
                account: caller.account.id,
                session: caller.session.id,
                credential: id,
                reason: "owner"
            ),
            now: call.now
        )
        return try await one(service, call)
    }

    /// What a device reports of its key; each ends the credential.
    private enum ReportedEnd: String, CaseIterable {
        case invalidated
        case deleted

        var suspension: Credential.Suspension {
            switch self {
            case .invalidated: .invalidated
            case .deleted: .deleted
            }
        }
    }

    /// What a device's report may say.
    static let reportedEnds = ReportedEnd.allCases.map(\.rawValue)

    /// Ends a credential for the device that has it, and has nothing else to show: its key signs no more.
    private static func end(_ service: Service, _ call: Call) async throws -> Reply {
        var reader = MemberReader(try await BodyReader.object(of: call.request))
        let reason: ReportedEnd? = reader.requiredChoice("reason")
        try reader.finish()
        guard let reason, let proof = try service.proof(of: call) else {
            throw Problem(
                .invalidDPoPProof,
                "a report needs a proof of the key that the credential was registered with"
            )
        }
        let id = CredentialID(try call.identifierBytes())
        let verdict = try await service.store.endCredential(
            id,
            provedBy: proof.thumbprint,
            proof.identifier,
            as: reason.suspension,
            audit: call.event(.credentialSuspended, credential: id, reason: reason.rawValue),
            now: call.now
        )
        guard verdict == .fresh else { throw Problem(.invalidDPoPProof, "replayed") }
        return .noContent
    }
}

extension Credential {
    /// The API's *credential*, with its term.
    func json(_ term: KeyTerm?) -> JSONValue {
        JSONValue(members: [
            "id": JSONValue(base64URL: id.bytes),
            "kind": .string(kind.rawValue),
            "label": .string(label),
            "createdAt": .integer(createdAt.seconds),
            "lastUsedAt": lastUsedAt.map { .integer($0.seconds) },
            "aaguid": .string(Self.text(aaguid: aaguid)),
            "transports": .array(transports.map { .string($0) }),
            "backupEligible": .bool(backupEligible),
            "backupState": .bool(backupState),
            "signCount": .integer(Int64(signCount)),
            "assurance": .string(assurance.rawValue),
            "uvEvidence": .string(uvEvidence.rawValue),
            "suspended": .bool(suspension != nil),
            "suspension": suspension.map { .string($0.rawValue) },
            "statement": statement.flatMap { try? JSONValue(parsing: Array($0.utf8)) },
            "consent": consent.flatMap { try? JSONValue(parsing: Array($0.utf8)) },
            "acceptedUntil": term.map { .integer($0.acceptedUntil.seconds) },
            "renewFrom": term.map { .integer($0.renewFrom.seconds) },
        ])
    }

    /// The usual form of an AAGUID: 8-4-4-4-12 digits.
    private static func text(aaguid: [UInt8]) -> String {
        var digits = aaguid.hexadecimal[...]
        return [8, 4, 4, 4, 12].map { count in
            defer { digits = digits.dropFirst(count) }
            return String(digits.prefix(count))
        }.joined(separator: "-")
    }
}
