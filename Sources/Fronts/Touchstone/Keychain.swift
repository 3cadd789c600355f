/// The user's keychain, and the prompt in front of it.
///
/// ```swift
/// let proof = try await Keychain.current.authenticate("Show your notes")
/// ```
public struct Keychain: Sendable {
    /// The keychain of the user who runs this program; in a test, the keychain whose `use` encloses the call.
    ///
    /// Resolved at each call, so it can be kept in a global.
    public static let current = Keychain(fixed: nil)

    /// The keychain's link; nil for the link of the current task.
    private let fixed: KeychainLink?

    init(fixed: KeychainLink?) { self.fixed = fixed }

    /// The link to the keychain at this moment.
    var link: KeychainLink { fixed ?? .current }

    /// Checks whether a prompt is possible and with which sensor; shows nothing.
    ///
    /// A condition that prevents the prompt is the ``Capability/obstacle``, not an error. The daemon notifies this process of
    /// changes, so a result is cached until one: a call with a cached result sends no request and makes no system call. Changes
    /// that the daemon cannot detect, such as a display that is gone, are noticed after 10 s at most.
    ///
    /// - Parameter demand: The authenticators to check.
    /// - Returns: the obstacle, if there is one, and the sensor.
    /// - Throws: ``TouchstoneError`` with `taskCancelled`, and with `unsupported` for an empty set of authenticators.
    public func capability(
        for demand: Authenticators = .strongBiometry
    ) async throws(TouchstoneError) -> Capability {
        try demand.check()
        return try await link.capability(for: demand)
    }

    /// Asks the user to authenticate.
    ///
    /// Cancelling the task removes the prompt and throws `taskCancelled`.
    ///
    /// - Parameters:
    ///   - prompt: The text of the prompt.
    ///   - demand: The accepted authenticators.
    ///   - onMiss: Called for each touch that misses while the prompt stays, on any thread, which it must not block; not
    ///     called after this method has returned or thrown, and never on Apple's systems.
    /// - Returns: a proof, with which stores can be read.
    /// - Throws: ``TouchstoneError``.
    public func authenticate(
        _ prompt: PromptText,
        using demand: Authenticators = .strongBiometry,
        onMiss: TouchMiss.Handler? = nil
    ) async throws(TouchstoneError) -> Proof {
        try demand.check()
        try prompt.check()
        let link = link
        return try await link.recording(nil) { () throws(TouchstoneError) in
            try await link.authenticate(prompt, using: demand, onMiss: onMiss?.handle)
        }
    }

    /// Says when the user last authenticated at a prompt that named this program, of any of its processes; shows none.
    ///
    /// Prompts that only unlocked the keychain count, if this program asked for them; those of other programs do not. The daemon
    /// remembers it across locks until it restarts. With a ``Proof`` or a store this has nothing to do: whatever takes a
    /// prompt takes one all the same.
    ///
    /// - Parameter demand: The authenticators that count.
    /// - Returns: the last authentication with one of them; nil if the daemon remembers none.
    /// - Throws: ``TouchstoneError`` with `taskCancelled`, with `unsupported` for an empty set of authenticators and always on
    ///   Apple's systems, and the errors of the service.
    public func lastAuthentication(
        using demand: Authenticators = [.weakBiometry, .passcode]
    ) async throws(TouchstoneError) -> LastAuthentication? {
        try demand.check()
        return try await link.lastAuthentication(using: demand)
    }

    /// Delivers the result of ``capability(for:)`` now and after each change, until the consuming task ends.
    ///
    /// On Linux the daemon reports changes at once; a sensor that is plugged in or removed, and fingers that are deleted, within 2
    /// s. The stream ends at once for an empty set of authenticators.
    ///
    /// - Parameter demand: The authenticators to check.
    /// - Returns: a stream of capabilities; only the newest one that was not consumed is kept.
    public func capabilities(for demand: Authenticators = .strongBiometry) -> AsyncStream<Capability> {
        let link = link
        return AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let task = Task {
                try? await link.tellCapabilities(for: demand) { continuation.yield($0) }
                // The task was cancelled or the demand is empty: no more values follow.
                continuation.finish()
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }

    /// Delivers events of this process's stores, keys and prompts, and of the keychain as a whole, from now
    /// on.
    ///
    /// Items and prompts of other programs cause no events.
    ///
    /// - Returns: a stream of events; at most the newest 256 that were not consumed are kept.
    public func securityEvents() -> AsyncStream<SecurityEvent> {
        let link = link
        return AsyncStream(bufferingPolicy: .bufferingNewest(256)) { continuation in
            let end = link.listen { continuation.yield($0) }
            continuation.onTermination = { _ in end() }
        }
    }

    /// Delivers each touch that misses at a prompt of this process, of any of its calls, from now on.
    ///
    /// Apple's systems report no misses: there the stream ends at once.
    ///
    /// - Returns: a stream of misses; at most the newest 64 that were not consumed are kept.
    public func misses() -> AsyncStream<TouchMiss> {
        let link = link
        return AsyncStream(bufferingPolicy: .bufferingNewest(64)) { continuation in
            guard let end = link.listenToMisses({ continuation.yield($0) }) else {
                return continuation.finish()
            }
            continuation.onTermination = { _ in end() }
        }
    }

    /// The names of this program's stores, from their first write until ``SecretStore/deleteAll()``; shows no prompt.
    ///
    /// An app with several accounts can have a store for each, named by the account, and find them with this.
    ///
    /// - Parameter group: The access group that shares the stores; nil for those of this program alone.
    /// - Returns: the names, in order.
    /// - Throws: ``TouchstoneError``: `locked` before the keychain's first unlock, `damaged`, `denied` for a group of others.
    public func stores(in group: String? = nil) async throws(TouchstoneError) -> [String] {
        if let group { try ItemName.check(group, "group") }
        return try await link.storeNames(in: group)
    }

    /// Deletes all stores and keys of this program and of the groups that it shares; shows no prompt.
    ///
    /// Items that other APIs stored, such as `SecItemAdd`, are kept. Every later use of the deleted keys throws `deleted`.
    ///
    /// - Throws: ``TouchstoneError``: `locked` before the keychain's first unlock.
    public func deleteEverything() async throws(TouchstoneError) {
        let link = link
        try await link.recording(nil) { () throws(TouchstoneError) in try await link.deleteEverything() }
    }
}
