import CBOR
package import KeychainModel
import SecretMemory

/// Requests of the prompt agent, which draws prompts for a daemon of another account.
///
/// None is sent twice: another daemon knows nothing of this one's prompts.
extension RemoteKeychain {
    /// Registers where the agent draws; the daemon sends prompts from now on.
    ///
    /// - Throws: ``KeychainError`` `errSecMissingEntitlement` if the daemon does not accept this process as an agent,
    ///   `errSecDuplicateItem` if another agent is registered for that place.
    package func registerAgent(_ registration: AgentRegistration) throws(KeychainError) -> AgentAdmission {
        try agentCall(.agentRegister, registration)
    }

    /// Waits for a prompt.
    ///
    /// - Throws: ``KeychainError`` if the connection to the daemon is lost or `cancellation` ended the wait.
    package func nextBox(cancellation: Cancellation) throws(KeychainError) -> AgentBox {
        try agentCall(.agentNext, EmptyBody(), cancellation)
    }

    /// Reports that the prompt is shown, which arms the sensor.
    package func boxIsShown(_ box: ShownBox) throws(KeychainError) {
        let _: EmptyBody = try agentCall(.agentShown, box)
    }

    /// Reports the result of a prompt.
    package func boxIsAnswered(_ answer: borrowing AgentAnswer) throws(KeychainError) {
        let _: EmptyBody = try agentCall(.agentAnswer, answer)
    }

    /// Waits until the prompt must be removed, or has ended.
    package func waitUntilBoxIsUnwanted(_ number: UInt64) throws(KeychainError) {
        let _: EmptyBody = try agentCall(.agentGone, BoxNumber(number))
    }

    /// Waits until the daemon wants to know whether the prompt is still shown; throws once it has ended.
    package func waitUntilBoxIsChecked(_ number: UInt64) throws(KeychainError) {
        let _: EmptyBody = try agentCall(.agentCheck, BoxNumber(number))
    }

    /// Has the daemon judge a new secret while it is being typed.
    package func judge(_ draft: borrowing AgentDraft) throws(KeychainError) -> NewSecretJudge.Verdict {
        let verdict: DraftVerdict = try agentCall(.agentJudge, draft)
        return verdict.verdict
    }

    private func agentCall<Body: WireBody & ~Copyable, Reply: WireBody & Sendable & ~Copyable>(
        _ method: Method,
        _ body: borrowing Body,
        _ cancellation: Cancellation = Cancellation()
    ) throws(KeychainError) -> Reply {
        let sink = SingleReply<Reply>()
        try send(method, body, replies: sink, cancellation: cancellation)
        guard let reply = sink.take() else { throw .unintelligible(WireError.malformed) }
        return reply
    }
}
