public import Foundation
import KeychainModel
import SecretMemory

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
open class LARight: NSObject, @unchecked Sendable {  // all that changes is behind locks
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

    let requirement: LAAuthenticationRequirement
    let authorization: RightAuthorization
    private let number = Guarded(0)

    /// A right that demands a finger or the passcode.
    public override init() {
        requirement = .default
        authorization = RightAuthorization()
        super.init()
    }

    /// A right that demands what `requirement` says.
    public init(requirement: LAAuthenticationRequirement) {
        self.requirement = requirement
        authorization = RightAuthorization()
        super.init()
    }

    init(_ requirement: LAAuthenticationRequirement, _ authorization: RightAuthorization) {
        self.requirement = requirement
        self.authorization = authorization
        super.init()
    }

    deinit { authorization.invalidate() }

    /// A number of the app's own, to tell rights apart.
    open var tag: Int {
        get { number.withLock { $0 } }
        set { number.withLock { $0 = newValue } }
    }

    /// Where the authorization stands.
    open var state: State { authorization.state }

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
        authorization.ask(
            for: requirement.policy,
            reason: localizedReason,
            after: { [weak self] () throws(KeychainError) in try self?.confirm() },
            completion: handler
        )
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
        let context = authorization.freshContext
        Evaluation.queue.async { [requirement] in
            do throws(KeychainError) {
                try self.confirm()
                handler(context.evaluability(of: requirement.policy))
            } catch {
                handler(LAError(error))
            }
        }
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
        authorization.giveUp(completion: handler)
    }

    /// Gives the authorization up; one under way ends with ``LAError/Code/appCancel``.
    open func deauthorize() async {
        await withCheckedContinuation { continuation in deauthorize { continuation.resume() } }
    }

    /// Makes sure, without a prompt, that there is something to authorize; a plain right is there always.
    func confirm() throws(KeychainError) {}
}
