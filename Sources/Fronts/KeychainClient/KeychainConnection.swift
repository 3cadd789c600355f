package import KeychainModel
import SecretMemory

/// The keychain that the fronts of this process talk to, Apple's names and `Touchstone` alike.
package enum KeychainConnection {
    /// The user's own; another one inside `$current.withValue`.
    @TaskLocal package static var current = RemoteKeychain.shared
    /// Where prompts go; nil for the terminal and display of this process.
    @TaskLocal package static var promptOrigin: PromptOrigin?

    /// Where a request of now wants its prompts.
    ///
    /// Looking the terminal up costs more than all else that a query needs here; few programs change theirs.
    package static var originOfNow: PromptOrigin {
        if let promptOrigin { return promptOrigin }
        let now = ContinuousClock.now
        return lastOrigin.withLock { last in
            if let last, now - last.time < lifetime { return last.origin }
            let origin = PromptOrigin.current()
            last = (origin, now)
            return origin
        }
    }

    /// How long a place that was looked up counts.
    private static let lifetime = Duration.milliseconds(250)
    private static let lastOrigin = Guarded<(origin: PromptOrigin, time: ContinuousClock.Instant)?>(nil)
}
