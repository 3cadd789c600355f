package import KeychainClient
package import KeychainModel

/// The keychain that the fronts talk to.
package enum KeychainConnection {
    /// The user's own; another one inside `$current.withValue`.
    @TaskLocal package static var current = RemoteKeychain.shared
    /// Where prompts go; nil for the terminal and display of this process.
    @TaskLocal package static var promptOrigin: PromptOrigin?

    /// Where a request of now wants its prompts.
    package static var originOfNow: PromptOrigin { promptOrigin ?? .current() }
}
