import CBOR
package import KeychainModel
import SecretMemory

/// What the program calls that draws boxes for a daemon of another account.
///
/// None of them is sent twice: the next daemon knows nothing of this one's boxes.
extension RemoteKeychain {
    /// Says where the agent draws; boxes come from now on.
    ///
    /// - Throws: ``KeychainError`` `errSecMissingEntitlement` where the daemon does not take this process for an agent,
    ///   `errSecDuplicateItem` where another agent has that place.
    package func registerAgent(_ registration: AgentRegistration) throws(KeychainError) -> AgentAdmission {
        try agentCall(.agentRegister, registration)
    }

    /// Waits for a box.
    ///
    /// - Throws: ``KeychainError`` where the daemon is gone, or `cancellation` ended it.
    package func nextBox(cancellation: Cancellation) throws(KeychainError) -> AgentBox {
        try agentCall(.agentNext, EmptyBody(), cancellation)
    }

    /// Says that the box is up, which arms the sensor.
    package func boxIsShown(_ number: UInt64) throws(KeychainError) {
        let _: EmptyBody = try agentCall(.agentShown, BoxNumber(number))
    }

    /// Says what became of a box.
    package func boxIsAnswered(_ answer: borrowing AgentAnswer) throws(KeychainError) {
        let _: EmptyBody = try agentCall(.agentAnswer, answer)
    }

    /// Waits until the box is to be taken away, or is over.
    package func waitUntilBoxIsUnwanted(_ number: UInt64) throws(KeychainError) {
        let _: EmptyBody = try agentCall(.agentGone, BoxNumber(number))
    }

    /// Has a new secret judged that is being typed into a box.
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
