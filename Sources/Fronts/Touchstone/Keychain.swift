/// The user's keychain, and the prompt in front of it.
///
/// ```swift
/// let proof = try await Keychain.current.authenticate("Show your notes")
/// ```
public struct Keychain: Sendable {
    /// The keychain of the user who runs this program; in a test, the one whose `use` this runs in.
    ///
    /// Looked up at each call, so it can be kept in a global.
    public static let current = Keychain(fixed: nil)

    /// One keychain whatever the task says; nil for the task's.
    private let fixed: KeychainLink?

    init(fixed: KeychainLink?) { self.fixed = fixed }

    /// The way to it, as of now.
    var link: KeychainLink { fixed ?? .current }

    /// What asking for a demand would come to; shows nothing.
    ///
    /// Whatever the daemon cannot do is an ``Capability/obstacle``, not an error. It tells this process of changes, and an answer
    /// that was had before holds until one: a warm call asks nobody and makes no system call. What it cannot tell of, such as a
    /// display that is gone, is seen after 10 s at most.
    ///
    /// - Parameter demand: What would be asked for.
    /// - Returns: the obstacle, if there is one, and the sensor.
    /// - Throws: ``TouchstoneError`` with `taskCancelled`, and with `unsupported` for an empty demand.
    public func capability(
        for demand: Authenticators = .strongBiometry
    ) async throws(TouchstoneError) -> Capability {
        try demand.check()
        return try await link.capability(for: demand)
    }

    /// Asks the user.
    ///
    /// Cancelling the task takes the prompt away and throws `taskCancelled`.
    ///
    /// - Parameters:
    ///   - prompt: What the prompt says.
    ///   - demand: What the user must show.
    /// - Returns: a proof, on which stores can be read.
    /// - Throws: ``TouchstoneError``.
    public func authenticate(
        _ prompt: PromptText,
        using demand: Authenticators = .strongBiometry
    ) async throws(TouchstoneError) -> Proof {
        try demand.check()
        try prompt.check()
        let link = link
        return try await link.recording(nil) { () throws(TouchstoneError) in
            try await link.authenticate(prompt, using: demand)
        }
    }

    /// What ``capability(for:)`` says now, and again after each change, for as long as somebody listens.
    ///
    /// On Linux the daemon tells of changes by itself; of a sensor that is plugged or gone, and of fingers that are deleted, within
    /// 2 s. Ends with the task that listens; at once for an empty demand.
    ///
    /// - Parameter demand: What would be asked for.
    /// - Returns: the newest capability; one that nobody took in time is dropped.
    public func capabilities(for demand: Authenticators = .strongBiometry) -> AsyncStream<Capability> {
        let link = link
        return AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let task = Task {
                try? await link.tellCapabilities(for: demand) { continuation.yield($0) }
                // Nobody listens any more.
                continuation.finish()
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }

    /// What befalls this process's stores, keys and prompts, and the keychain as a whole, from now on.
    ///
    /// Of other programs' items and prompts nothing is told.
    ///
    /// - Returns: the events, of which the newest 256 wait to be taken.
    public func securityEvents() -> AsyncStream<SecurityEvent> {
        let link = link
        return AsyncStream(bufferingPolicy: .bufferingNewest(256)) { continuation in
            let end = link.listen { continuation.yield($0) }
            continuation.onTermination = { _ in end() }
        }
    }

    /// Deletes all stores and keys of this program, and of the groups that it shares; asks nobody.
    ///
    /// What other fronts stored, such as `SecItemAdd`, stays.
    ///
    /// - Throws: ``TouchstoneError``: `locked` before the keychain's first unlock.
    public func deleteEverything() async throws(TouchstoneError) {
        let link = link
        try await link.recording(nil) { () throws(TouchstoneError) in try await link.deleteEverything() }
    }
}
