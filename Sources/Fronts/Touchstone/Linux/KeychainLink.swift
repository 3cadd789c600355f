package import KeychainClient
package import KeychainModel
internal import SecretMemory

/// The way to a keychain of this system: the daemon, and where its prompts come up.
///
/// All that this module wants of a system is asked of this type and of ``KeychainCalls``, in values of this module; nothing here
/// blocks its caller. The folder `Apple` has the same types for Apple's systems.
struct KeychainLink: Sendable {
    /// The daemon's client.
    let client: RemoteKeychain
    /// Where prompts come up; nil for the terminal and display of this process.
    let origin: PromptOrigin?

    /// The keychain that the fronts of this task talk to.
    static var current: KeychainLink {
        KeychainLink(client: KeychainConnection.current, origin: KeychainConnection.promptOrigin)
    }

    /// How a request prompts; without a text it may show none.
    func fields(_ prompt: PromptText?) -> PromptFields {
        PromptFields(
            origin: origin ?? KeychainConnection.originOfNow,
            reason: prompt?.line ?? "",
            cancelTitle: prompt?.cancelLabel,
            fallbackTitle: prompt?.fallbackLabel,
            interactionAllowed: prompt != nil
        )
    }

    /// Runs calls of the client, which block, on a thread of their own.
    ///
    /// Cancelling the task ends them, and so does the end of `timeout`; what they throw then is `taskCancelled` or `timedOut`,
    /// once the daemon has taken its prompt away. What came to an end before that counts.
    func call<R: Sendable>(
        timeout: Duration? = nil,
        _ body: @escaping @Sendable (RemoteKeychain, Cancellation) throws(TouchstoneError) -> R
    ) async throws(TouchstoneError) -> R {
        guard !Task.isCancelled else { throw TouchstoneError(.taskCancelled) }
        let ending = CallEnding()
        let forget = timeout.map { Timers.after($0) { ending.end(.timedOut) } }
        defer { forget?() }
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation {
                (continuation: CheckedContinuation<Result<R, TouchstoneError>, Never>) in
                let number = WaitingThreads.shared.run { [client] in
                    continuation.resume(
                        returning: Result { () throws(TouchstoneError) in
                            try body(client, ending.cancellation)
                        }
                    )
                }
                if number != 0 { continuation.resume(returning: .failure(.noThread(number))) }
            }
        } onCancel: {
            ending.end(.taskCancelled)
        }
        switch result {
        case .success(let value): return value
        case .failure(let error): throw ending.reason.map { TouchstoneError($0) } ?? error
        }
    }
}

extension Keychain {
    /// One keychain, whatever the task says; for the test kit.
    package init(_ client: RemoteKeychain, promptsAt origin: PromptOrigin? = nil) {
        self.init(fixed: KeychainLink(client: client, origin: origin))
    }
}

/// Why a call was ended from this side, and the end itself.
private final class CallEnding: Sendable {
    let cancellation = Cancellation()
    private let first = Guarded<TouchstoneError.Code?>(nil)

    /// The first reason; nil where there was none.
    var reason: TouchstoneError.Code? { first.withLock(\.self) }

    /// Ends the call, unless it was ended before.
    func end(_ reason: TouchstoneError.Code) {
        let isFirst = first.withLock { first in
            guard first == nil else { return false }
            first = reason
            return true
        }
        guard isFirst else { return }
        // Writes to the socket, which may block: whoever cancels a task does not wait for that.
        if WaitingThreads.shared.run({ self.cancellation.cancel() }) != 0 { cancellation.cancel() }
    }
}

extension TouchstoneError {
    /// No thread could be had to wait on.
    fileprivate static func noThread(_ number: Int32) -> TouchstoneError {
        TouchstoneError(.serviceFailed, part: "system", cause: SystemError.name(of: number))
    }
}

/// Runs requests; their failure in this module's words.
func below<R: ~Copyable>(_ body: () throws(KeychainError) -> R) throws(TouchstoneError) -> R {
    do throws(KeychainError) {
        return try body()
    } catch {
        throw TouchstoneError(error)
    }
}

/// What the user showed at one prompt, as the daemon keeps it: a context of the connection.
final class PromptSession: Sendable {
    let link: KeychainLink
    /// The context's number.
    let number: UInt64
    /// What was shown, where it was asked for on its own.
    private let factors: Set<AuthenticationFactor>
    /// Whether nothing can be shown in it any more; the daemon tells.
    var isEnded: Bool { false }

    init(_ link: KeychainLink, number: UInt64, factors: Set<AuthenticationFactor> = []) {
        self.link = link
        self.number = number
        self.factors = factors
    }

    /// Whether what was shown is what a rule demands.
    func meets(_ rule: AccessRule) -> Bool { rule.isMet(by: factors) }

    /// Whether the passcode was shown.
    var hasPasscode: Bool { factors.contains(.passcode) }

    /// Has the daemon forget it; nobody waits for that.
    func end() { link.forget(number) }
}

extension KeychainLink {
    /// Tells keychains apart.
    var identity: ObjectIdentifier { ObjectIdentifier(client) }

    /// A context in which nothing was shown yet.
    func makeSession() -> PromptSession { PromptSession(self, number: client.makeContextNumber()) }

    /// Runs calls of the keychain on a thread of their own.
    ///
    /// - Parameters:
    ///   - prompt: What prompts say; nil: none may be shown.
    ///   - session: Where the user shows what items demand.
    ///   - timeout: When the calls are ended.
    ///   - body: The calls.
    /// - Returns: what `body` returned.
    /// - Throws: ``TouchstoneError``.
    func call<R: Sendable>(
        _ prompt: PromptText?,
        in session: PromptSession? = nil,
        timeout: Duration? = nil,
        _ body: @escaping @Sendable (KeychainCalls) throws(TouchstoneError) -> R
    ) async throws(TouchstoneError) -> R {
        let fields = fields(prompt)
        let context = session?.number
        return try await call(timeout: timeout) { client, cancellation throws(TouchstoneError) in
            try body(
                KeychainCalls(client: client, context: context, prompt: fields, cancellation: cancellation)
            )
        }
    }

    /// Has the daemon forget a context; nobody waits for that.
    func forget(_ context: UInt64) {
        // Without a thread it is forgotten when the connection ends, and nothing has its number any more.
        _ = WaitingThreads.shared.run { [client] in try? client.invalidateContext(context) }
    }
}
