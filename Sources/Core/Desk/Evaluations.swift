package import KeychainModel

/// Evaluations requested by an app, and those needed by its item calls.
extension Visit {
    /// Evaluates a policy; the proof is kept in the context.
    package func evaluate(
        _ body: EvaluatePolicy,
        request: UInt64
    ) async throws(KeychainError) -> EvaluationReply {
        try await serving(.evaluatePolicy) { () async throws(KeychainError) in
            let policy = try Self.policy(body.policy)
            return try await evaluate(
                .policy(policy),
                context: body.context,
                reuse: Self.reuse(body.reuseSeconds),
                prompt: body.prompt,
                request: request
            )
        }
    }

    /// Evaluates an access control for one operation; the proof is kept in the context.
    package func evaluate(
        _ body: EvaluateAccessControl,
        request: UInt64
    ) async throws(KeychainError) -> EvaluationReply {
        try await serving(.evaluateAccessControl) { () async throws(KeychainError) in
            guard let number = Int(exactly: body.operation), let operation = AccessOperation(rawValue: number)
            else {
                throw KeychainError(AuthenticationError(.invalidParameter))
            }
            return try await evaluate(
                .accessControl(body.accessControl, operation),
                context: body.context,
                reuse: Self.reuse(body.reuseSeconds),
                prompt: body.prompt,
                request: request
            )
        }
    }

    /// Whether a policy could be evaluated now.
    package func availability(
        of body: CanEvaluatePolicy
    ) async throws(KeychainError) -> AuthenticationAvailability {
        desk.watchers.noteQuestion()
        return try await serving(.canEvaluatePolicy) { () async throws(KeychainError) in
            await availability(of: try Self.policy(body.policy))
        }
    }

    /// Prompts for one access control of a call, and keeps the proof in the call's context.
    func authenticate(
        _ target: Evaluation.Target,
        in context: ContextID,
        reuse: Duration = .zero,
        prompt: PromptFields
    ) async throws(KeychainError) -> AuthenticationProof {
        checkAsker()
        let evaluation = Evaluation(
            target: target,
            context: context,
            request: request(prompt),
            reuse: reuse
        )
        let proof = try await asking { () async throws(AuthenticationError) in
            try await services.authenticator.evaluate(evaluation)
        }
        try requireSameAsker()
        try contexts.add(proof, to: context)
        return proof
    }

    /// Unlocks the keybag; the proof of an entered passcode is kept in the call's context.
    func unlock(for context: ContextID?, prompt: PromptFields) async throws(KeychainError) {
        checkAsker()
        let proof: AuthenticationProof?
        do throws(AuthenticationError) {
            proof = try await services.authenticator.unlock(request(prompt))
        } catch {
            guard error.code != .passcodeNotSet else { throw Self.notSetUp }
            throw KeychainError(asEnded(error))
        }
        try requireSameAsker()
        if let proof, let context { try contexts.add(proof, to: context) }
    }

    /// The error without a keybag: no item can be stored or found.
    static let notSetUp = KeychainError(
        .notAvailable,
        authentication: AuthenticationError(.passcodeNotSet),
        cause: .notSetUp,
        remedy: .setPasscode
    )

    private func evaluate(
        _ target: Evaluation.Target,
        context number: UInt64,
        reuse: Duration,
        prompt: PromptFields,
        request: UInt64
    ) async throws(KeychainError) -> EvaluationReply {
        guard !prompt.reason.isEmpty else { throw KeychainError(AuthenticationError(.invalidParameter)) }
        let context = try contexts.enter(number, request: request)
        defer { contexts.leave(context, request: request) }
        let proof = try await authenticate(target, in: context, reuse: reuse, prompt: prompt)
        let availability = await availability(of: .biometrics)
        return EvaluationReply(factors: proof.factors, domainState: availability.domainState)
    }

    private func availability(of policy: AuthenticationPolicy) async -> AuthenticationAvailability {
        var told = await services.authenticator.availability(of: policy).told(to: caller.accessGroup)
        if policy.requirement == .biometry, !allowsFingers { told.error = .fingersOff }
        // Another group's state would look as if the fingers had changed.
        if asker.isUntold { told.domainState = nil }
        return told
    }

    private static func policy(_ number: Int64) throws(KeychainError) -> AuthenticationPolicy {
        guard let number = Int(exactly: number), let policy = AuthenticationPolicy(rawValue: number) else {
            throw KeychainError(AuthenticationError(.invalidParameter))
        }
        return policy
    }

    /// The reuse window, 0 to 300 s (`touchIDAuthenticationAllowableReuseDuration`); NaN counts as 0.
    static func reuse(_ seconds: Double) -> Duration {
        guard seconds > 0 else { return .zero }
        return .seconds(min(seconds, 300))
    }
}
