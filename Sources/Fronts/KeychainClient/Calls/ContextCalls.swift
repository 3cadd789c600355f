import CBOR
public import KeychainModel

/// Contexts: what the user has shown on this connection, by numbers that the app gives.
extension RemoteKeychain {
    /// Whether a policy could be evaluated now; no prompt.
    public func canEvaluatePolicy(_ policy: Int64) throws(KeychainError) -> AuthenticationAvailability {
        try call(.canEvaluatePolicy, CanEvaluatePolicy(policy: policy), reply: AvailabilityReply.self)
            .availability
    }

    /// Asks the user for what a policy demands.
    public func evaluatePolicy(
        _ request: EvaluatePolicy,
        cancellation: Cancellation? = nil
    ) throws(KeychainError) -> EvaluationReply {
        try request.prompt.checkLimits()
        return try call(.evaluatePolicy, request, reply: EvaluationReply.self, cancellation: cancellation)
    }

    /// Asks the user for what an access control demands.
    public func evaluateAccessControl(
        _ request: EvaluateAccessControl,
        cancellation: Cancellation? = nil
    ) throws(KeychainError) -> EvaluationReply {
        try request.prompt.checkLimits()
        return try call(
            .evaluateAccessControl,
            request,
            reply: EvaluationReply.self,
            cancellation: cancellation
        )
    }

    /// Ends what is under way in a context; nothing shown in it counts any more.
    ///
    /// Contexts are gone with their connection, so without one there is nothing to do.
    public func invalidateContext(_ number: UInt64) throws(KeychainError) {
        guard isConnected else { return }
        try call(.invalidateContext, ContextNumber(number), replies: Acknowledgement())
    }

    /// Sets or removes a context's application password.
    public func setCredential(_ credential: consuming SetCredential) throws(KeychainError) {
        try credential.password.checkLimits()
        try call(.setCredential, credential, replies: Acknowledgement())
    }
}
