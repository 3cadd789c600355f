public import Foundation
import KeychainModel
import SecretMemory

/// The right to use a part of an app, which the user authorizes by authenticating.
///
/// ```swift
/// let right = LARight()
/// try await right.authorize(localizedReason: "open the safe")
/// // right.state is .authorized
/// await right.deauthorize()
/// ```
///
/// ``state`` is only for the app's user interface. To protect data or a key, save it with the right
/// (``LARightStore``): the daemon releases the secret and uses the key only after the user's authentication.
open class LARight: NSObject, @unchecked Sendable {  // all that changes is behind locks
    /// The state of an authorization.
    public enum State: Int, Sendable {
        /// Authorization was not requested yet.
        case unknown = 0
        /// The user is being asked.
        case authorizing = 1
        /// The user met the requirement.
        case authorized = 2
        /// The user did not meet the requirement, or the right was deauthorized.
        case notAuthorized = 3
    }

    let requirement: LAAuthenticationRequirement
    let authorization: RightAuthorization
    private let number = Guarded(0)

    /// Makes a right that requires a finger or the passcode.
    public override init() {
        requirement = .default
        authorization = RightAuthorization()
        super.init()
    }

    /// Makes a right with a requirement.
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

    /// An identifier for the app's own use.
    open var tag: Int {
        get { number.withLock { $0 } }
        set { number.withLock { $0 = newValue } }
    }

    /// The state of the authorization.
    open var state: State { authorization.state }

    /// Asks the user to meet the requirement, even if the right is already authorized.
    ///
    /// Calls during the prompt get the same result.
    ///
    /// - Parameters:
    ///   - localizedReason: the app's reason, shown in the prompt; an empty one is an error.
    ///   - handler: called exactly once, on a private queue, with an ``LAError`` or nil.
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

    /// Asks the user to meet the requirement; cancelling the task removes the prompt.
    ///
    /// - Throws: ``LAError``; ``LAError/Code/appCancel`` if the task was cancelled or the right was
    ///   deauthorized.
    open func authorize(localizedReason: String) async throws {
        _ = try await LAContext.awaitReply { reply in
            self.authorize(localizedReason: localizedReason) { reply($0 == nil, $0) }
        }
    }

    /// Checks whether the right can be authorized now; shows no prompt.
    ///
    /// - Parameter handler: called once, on a private queue, with the error that prevents it, or nil.
    open func checkCanAuthorize(completion handler: @escaping @Sendable ((any Error)?) -> Void) {
        let context = authorization.freshContext
        Evaluation.later { [requirement] in
            do throws(KeychainError) {
                try self.confirm()
                handler(context.evaluability(of: requirement.policy))
            } catch {
                handler(LAError(error))
            }
        }
    }

    /// Checks whether the right can be authorized now; shows no prompt.
    ///
    /// - Throws: ``LAError`` if it cannot.
    open func checkCanAuthorize() async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            checkCanAuthorize { continuation.resume(with: $0.map(Result.failure) ?? .success(())) }
        }
    }

    /// Deauthorizes the right; an authorization in progress ends with ``LAError/Code/appCancel``.
    ///
    /// - Parameter handler: called once, on a private queue, when earlier authentication no longer counts.
    open func deauthorize(completion handler: @escaping @Sendable () -> Void) {
        authorization.giveUp(completion: handler)
    }

    /// Deauthorizes the right; an authorization in progress ends with ``LAError/Code/appCancel``.
    open func deauthorize() async {
        await withCheckedContinuation { continuation in deauthorize { continuation.resume() } }
    }

    /// Checks, without a prompt, that the right still exists; a right that is not saved always does.
    func confirm() throws(KeychainError) {}
}
