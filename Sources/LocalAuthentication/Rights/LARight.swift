public import Foundation
import KeychainModel
import Security
import Synchronization

/// What the user must show before a part of an app may be used.
///
/// ```swift
/// let right = LARight()
/// try await right.authorize(localizedReason: "open the safe")
/// // right.state is .authorized
/// await right.deauthorize()
/// ```
///
/// ``state`` is for the user interface alone. What a right guards, save with it (``LARightStore``): the daemon
/// gives the secret and uses the key only for what the user has shown.
open class LARight: NSObject, @unchecked Sendable {  // all that changes is in `progress`, behind its lock
    /// Where an authorization stands.
    public enum State: Int, Sendable {
        /// Nobody asked yet.
        case unknown = 0
        /// The user is being asked.
        case authorizing = 1
        /// The user showed what is demanded.
        case authorized = 2
        /// The user did not, or the authorization was given up.
        case notAuthorized = 3
    }

    private struct Progress {
        var state = State.unknown
        var context: LAContext
        /// Whom to tell the end of the authorization under way.
        var waiting: [@Sendable ((any Error)?) -> Void] = []
        var tag = 0
    }

    let requirement: LAAuthenticationRequirement
    private let makeContext: @Sendable () -> LAContext
    private let progress: Mutex<Progress>

    /// A right that demands a finger or the passcode.
    public convenience override init() { self.init(requirement: .default) }

    /// A right that demands what `requirement` says.
    public init(requirement: LAAuthenticationRequirement) {
        self.requirement = requirement
        let (keychain, origin) = (KeychainConnection.current, KeychainConnection.promptOrigin)
        makeContext = {
            KeychainConnection.$current.withValue(keychain) {
                KeychainConnection.$promptOrigin.withValue(origin) { LAContext() }
            }
        }
        progress = Mutex(Progress(context: makeContext()))
        super.init()
    }

    deinit { context.invalidate() }

    /// A number of the app's own, to tell rights apart.
    open var tag: Int {
        get { progress.withLock(\.tag) }
        set { progress.withLock { $0.tag = newValue } }
    }

    /// Where the authorization stands.
    open var state: State { progress.withLock(\.state) }

    /// The context that the user showed the requirement in; nothing was shown in it unless authorized.
    var context: LAContext { progress.withLock(\.context) }

    /// Asks the user for what the right demands; asks again when it is authorized already.
    ///
    /// Who calls while the user is being asked hears of the same end.
    ///
    /// - Parameters:
    ///   - localizedReason: why, shown as the app's words; an empty one is an error.
    ///   - handler: called exactly once, on a private queue, with ``LAError`` or nil.
    open func authorize(
        localizedReason: String,
        completion handler: @escaping @Sendable ((any Error)?) -> Void
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
        fresh.evaluatePolicy(requirement.policy, localizedReason: localizedReason) { _, error in
            self.end(in: fresh, error)
        }
    }

    /// Asks the user for what the right demands; cancelling the task takes the prompt away.
    ///
    /// - Throws: ``LAError``, with ``LAError/Code/appCancel`` when the task was cancelled or the right
    ///   deauthorized.
    open func authorize(localizedReason: String) async throws {
        _ = try await LAContext.awaitReply { reply in
            self.authorize(localizedReason: localizedReason) { reply($0 == nil, $0) }
        }
    }

    /// Tells whether the right could be authorized now, without a prompt.
    ///
    /// - Parameter handler: called once, on a private queue, with the obstacle or nil.
    open func checkCanAuthorize(completion handler: @escaping @Sendable ((any Error)?) -> Void) {
        let context = makeContext()
        Evaluation.queue.async { handler(self.obstacle(in: context)) }
    }

    /// Tells whether the right could be authorized now, without a prompt.
    ///
    /// - Throws: ``LAError``, why not.
    open func checkCanAuthorize() async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            checkCanAuthorize { continuation.resume(with: $0.map(Result.failure) ?? .success(())) }
        }
    }

    /// Gives the authorization up; one under way ends with ``LAError/Code/appCancel``.
    ///
    /// - Parameter handler: called once, on a private queue, when nothing shown before counts any more.
    open func deauthorize(completion handler: @escaping @Sendable () -> Void) {
        let fresh = makeContext()
        let (old, waiting) = progress.withLock { progress in
            progress.state = .notAuthorized
            defer {
                progress.context = fresh
                progress.waiting = []
            }
            return (progress.context, progress.waiting)
        }
        Evaluation.queue.async {
            old.invalidateAndWait()
            for handler in waiting { handler(LAError(.appCancel)) }
            handler()
        }
    }

    /// Gives the authorization up; one under way ends with ``LAError/Code/appCancel``.
    open func deauthorize() async {
        await withCheckedContinuation { continuation in deauthorize { continuation.resume() } }
    }

    /// Why the right cannot be authorized now; nil when it can.
    func obstacle(in context: LAContext) -> (any Error)? { context.evaluability(of: requirement.policy) }

    /// The user was asked in `context`; an end that comes after a deauthorization counts no more.
    private func end(in context: LAContext, _ error: (any Error)?) {
        let waiting = progress.withLock { progress -> [@Sendable ((any Error)?) -> Void] in
            guard progress.context === context else { return [] }
            progress.state = error == nil ? .authorized : .notAuthorized
            defer { progress.waiting = [] }
            return progress.waiting
        }
        for handler in waiting { handler(error) }
    }
}
