internal import AccountStore
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import RelyingParty
internal import WebAuthn
internal import WebAuthnModel

/// Transactions that are confirmed by a signature over their details.
enum TransactionRoutes {
    static let operations: [Operation] = [
        Operation(.post, "/v1/transactions", "createTransaction", .serviceOrSession, handle: create),
        Operation(.get, "/v1/transactions", "listTransactions", .session, handle: list),
        Operation(.get, "/v1/transactions/{id}", "transaction", .serviceOrSession, handle: one),
        Operation(.post, "/v1/transactions/{id}/approval", "approveTransaction", .session, handle: approve),
        Operation(.post, "/v1/transactions/{id}/rejection", "rejectTransaction", .session, handle: reject),
        Operation(.get, "/v1/transactions/{id}/evidence", "transactionEvidence", .service, handle: evidence),
    ]

    /// Seconds for which a transaction can be decided, by default and at most.
    private static let waiting: Int64 = 300
    private static let longestWaiting: Int64 = 86_400
    /// The maximum size of the canonical details in bytes, because they must fit on a screen.
    private static let mostDetailBytes = 8192

    private static func create(_ service: Service, _ call: Call) async throws -> Reply {
        let body = try await BodyReader.object(of: call.request)
        var reader = MemberReader(body)
        let type = reader.label("type", bytes: 1...64)
        let details = reader.object("details")
        let expiresIn = reader.optionalInteger("expiresIn", in: 10...longestWaiting) ?? waiting
        let username = reader.optionalString("username", bytes: 1...1024)
        try reader.finish()
        guard let members = details.object, let text = try? CanonicalJSON.encode(details),
            text.count <= mostDetailBytes
        else {
            var problem = Problem(.invalidRequest, "members of the body are wrong")
            problem.faults = [
                Problem.Fault(
                    pointer: "/details",
                    detail: "must be at most \(mostDetailBytes) bytes without fractions: amounts are strings"
                )
            ]
            throw problem
        }
        let account = try await owner(username, service, call)
        let nonce = Random.bytes(32)
        let demand = service.configuration.requiredAssuranceTransaction
        let credentials = try await service.store.credentials(of: account).filter(demand.canBeMet)
        guard !credentials.isEmpty else {
            throw Problem(.forbidden, "the account has no credential that could confirm it")
        }
        let options = PublicKeyCredentialRequestOptions(
            challenge: try TransactionChallenge.challenge(details: members, nonce: nonce),
            timeout: .seconds(expiresIn),
            rpId: service.configuration.relyingPartyID,
            allowCredentials: credentials.map {
                PublicKeyCredentialDescriptor(id: $0.id.bytes, transports: $0.transports)
            }
        )
        let publicKey = options.json
        let transaction = Transaction(
            id: .random(),
            account: account,
            type: type,
            details: String(decoding: text, as: UTF8.self),
            nonce: nonce,
            options: String(decoding: try CanonicalJSON.encode(publicKey), as: UTF8.self),
            createdAt: call.now,
            expiresAt: call.now + .seconds(expiresIn)
        )
        try await service.store.createTransaction(
            transaction,
            audit: call.event(
                .transactionCreated,
                account: account,
                reason: type,
                details: call.serviceName.map { #"{"service":"\#($0)"}"# } ?? ""
            )
        )
        return Reply.json(try transaction.json, status: .created)
            .with(.location, "/v1/transactions/\(Base64URL.encode(transaction.id.bytes))")
    }

    /// The owner of a new transaction: named by a service, or the user of a session.
    private static func owner(_ username: String?, _ service: Service, _ call: Call) async throws -> AccountID
    {
        if case .session(let caller) = call.caller { return caller.account.id }
        guard let username else {
            var problem = Problem(.invalidRequest, "members of the body are wrong")
            problem.faults = [
                Problem.Fault(pointer: "/username", detail: "is missing: a service names the owner")
            ]
            throw problem
        }
        for form in TypedName(username).forms {
            if let account = try await service.store.account(username: form) { return account.id }
        }
        throw Problem(.notFound, "there is no such user")
    }

    /// A transaction of the caller; a service can read all.
    private static func transaction(_ service: Service, _ call: Call) async throws -> Transaction {
        let id = TransactionID(try call.identifierBytes())
        guard let transaction = try await service.store.transaction(id, now: call.now) else {
            throw Problem(.notFound)
        }
        if case .session(let caller) = call.caller, caller.account.id != transaction.account {
            throw Problem(.notFound)
        }
        return transaction
    }

    /// Lists the caller's pending transactions.
    private static func list(_ service: Service, _ call: Call) async throws -> Reply {
        let account = try call.session.account.id
        let pending = try await service.store.pendingTransactions(of: account, now: call.now)
        return .json(["transactions": .array(try pending.map { try $0.json })])
    }

    private static func one(_ service: Service, _ call: Call) async throws -> Reply {
        .json(try await transaction(service, call).json)
    }

    private static func approve(_ service: Service, _ call: Call) async throws -> Reply {
        let caller = try call.session
        var reader = MemberReader(try await BodyReader.object(of: call.request))
        let json = reader.object("credential")
        try reader.finish()
        let response = try CredentialResponse.authentication(json)
        let transaction = try await transaction(service, call)
        let presented = CredentialID(response.rawId)
        // Before anything is decided: another credential may still confirm the transaction.
        if service.configuration.deviceKeyLifetime > 0,
            let known = try await service.store.credential(presented, of: caller.account.id),
            service.isExpired(known, at: call.now)
        {
            throw Problem(.credentialExpired)
        }
        let outcome = try await service.store.decideTransaction(
            transaction.id,
            of: caller.account.id,
            presenting: presented,
            audit: event(caller, call),
            now: call.now
        ) { transaction, credential in
            do throws(AssertionRefusal) {
                return try approval(of: transaction, by: credential, response, service)
            } catch {
                let (reason, details) = (error.reason, error.auditDetails)
                guard !error.isInsufficient else { return .insufficient(reason: reason, details: details) }
                return .failed(reason: reason, details: details)
            }
        }
        switch outcome {
        case .decided(let decided) where decided.status == .approved: return .json(try decided.json)
        case .decided: throw Problem.authenticationFailed("assertion")
        case .notPending(let status): throw notPending(status)
        case .refused(.credentialSuspended): throw Problem(.credentialSuspended)
        case .insufficient: throw insufficient(service)
        case .refused(let refusal): throw Problem.authenticationFailed(refusal.rawValue)
        }
    }

    /// The approval that a response proves.
    private static func approval(
        of transaction: Transaction,
        by credential: Credential?,
        _ response: AuthenticationResponse,
        _ service: Service
    ) throws(AssertionRefusal) -> TransactionDecision {
        guard let options = KeptOptions(try? JSONValue(parsing: Array(transaction.options.utf8))) else {
            throw AssertionRefusal(reason: "damaged_transaction")
        }
        guard let credential else { throw AssertionRefusal(reason: "unknown_credential") }
        let assertion = try service.verify(
            response,
            by: credential,
            challenge: options.challenge,
            allowed: options.credentials,
            isUserKnown: true,
            openedAt: transaction.createdAt
        )
        let demand = service.configuration.requiredAssuranceTransaction
        if let shortfall = assertion.assurance.shortfall(of: demand) { throw .insufficient(shortfall) }
        let evidence = TransactionEvidence(
            credential: credential.id,
            publicKey: credential.publicKey,
            clientDataJSON: response.clientDataJSON,
            authenticatorData: response.authenticatorData,
            signature: response.signature
        )
        return .approved(evidence, assertion.use)
    }

    private static func reject(_ service: Service, _ call: Call) async throws -> Reply {
        let caller = try call.session
        let transaction = try await transaction(service, call)
        let outcome = try await service.store.decideTransaction(
            transaction.id,
            of: caller.account.id,
            presenting: nil,
            audit: event(caller, call),
            now: call.now
        ) { _, _ in .rejected }
        switch outcome {
        case .decided(let decided): return .json(try decided.json)
        case .notPending(let status): throw notPending(status)
        case .refused(let refusal): throw Problem.authenticationFailed(refusal.rawValue)
        case .insufficient: throw insufficient(service)
        }
    }

    /// The error of an approval that is not worth enough; the audit record says what it lacks.
    private static func insufficient(_ service: Service) -> Problem {
        let demand = service.configuration.requiredAssuranceTransaction
        return .insufficientAssurance("this needs \(demand.words.joined(separator: " "))")
    }

    private static func evidence(_ service: Service, _ call: Call) async throws -> Reply {
        let transaction = try await transaction(service, call)
        guard let evidence = transaction.evidence else { throw Problem(.notFound, "nobody confirmed it") }
        let options = KeptOptions(try? JSONValue(parsing: Array(transaction.options.utf8)))
        return .json(
            JSONValue(members: [
                "details": try JSONValue(parsing: Array(transaction.details.utf8)),
                "nonce": JSONValue(base64URL: transaction.nonce),
                "challenge": options.map { JSONValue(base64URL: $0.challenge) },
                "credentialId": JSONValue(base64URL: evidence.credential.bytes),
                "publicKey": JSONValue(base64URL: evidence.publicKey),
                "clientDataJSON": JSONValue(base64URL: evidence.clientDataJSON),
                "authenticatorData": JSONValue(base64URL: evidence.authenticatorData),
                "signature": JSONValue(base64URL: evidence.signature),
                "approvedAt": transaction.decidedAt.map { .integer($0.seconds) },
            ])
        )
    }

    /// The occasion of a decision; the store names it.
    private static func event(_ caller: AuthenticatedSession, _ call: Call) -> AuditEvent {
        call.event(.transactionRejected, account: caller.account.id, session: caller.session.id)
    }

    private static func notPending(_ status: Transaction.Status) -> Problem {
        Problem(.transactionNotPending, "it is \(status.rawValue)")
    }
}
