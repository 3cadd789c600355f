public import KeychainModel

extension RemoteKeychain {
    /// When the user last showed each kind of factor at this program's prompts, the newest first; shows no prompt.
    ///
    /// For the `touchstone` command: at prompts of any program.
    public func lastAuthentications() throws(KeychainError) -> [PastAuthentication] {
        try call(.lastAuthentications, EmptyBody(), reply: PastAuthenticationsReply.self).authentications
    }
}
