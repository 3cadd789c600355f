public import Foundation
import KeychainClient
package import KeychainModel
import SecretMemory
public import Security

/// `LATouchIDAuthenticationMaximumAllowableReuseDuration`: 300 seconds.
public let LATouchIDAuthenticationMaximumAllowableReuseDuration: TimeInterval = 300

/// A context in which the user authenticates.
///
/// The success of an evaluation is only for the app's user interface. The daemon keeps the authentication
/// under this context's number: pass the context as `kSecUseAuthenticationContext` to read items with it.
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
        /// Whether the daemon may know ``number``.
        var isKnown = false
        var evaluations: [ObjectIdentifier: Evaluation] = [:]
    }

    let keychain = KeychainConnection.current
    private let promptOrigin = KeychainConnection.promptOrigin
    /// The context's number on the connection.
    let number: UInt64
    let state = Guarded(State())

    /// Makes an empty context.
    public override init() {
        number = keychain.makeContextNumber()
        super.init()
    }

    deinit {
        if state.withLock(\.isKnown) { forgetAtDaemon() }
    }

    /// The title of the fallback button; nil for the default title, empty for no button.
    open var localizedFallbackTitle: String? {
        get { state.withLock(\.localizedFallbackTitle) }
        set { state.withLock { $0.localizedFallbackTitle = newValue } }
    }

    /// The title of the cancel button; nil for the default title.
    open var localizedCancelTitle: String? {
        get { state.withLock(\.localizedCancelTitle) }
        set { state.withLock { $0.localizedCancelTitle = newValue } }
    }

    /// The reason in a prompt that a keychain operation causes.
    open var localizedReason: String {
        get { state.withLock(\.localizedReason) }
        set { state.withLock { $0.localizedReason = newValue } }
    }

    /// Whether operations that need a prompt fail with ``LAError/Code/notInteractive``.
    open var interactionNotAllowed: Bool {
        get { state.withLock(\.interactionNotAllowed) }
        set { state.withLock { $0.interactionNotAllowed = newValue } }
    }

    /// The maximum age of an earlier authentication that is reused, in seconds; at most
    /// ``LATouchIDAuthenticationMaximumAllowableReuseDuration``.
    open var touchIDAuthenticationAllowableReuseDuration: TimeInterval {
        get { state.withLock(\.reuseDuration) }
        set { state.withLock { $0.reuseDuration = newValue } }
    }

    /// Ignored, as on Apple's systems.
    open var maxBiometryFailures: NSNumber? {
        get { state.withLock(\.maxBiometryFailures) }
        set { state.withLock { $0.maxBiometryFailures = newValue } }
    }

    /// The type of sensor, set by ``canEvaluatePolicy(_:error:)`` whatever it returns.
    open var biometryType: LABiometryType { state.withLock(\.biometryType) }

    /// Bytes that change with the set of enrolled fingers; nil before a successful check or evaluation of a policy.
    open var evaluatedPolicyDomainState: Data? { state.withLock(\.domainState) }

    /// The state of sensor, enrolled fingers and companions; its hashes are nil before a successful check or
    /// evaluation of a policy.
    open var domainState: LADomainState {
        state.withLock { LADomainState(biometryType: $0.biometryType, stateHash: $0.domainState) }
    }

    /// Whether a policy can be evaluated now; shows no prompt.
    ///
    /// Blocks for one request to the daemon. Sets ``biometryType`` whatever it returns.
    @discardableResult
    open func canEvaluatePolicy(_ policy: LAPolicy, error: NSErrorPointer) -> Bool {
        let failure = evaluability(of: policy)
        if let failure { error?.pointee = failure._nsError }
        return failure == nil
    }

    /// Asks the user to authenticate as a policy requires.
    ///
    /// - Parameters:
    ///   - policy: the policy.
    ///   - localizedReason: the app's reason, shown in the prompt; an empty one is an error.
    ///   - reply: called exactly once, on a private queue.
    open func evaluatePolicy(
        _ policy: LAPolicy,
        localizedReason: String,
        reply: @escaping @Sendable (Bool, (any Error)?) -> Void
    ) {
        evaluate(policy, reason: localizedReason, after: {}, reply: reply)
    }

    /// Asks the user to authenticate as a policy requires; cancelling the task removes the prompt.
    ///
    /// - Returns: true.
    /// - Throws: ``LAError``; ``LAError/Code/appCancel`` if the task was cancelled.
    @discardableResult
    open func evaluatePolicy(_ policy: LAPolicy, localizedReason: String) async throws -> Bool {
        try await Self.awaitReply { self.evaluatePolicy(policy, localizedReason: localizedReason, reply: $0) }
    }

    /// Asks the user to authenticate as an access control requires for one operation.
    ///
    /// - Parameters:
    ///   - accessControl: the access control.
    ///   - operation: the operation.
    ///   - localizedReason: the app's reason, shown in the prompt; an empty one is an error.
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

    /// Asks the user to authenticate as an access control requires; cancelling the task removes the prompt.
    ///
    /// - Returns: true.
    /// - Throws: ``LAError``; ``LAError/Code/appCancel`` if the task was cancelled.
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

    /// Invalidates the context.
    ///
    /// Evaluations in progress end with ``LAError/Code/appCancel``. All later uses fail with
    /// ``LAError/Code/invalidContext``, and authentications in this context no longer count.
    open func invalidate() {
        if end() { forgetAtDaemon() }
    }

    /// Sets the application password for items, or removes it with nil, also one that the user typed at a prompt.
    ///
    /// Returns false for a smart card's PIN, for an invalidated context, and if the daemon cannot be reached.
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

    /// Whether the app set an application password; one that the user typed does not count.
    open func isCredentialSet(_ type: LACredentialType) -> Bool {
        type == .applicationPassword && state.withLock(\.hasCredential)
    }

    /// Records that the daemon will know this context.
    ///
    /// - Throws: `invalidContext` after ``invalidate()``.
    func enter() throws(KeychainError) {
        let isInvalidated = state.withLock { state in
            if !state.isInvalidated { state.isKnown = true }
            return state.isInvalidated
        }
        if isInvalidated { throw KeychainError(AuthenticationError(.invalidContext)) }
    }

    /// Does what ``invalidate()`` does, and returns once the daemon has discarded the authentication.
    func invalidateAndWait() {
        // A daemon that cannot be reached has already discarded the context.
        if end() { try? keychain.invalidateContext(number) }
    }

    /// Ends evaluations in progress and prevents later uses; returns whether the daemon may know the context.
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
        Evaluation.later { [keychain, number] in
            // A daemon that cannot be reached has already discarded the context.
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
            fallbackTitles: localizedFallbackTitle.map { $0.isEmpty ? [] : [PromptFields.fitting($0)] },
            interactionAllowed: !interactionNotAllowed
        )
    }
}
