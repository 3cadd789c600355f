internal import AccountStore
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import RelyingParty
internal import WebAuthnModel

/// Recovery codes: made by a signed-in user, and used by whoever cannot sign in any more.
enum RecoveryRoutes {
    static let operations: [Operation] = [
        Operation(.get, "/v1/me/recovery-codes", "recoveryCodes", .session, handle: state),
        Operation(.post, "/v1/me/recovery-codes", "makeRecoveryCodes", .fresh, handle: make),
        Operation(.post, "/v1/recovery", "recover", .open, takesDPoP: true, handle: recover),
    ]

    private static func state(_ service: Service, _ call: Call) async throws -> Reply {
        let codes = try await service.store.recoveryCodes(of: try call.session.account.id)
        return .json(
            JSONValue(members: [
                "left": .integer(Int64(codes.left)),
                "createdAt": codes.createdAt.map { .integer($0.seconds) },
            ])
        )
    }

    /// New codes, which are only returned now; the former ones end.
    private static func make(_ service: Service, _ call: Call) async throws -> Reply {
        let caller = try call.session
        let account = caller.account.id
        let codes = (0..<Limits.recoveryCodes).map { _ in RecoveryCode() }
        try await service.store.replaceRecoveryCodes(
            by: codes.map { $0.digest(for: account.bytes) },
            of: account,
            audit: call.event(.recoveryCodesCreated, account: account, session: caller.session.id),
            now: call.now
        )
        return .json(
            [
                "codes": .array(codes.map { .string($0.text) }),
                "createdAt": .integer(call.now.seconds),
            ],
            status: .created
        )
    }

    /// The work is the same whether the name or the code is known or not.
    private static func recover(_ service: Service, _ call: Call) async throws -> Reply {
        var reader = MemberReader(try await BodyReader.object(of: call.request))
        let name = reader.string("username", bytes: 1...1024)
        let text = reader.string("code", bytes: 1...256)
        let credentials: FormerCredentials? = reader.requiredChoice("credentials")
        let client = reader.optionalLabel("client")
        let asked = reader.choice("session", default: SessionForm.tokens)
        try reader.finish()
        guard let credentials else { throw Problem(.internalError) }
        let form = try service.form(asked, call.request)
        let proof = try service.proof(of: call)
        try Service.requirePossession(form, proof)
        let typed = TypedName(name)
        let found = try await service.account(typed)
        let attempt = try await service.takePasswordAttempt(
            with: .recoveryCode,
            found?.account.username ?? typed.key,
            found,
            proof,
            call
        )
        let account = found?.account.id ?? .random(byteCount: 32)
        let code = RecoveryCode(text) ?? RecoveryCode()
        return try await service.openSetUp(
            of: account,
            .recoveryCode(code.digest(for: account.bytes), credentials),
            audit: (.recoveryCodeUsed, credentials.rawValue),
            amr: ["otp"],
            proof: proof,
            client: client,
            form: form,
            resetting: [attempt.key],
            givingBack: [attempt.addressKey],
            call
        )
    }
}
