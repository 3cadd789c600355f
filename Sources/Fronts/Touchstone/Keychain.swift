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
    /// The daemon is asked each time. Whatever it cannot do is an ``Capability/obstacle``, not an error.
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
        return try await link.authenticate(prompt, using: demand)
    }
}
