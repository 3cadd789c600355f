package import KeychainModel
import SecretMemory

/// The keychain that the public APIs of this process use, Apple's and `Touchstone` alike.
package enum KeychainConnection {
    /// The user's own keychain, or the one set by `$current.withValue`.
    @TaskLocal package static var current = RemoteKeychain.shared
    /// Where prompts appear; nil for the terminal and display of this process.
    @TaskLocal package static var promptOrigin: PromptOrigin?

    /// A closure that uses this task's keychain and prompt origin on whatever thread it runs.
    package static func keeping(_ body: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
        let (keychain, origin) = (current, promptOrigin)
        return { $current.withValue(keychain) { $promptOrigin.withValue(origin, operation: body) } }
    }

    /// The prompt origin for a request made now.
    ///
    /// Cached briefly: finding the terminal costs more than the rest of a query here, and few programs change
    /// theirs.
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

    /// How long a cached origin is valid.
    private static let lifetime = Duration.milliseconds(250)
    private static let lastOrigin = Guarded<(origin: PromptOrigin, time: ContinuousClock.Instant)?>(nil)
}
