public import Foundation
import KeychainClient
package import KeychainModel
import SecretMemory
public import Security

/// `LATouchIDAuthenticationMaximumAllowableReuseDuration`: 300 seconds.
public let LATouchIDAuthenticationMaximumAllowableReuseDuration: TimeInterval = 300

/// A session in which the user authenticates.
///
/// Success is true for the user interface alone. What counts is kept by the daemon under this context's
/// number: pass the context as `kSecUseAuthenticationContext`, and the keychain opens items with it.
///
/// ```swift
/// let context = LAContext()
/// context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "open the safe") { success, error in
///     // on a private queue
/// }
/// ```
open class LAContext: NSObject, @unchecked Sendable {  // all that changes is in `state`, behind its lock
    struct State {
        var localizedFallbackTitle: String?
        var localizedCancelTitle: String?
        var localizedReason = ""
        var interactionNotAllowed = false
        var reuseDuration: TimeInterval = 0
        var maxBiometryFailures: NSNumber?
        var biometryType = LABiometryType.none
        var domainState: Data?
        var isInvalidated = false
        var hasCredential = false
        /// Whether the daemon may have heard of ``number``.
        var isKnown = false
        var evaluations: [ObjectIdentifier: Evaluation] = [:]
    }

    let keychain = KeychainConnection.current
    private let promptOrigin = KeychainConnection.promptOrigin
    /// The context's name on the connection.
    let number: UInt64
    let state = Guarded(State())

    /// Makes a context in which nothing was shown yet.
    public override init() {
        number = keychain.makeContextNumber()
        super.init()
    }

    deinit {
        if state.withLock(\.isKnown) { forgetAtDaemon() }
    }

    /// The title of the fallback button; nil for the usual one, empty for no such button.
    open var localizedFallbackTitle: String? {
        get { state.withLock(\.localizedFallbackTitle) }
        set { state.withLock { $0.localizedFallbackTitle = newValue } }
    }

    /// The title of the cancel button; nil for the usual one.
    open var localizedCancelTitle: String? {
        get { state.withLock(\.localizedCancelTitle) }
        set { state.withLock { $0.localizedCancelTitle = newValue } }
    }

    /// The reason shown when a keychain operation prompts.
    open var localizedReason: String {
        get { state.withLock(\.localizedReason) }
        set { state.withLock { $0.localizedReason = newValue } }
    }

    /// Whether what needs a prompt fails with ``LAError/Code/notInteractive`` instead.
    open var interactionNotAllowed: Bool {
        get { state.withLock(\.interactionNotAllowed) }
        set { state.withLock { $0.interactionNotAllowed = newValue } }
    }

    /// How old a success may be to count again, in seconds, at most
    /// ``LATouchIDAuthenticationMaximumAllowableReuseDuration``.
    open var touchIDAuthenticationAllowableReuseDuration: TimeInterval {
        get { state.withLock(\.reuseDuration) }
        set { state.withLock { $0.reuseDuration = newValue } }
    }

    /// Accepted and ignored, as on Apple's systems.
    open var maxBiometryFailures: NSNumber? {
        get { state.withLock(\.maxBiometryFailures) }
        set { state.withLock { $0.maxBiometryFailures = newValue } }
    }

    /// The kind of sensor, once ``canEvaluatePolicy(_:error:)`` was called, whatever that returned.
    open var biometryType: LABiometryType { state.withLock(\.biometryType) }

    /// Bytes that change with the set of enrolled fingers; nil before a success.
    open var evaluatedPolicyDomainState: Data? { state.withLock(\.domainState) }

    /// What was seen of sensor, fingers and companions; its hashes are nil before a success.
    open var domainState: LADomainState {
        state.withLock { LADomainState(biometryType: $0.biometryType, stateHash: $0.domainState) }
    }

    /// Tells whether a policy could be evaluated now, without a prompt.
    ///
    /// Blocks for the time of a question to the daemon. Fills ``biometryType`` whatever it returns.
    @discardableResult
    open func canEvaluatePolicy(_ policy: LAPolicy, error: NSErrorPointer) -> Bool {
        let failure = evaluability(of: policy)
        if let failure { error?.pointee = failure._nsError }
        return failure == nil
    }

    /// Asks the user for what a policy demands.
    ///
    /// - Parameters:
    ///   - policy: what is demanded.
    ///   - localizedReason: why, shown as the app's words; an empty one is an error.
    ///   - reply: called exactly once, on a private queue.
    open func evaluatePolicy(
        _ policy: LAPolicy,
        localizedReason: String,
        reply: @escaping @Sendable (Bool, (any Error)?) -> Void
    ) {
        evaluate(policy, reason: localizedReason, after: {}, reply: reply)
    }

    /// Asks the user for what a policy demands; cancelling the task takes the prompt away.
    ///
    /// - Returns: true.
    /// - Throws: ``LAError``, with ``LAError/Code/appCancel`` when the task was cancelled.
    @discardableResult
    open func evaluatePolicy(_ policy: LAPolicy, localizedReason: String) async throws -> Bool {
        try await Self.awaitReply { self.evaluatePolicy(policy, localizedReason: localizedReason, reply: $0) }
    }

    /// Asks the user for what an access control demands for one operation.
    ///
    /// - Parameters:
    ///   - accessControl: what is demanded.
    ///   - operation: what for.
    ///   - localizedReason: why, shown as the app's words; an empty one is an error.
    ///   - reply: called exactly once, on a private queue.
    open func evaluateAccessControl(
        _ accessControl: SecAccessControl,
        operation: LAAccessControlOperation,
        localizedReason: String,
        reply: @escaping @Sendable (Bool, (any Error)?) -> Void
    ) {
        evaluate(reason: localizedReason, reply: reply) {
            [keychain, number] (prompt, reuse, cancellation) throws(KeychainError) in
            let request = EvaluateAccessControl(
                accessControl: accessControl.accessControl,
                operation: Int64(operation.rawValue),
                context: number,
                reuseSeconds: reuse,
                prompt: prompt
            )
            return try keychain.evaluateAccessControl(request, cancellation: cancellation)
        }
    }

    /// Asks the user for what an access control demands; cancelling the task takes the prompt away.
    ///
    /// - Returns: true.
    /// - Throws: ``LAError``, with ``LAError/Code/appCancel`` when the task was cancelled.
    @discardableResult
    open func evaluateAccessControl(
        _ accessControl: SecAccessControl,
        operation: LAAccessControlOperation,
        localizedReason: String
    ) async throws -> Bool {
        try await Self.awaitReply {
            self.evaluateAccessControl(
                accessControl,
                operation: operation,
                localizedReason: localizedReason,
                reply: $0
            )
        }
    }

    /// Ends what is under way with ``LAError/Code/appCancel``; all later use fails with
    /// ``LAError/Code/invalidContext``, and nothing shown in this context counts any more.
    open func invalidate() {
        if end() { forgetAtDaemon() }
    }

    /// Sets the application password of items, or removes it with nil.
    ///
    /// False for a smart card's PIN, on an invalidated context, and when the daemon cannot be reached.
    @discardableResult
    open func setCredential(_ credential: Data?, type: LACredentialType) -> Bool {
        guard type == .applicationPassword, (try? enter()) != nil else { return false }
        do {
            let room = try LockedRoom.shared.reserve(credential?.count ?? 0)
            defer { withExtendedLifetime(room) {} }
            var password: SecretBytes?
            if let credential { password = try SecretBytes(lent: credential) }
            try keychain.setCredential(SetCredential(context: number, password: password.take()))
        } catch {
            return false
        }
        state.withLock { $0.hasCredential = credential != nil && !$0.isInvalidated }
        return true
    }

    /// Whether an application password is set.
    open func isCredentialSet(_ type: LACredentialType) -> Bool {
        type == .applicationPassword && state.withLock(\.hasCredential)
    }

    /// Notes that the daemon will hear of this context.
    ///
    /// - Throws: `invalidContext` after ``invalidate()``.
    func enter() throws(KeychainError) {
        let isInvalidated = state.withLock { state in
            if !state.isInvalidated { state.isKnown = true }
            return state.isInvalidated
        }
        if isInvalidated { throw KeychainError(AuthenticationError(.invalidContext)) }
    }

    /// Does what ``invalidate()`` does, and returns when the daemon has forgotten what was shown.
    func invalidateAndWait() {
        // A daemon that cannot be reached has forgotten already.
        if end() { try? keychain.invalidateContext(number) }
    }

    /// Ends what is under way and all later use; whether the daemon may have heard of this context.
    private func end() -> Bool {
        let (evaluations, isKnown) = state.withLock { state in
            state.isInvalidated = true
            state.hasCredential = false
            defer {
                state.evaluations = [:]
                state.isKnown = false
            }
            return (Array(state.evaluations.values), state.isKnown)
        }
        for evaluation in evaluations { evaluation.end() }
        return isKnown
    }

    private func forgetAtDaemon() {
        Evaluation.queue.async { [keychain, number] in
            // A daemon that cannot be reached has forgotten already.
            try? keychain.invalidateContext(number)
        }
    }
}

extension LAContext: AuthenticationContextProviding {
    package func describeForKeychain() throws(KeychainError) -> AuthenticationContextDescription {
        try enter()
        return AuthenticationContextDescription(number: number, prompt: prompt(reason: localizedReason))
    }

    func prompt(reason: String) -> PromptFields {
        PromptFields(
            origin: promptOrigin ?? KeychainConnection.originOfNow,
            reason: PromptFields.fitting(reason),
            cancelTitle: localizedCancelTitle.map(PromptFields.fitting),
            fallbackTitle: localizedFallbackTitle.map(PromptFields.fitting),
            interactionAllowed: !interactionNotAllowed
        )
    }
}
