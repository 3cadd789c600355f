import Foundation
import KeychainClient
import KeychainModel
import SecretMemory
import Security

/// Runs evaluations, each on a thread that waits for the daemon.
extension LAContext {
    typealias Request =
        @Sendable (PromptFields, Double, Cancellation) throws(KeychainError) -> EvaluationReply

    /// The error that prevents an evaluation of the policy; nil if it can be evaluated.
    func evaluability(of policy: LAPolicy) -> LAError? {
        do throws(KeychainError) {
            try enter()
            let availability = try keychain.canEvaluatePolicy(Int64(policy.rawValue))
            state.withLock { state in
                state.biometryType = availability.hasSensor ? .touchID : .none
                if availability.error == nil { state.domainState = availability.domainState.map { Data($0) } }
            }
            return availability.error.map { LAError($0) }
        } catch {
            return LAError(error)
        }
    }

    /// Starts the evaluation of a policy, after `check` has succeeded.
    func evaluate(
        _ policy: LAPolicy,
        reason: String,
        after check: @escaping @Sendable () throws(KeychainError) -> Void,
        reply: @escaping Evaluation.Reply
    ) {
        evaluate(reason: reason, reply: reply) {
            [keychain, number] (prompt, reuse, cancellation) throws(KeychainError) in
            try check()
            let request = EvaluatePolicy(
                policy: Int64(policy.rawValue),
                context: number,
                reuseSeconds: reuse,
                prompt: prompt
            )
            return try keychain.evaluatePolicy(request, cancellation: cancellation)
        }
    }

    /// Starts an evaluation; `reply` is called exactly once.
    func evaluate(reason: String, reply: @escaping Evaluation.Reply, request: @escaping Request) {
        let evaluation = Evaluation(reply: reply)
        let isInvalidated = state.withLock { state in
            if !state.isInvalidated {
                state.isKnown = true
                state.evaluations[ObjectIdentifier(evaluation)] = evaluation
            }
            return state.isInvalidated
        }
        EvaluationHolder.ofCaller?.hold(evaluation)
        let prompt = prompt(reason: reason)
        let reuse = Self.seconds(touchIDAuthenticationAllowableReuseDuration)
        Evaluation.start {
            defer {
                _ = self.state.withLock { $0.evaluations.removeValue(forKey: ObjectIdentifier(evaluation)) }
            }
            guard !isInvalidated else {
                return evaluation.finish(LAError(AuthenticationError(.invalidContext)))
            }
            guard !reason.isEmpty else { return evaluation.finish(.emptyReason) }
            do throws(KeychainError) {
                let answer = try request(prompt, reuse, evaluation.cancellation)
                if let octets = answer.domainState { self.state.withLock { $0.domainState = Data(octets) } }
                evaluation.finish(nil)
            } catch {
                evaluation.finish(LAError(error))
            }
        }
    }

    /// Runs a callback method and waits for its reply.
    ///
    /// As on Apple's systems, the async method calls the callback method, so that an override of the latter
    /// takes effect in both.
    static func awaitReply(_ start: (@escaping Evaluation.Reply) -> Void) async throws -> Bool {
        let holder = EvaluationHolder()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation {
                (continuation: CheckedContinuation<Bool, any Error>) in
                EvaluationHolder.$ofCaller.withValue(holder) {
                    start { success, error in
                        if let error {
                            continuation.resume(throwing: error)
                        } else {
                            continuation.resume(returning: success)
                        }
                    }
                }
            }
        } onCancel: {
            holder.cancel()
        }
    }

    /// The reuse duration, limited to the maximum; 0 for NaN.
    private static func seconds(_ duration: TimeInterval) -> Double {
        duration > 0 ? min(duration, LATouchIDAuthenticationMaximumAllowableReuseDuration) : 0
    }
}

extension LAError {
    /// The error for an empty reason: the number of `kLAErrorInvalidParameter`, which is not public.
    static var emptyReason: LAError {
        LAError(
            AuthenticationError(
                .invalidParameter,
                cause: DriverCause(domain: "touchstone", code: "empty reason")
            )
        )
    }
}
