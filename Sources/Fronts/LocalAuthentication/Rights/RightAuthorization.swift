import Foundation
import KeychainClient
import KeychainModel
import SecretMemory
import Security

/// What the user has shown for one right: asked for, shown, given up.
///
/// Each authorization has a context of its own, so that nothing shown before counts again.
final class RightAuthorization: Sendable {
    typealias Handler = @Sendable ((any Error)?) -> Void

    private struct Progress: Sendable {
        var state = LARight.State.unknown
        /// The context that the user shows it in; nothing was shown in it unless authorized.
        var context: LAContext
        /// Whom to tell the end of the authorization under way.
        var waiting: [Handler] = []
    }

    private let makeContext: @Sendable () -> LAContext
    private let progress: Guarded<Progress>

    /// Nothing was shown yet; the keychain of now will be asked.
    init() {
        let (keychain, origin) = (KeychainConnection.current, KeychainConnection.promptOrigin)
        makeContext = {
            KeychainConnection.$current.withValue(keychain) {
                KeychainConnection.$promptOrigin.withValue(origin) { LAContext() }
            }
        }
        progress = Guarded(Progress(context: makeContext()))
    }

    /// Where it stands.
    var state: LARight.State { progress.withLock(\.state) }

    /// A context of the same keychain in which nothing was shown.
    var freshContext: LAContext { makeContext() }

    /// Asks the user, if nothing is in the way; who calls while the user is being asked hears of the same end.
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

    /// Gives up what was shown; `handler` is called when the daemon has forgotten it.
    func giveUp(completion handler: @escaping @Sendable () -> Void) {
        let fresh = makeContext()
        let (old, waiting) = progress.withLock { progress in
            defer { progress = Progress(state: .notAuthorized, context: fresh) }
            return (progress.context, progress.waiting)
        }
        Evaluation.queue.async {
            old.invalidateAndWait()
            for handler in waiting { handler(LAError(AuthenticationError(.appCancel))) }
            handler()
        }
    }

    /// Gives up what was shown, for good.
    func invalidate() { progress.withLock(\.context).invalidate() }

    /// The user was asked in `context`; an end that comes after giving up counts no more.
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
    /// For the use of what a right guards: nobody is asked, what was shown counts or not.
    func describeForKeychain() throws(KeychainError) -> AuthenticationContextDescription {
        var description = try progress.withLock(\.context).describeForKeychain()
        description.prompt.interactionAllowed = false
        return description
    }
}
