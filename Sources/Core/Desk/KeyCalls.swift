package import KeychainModel
package import SecretMemory

/// Calls about private keys; a caller sees only keys of its groups.
extension Visit {
    /// Creates a key; prompts only if the keybag is locked.
    package func makeKey(_ body: MakeKey, request: UInt64) async throws(KeychainError) -> EnclaveKey {
        try await serving(.makeKey) { () async throws(KeychainError) in
            let group = try groups.own(or: body.group)
            let context = try contexts.enter(body.context, request: request)
            defer { contexts.leave(context, request: request) }
            var prompts = PromptBudget(context: context, request: request, prompt: body.prompt)
            let key = try await unlocking(&prompts, adding: body.accessControl) { () throws(KeychainError) in
                try await observe(for: body.accessControl)
                return try await services.keys.makeKey(
                    body.accessControl,
                    group: group,
                    limits: body.limits,
                    applicationPassword: try contexts.authorization(of: context).applicationPassword
                )
            }
            record("make")
            return key
        }
    }

    /// Reads the key that a representation stands for.
    package func readKey(_ body: ReadKey) async throws(KeychainError) -> EnclaveKey {
        try await serving(.readKey) { () async throws(KeychainError) in
            var prompts = PromptBudget(context: nil, request: nil, prompt: body.prompt)
            let key = try await unlocking(&prompts) { () throws(KeychainError) in
                try await services.keys.key(body.representation, groups: try groups.usable)
            }
            record("read")
            return key
        }
    }

    /// Uses a key; proofs given for this call are valid for its operation only.
    ///
    /// `purpose` is what a door of keys knows of the use, for the log; it has worded the prompt. For a named key that a program uses
    /// by itself the desk words the prompt (``useNamedKey(_:request:)``).
    package func useKey(
        _ body: UseKey,
        request: UInt64,
        purpose: String? = nil
    ) async throws(KeychainError) -> SecretBytes {
        try await serving(.useKey) { () async throws(KeychainError) in
            do throws(KeychainError) {
                let entitled = try groups
                // The command uses no keys but named ones.
                let purpose = purpose ?? (isCommand ? "'\(body.prompt.reason)'" : nil)
                let result = try await use(
                    body,
                    in: purpose == nil ? entitled.usable : entitled.readable,
                    purpose: purpose,
                    prompt: body.prompt,
                    context: body.context,
                    request: request
                )
                record(Self.verb(of: body.use), purpose)
                return result
            } catch {
                guard error.cause == .otherGroup, try groups.readable.contains(NamedKey.group) else {
                    throw error
                }
            }
            return try await useNamedKey(body, request: request)
        }
    }

    /// Uses a key of these groups, with the proofs in the context, or a fresh one, and prompts for what it still needs.
    func use(
        _ body: UseKey,
        in groups: [AccessGroup],
        purpose: String?,
        prompt: PromptFields,
        context: UInt64?,
        request: UInt64
    ) async throws(KeychainError) -> SecretBytes {
        let context = try contexts.enter(context, request: request)
        defer { contexts.leave(context, request: request) }
        let result = try await authorized(for: body.use.operation, in: context, prompt, request) {
            authorization async throws(KeychainError) in
            try await services.keys.use(
                body.representation,
                for: body.use,
                groups: groups,
                authorization: authorization
            )
        }
        noteUse(body.use, for: purpose ?? "", in: purpose == nil ? groups.first : NamedKey.group, context)
        return result
    }

    /// Has the hardware attest a key, after the authentication that signing with it needs.
    package func attestKey(_ body: AttestKey, request: UInt64) async throws(KeychainError) -> Attestation {
        try await serving(.attestKey) { () async throws(KeychainError) in
            let context = try contexts.enter(body.context, request: request)
            defer { contexts.leave(context, request: request) }
            let attestation = try await authorized(for: .useKeySign, in: context, body.prompt, request) {
                authorization async throws(KeychainError) in
                try await services.keys.attest(
                    body.representation,
                    qualifyingData: body.qualifyingData,
                    groups: try groups.usable,
                    authorization: authorization
                )
            }
            record("attest")
            return attestation
        }
    }

    /// The identity of this machine's hardware for an attestation CA.
    package func attestationIdentity() async throws(KeychainError) -> AttestationIdentity {
        try await serving(.attestationIdentity) { () async throws(KeychainError) in
            try await services.keys.attestationIdentity()
        }
    }

    /// Decrypts the credential that an attestation CA encrypted for this machine's hardware.
    package func activateCredential(
        _ challenge: ActivationChallenge
    ) async throws(KeychainError) -> SecretBytes {
        try await serving(.activateCredential) { () async throws(KeychainError) in
            try await services.keys.activate(challenge)
        }
    }

    /// Has this machine's hardware sign what the machine was started with.
    package func quoteBoot(_ body: BootQuoteRequest) async throws(KeychainError) -> BootQuote {
        try await serving(.quoteBoot) { () async throws(KeychainError) in
            try await services.keys.quote(nonce: body.nonce)
        }
    }

    /// Runs a call with the proofs in its context, prompting for what it still needs.
    private func authorized<Result: ~Copyable & Sendable>(
        for operation: AccessOperation,
        in context: ContextID,
        _ prompt: PromptFields,
        _ request: UInt64,
        _ call: (ItemAuthorization) async throws(KeychainError) -> VaultOutcome<Result>
    ) async throws(KeychainError) -> Result {
        var prompts = PromptBudget(context: context, request: request, prompt: prompt)
        return try await calling(&prompts, for: operation, call)
    }

    static func verb(of use: KeyUse) -> StaticString {
        switch use {
        case .sign, .signCounted: "sign"
        case .agree: "agree"
        case .decrypt: "decrypt"
        }
    }

    func record(_ verb: StaticString, _ purpose: String? = nil) {
        let event =
            if let purpose {
                AuditEvent(.namedKeyUsed, caller: asker.callerWithStarters, detail: "\(verb) \(purpose)")
            } else {
                AuditEvent(.keyAccessed, caller: asker.callerWithStarters, detail: "\(verb)")
            }
        services.audit.record(event)
    }
}
