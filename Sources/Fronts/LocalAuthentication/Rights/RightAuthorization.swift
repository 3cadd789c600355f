import Foundation
import KeychainClient
import KeychainModel
import SecretMemory
import Security

/// The authorization of one right.
///
/// Each authorization has a context of its own, so that earlier authentication does not count again.
final class RightAuthorization: Sendable {
    typealias Handler = @Sendable ((any Error)?) -> Void

    private struct Progress: Sendable {
        var state = LARight.State.unknown
        /// The context in which the user authenticates; empty unless authorized.
        var context: LAContext
        /// The handlers to call at the end of the authorization in progress.
        var waiting: [Handler] = []
    }

    private let makeContext: @Sendable () -> LAContext
    private let progress: Guarded<Progress>

    /// Makes an empty authorization for the current keychain.
    init() {
        let (keychain, origin) = (KeychainConnection.current, KeychainConnection.promptOrigin)
        makeContext = {
            KeychainConnection.$current.withValue(keychain) {
                KeychainConnection.$promptOrigin.withValue(origin) { LAContext() }
            }
        }
        progress = Guarded(Progress(context: makeContext()))
    }

    /// The state of the authorization.
    var state: LARight.State { progress.withLock(\.state) }

    /// An empty context of the same keychain.
    var freshContext: LAContext { makeContext() }

    /// Asks the user after `check` has succeeded; calls during the prompt get the same result.
    func ask(
        for policy: LAPolicy,
        reason: String,
        after check: @escaping @Sendable () throws(KeychainError) -> Void,
        completion handler: @escaping Handler
    ) {
        let fresh = makeContext()
        let old = progress.withLock { progress -> LAContext? in
            progress.waiting.append(handler)
            guard progress.state != .authorizing else { return nil }
            progress.state = .authorizing
            defer { progress.context = fresh }
            return progress.context
        }
        guard let old else { return }
        old.invalidate()
        fresh.evaluate(policy, reason: reason, after: check) { _, error in self.end(in: fresh, error) }
    }

    /// Discards the authentication; `handler` is called when the daemon has discarded it.
    func giveUp(completion handler: @escaping @Sendable () -> Void) {
        let fresh = makeContext()
        let (old, waiting) = progress.withLock { progress in
            defer { progress = Progress(state: .notAuthorized, context: fresh) }
            return (progress.context, progress.waiting)
        }
        Evaluation.later {
            old.invalidateAndWait()
            for handler in waiting { handler(LAError(AuthenticationError(.appCancel))) }
            handler()
        }
    }

    /// Discards the authentication for good.
    func invalidate() { progress.withLock(\.context).invalidate() }

    /// Ends the authorization in `context`; ignored if it was given up meanwhile.
    private func end(in context: LAContext, _ error: (any Error)?) {
        let waiting = progress.withLock { progress -> [Handler] in
            guard progress.context === context else { return [] }
            progress.state = error == nil ? .authorized : .notAuthorized
            defer { progress.waiting = [] }
            return progress.waiting
        }
        for handler in waiting { handler(error) }
    }
}

extension RightAuthorization: AuthenticationContextProviding {
    /// The context for a use of the right's key or secret; allows no prompt, so only earlier authentication
    /// counts.
    func describeForKeychain() throws(KeychainError) -> AuthenticationContextDescription {
        var description = try progress.withLock(\.context).describeForKeychain()
        description.prompt.interactionAllowed = false
        return description
    }
}
