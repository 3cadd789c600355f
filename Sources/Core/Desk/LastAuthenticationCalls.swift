package import KeychainModel

/// Past authentications.
extension Visit {
    /// When the user last authenticated at prompts that named the calling program; for the daemon's own command, at prompts
    /// of any program.
    ///
    /// Shows no prompt. What the user does with other programs is no business of a program. Unknown programs share a group, so they get nothing.
    package func lastAuthentications() async throws(KeychainError) -> PastAuthenticationsReply {
        try await serving(.lastAuthentications) { () async throws(KeychainError) in
            let own = try groups.own
            guard own.name != ClientIdentity.unknownGroup else { return PastAuthenticationsReply([]) }
            let program = own.name == ClientIdentity.ownGroup ? nil : own
            return PastAuthenticationsReply(await services.authenticator.lastAuthentications(for: program))
        }
    }
}
