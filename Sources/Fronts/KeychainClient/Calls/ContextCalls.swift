import CBOR
public import KeychainModel

/// Contexts: the daemon keeps authentications for this connection, under numbers that the app chooses.
extension RemoteKeychain {
    /// Whether a policy can be evaluated now; shows no prompt.
    public func canEvaluatePolicy(_ policy: Int64) throws(KeychainError) -> AuthenticationAvailability {
        try call(.canEvaluatePolicy, CanEvaluatePolicy(policy: policy), reply: AvailabilityReply.self)
            .availability
    }

    /// Asks the user to authenticate as a policy requires.
    public func evaluatePolicy(
        _ request: EvaluatePolicy,
        cancellation: Cancellation? = nil
    ) throws(KeychainError) -> EvaluationReply {
        try request.prompt.checkLimits()
        return try call(.evaluatePolicy, request, reply: EvaluationReply.self, cancellation: cancellation)
    }

    /// Asks the user to authenticate as an access control requires.
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

    /// Ends evaluations in a context and discards its authentication.
    ///
    /// Contexts end with their connection, so without a connection there is nothing to do.
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
