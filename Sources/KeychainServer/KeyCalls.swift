import KeychainModel
import SecretMemory

/// Calls about private keys, which see the keys of the caller's groups alone.
extension RequestHandler {
    /// Makes a key; the user is needed only where the keybag is locked.
    func makeKey(_ body: MakeKey, request: UInt64) async throws(KeychainError) -> EnclaveKey {
        let group = try groups.own(or: body.group)
        let context = try contexts.enter(body.context, request: request)
        defer { contexts.leave(context, request: request) }
        var turns = UserTurns(context: context, prompt: body.prompt)
        let key = try await unlocking(&turns, adding: body.accessControl) { () throws(KeychainError) in
            try await services.keys.makeKey(
                body.accessControl,
                group: group,
                applicationPassword: try contexts.authorization(of: context).applicationPassword
            )
        }
        record("make")
        return key
    }

    /// Reads what a representation stands for.
    func readKey(_ body: ReadKey) async throws(KeychainError) -> EnclaveKey {
        var turns = UserTurns(context: nil, prompt: body.prompt)
        let key = try await unlocking(&turns) { () throws(KeychainError) in
            try await services.keys.key(body.representation, groups: groups.all)
        }
        record("read")
        return key
    }

    /// Uses a key; what is shown counts for this use's operation alone.
    func useKey(_ body: UseKey, request: UInt64) async throws(KeychainError) -> SecretBytes {
        let context = try contexts.enter(body.context, request: request)
        defer { contexts.leave(context, request: request) }
        var turns = UserTurns(context: context, prompt: body.prompt)
        while true {
            let outcome = try await unlocking(&turns) { () throws(KeychainError) in
                try await services.keys.use(
                    body.representation,
                    for: body.use,
                    groups: groups.all,
                    authorization: try contexts.authorization(of: context)
                )
            }
            switch consume outcome {
            case .result(let octets):
                record(Self.verb(of: body.use))
                return octets
            case .needsAuthentication(let control):
                try await ask(for: [control], body.use.operation, &turns)
            }
        }
    }

    /// Has hardware vouch for a key, after what signing with it demands.
    func attestKey(_ body: AttestKey, request: UInt64) async throws(KeychainError) -> Attestation {
        let context = try contexts.enter(body.context, request: request)
        defer { contexts.leave(context, request: request) }
        var turns = UserTurns(context: context, prompt: body.prompt)
        while true {
            let outcome = try await unlocking(&turns) { () throws(KeychainError) in
                try await services.keys.attest(
                    body.representation,
                    qualifyingData: body.qualifyingData,
                    groups: groups.all,
                    authorization: try contexts.authorization(of: context)
                )
            }
            switch outcome {
            case .attestation(let attestation):
                record("attest")
                return attestation
            case .needsAuthentication(let control):
                try await ask(for: [control], .useKeySign, &turns)
            }
        }
    }

    private static func verb(of use: KeyUse) -> StaticString {
        switch use {
        case .sign: "sign"
        case .agree: "agree"
        case .decrypt: "decrypt"
        }
    }

    private func record(_ verb: StaticString) {
        services.audit.record(AuditEvent(.keyAccessed, caller: caller, detail: "\(verb)"))
    }
}
