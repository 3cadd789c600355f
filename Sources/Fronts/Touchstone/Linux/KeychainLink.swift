package import KeychainClient
package import KeychainModel
internal import SecretMemory

/// The connection to a keychain on Linux: the daemon, and where its prompts appear.
///
/// This type and ``KeychainCalls`` are all that the module uses of a system, with values of the module; nothing here blocks its
/// caller. The folder `Apple` has the same types for Apple's systems.
struct KeychainLink: Sendable {
    /// The daemon's client.
    let client: RemoteKeychain
    /// Where prompts appear; nil for the terminal and display of this process.
    let origin: PromptOrigin?

    /// The link to the keychain that the APIs use in this task.
    static var current: KeychainLink {
        KeychainLink(client: KeychainConnection.current, origin: KeychainConnection.promptOrigin)
    }

    /// The prompt fields of a request; without a text, the request may show no prompt.
    ///
    /// The daemon is asked for misses only if somebody listens to them.
    func fields(_ prompt: PromptText?, isHeard: Bool = false) -> PromptFields {
        PromptFields(
            origin: origin ?? KeychainConnection.originOfNow,
            reason: prompt?.reason ?? "",
            details: PromptDetails(
                title: prompt?.title,
                subtitle: prompt?.subtitle,
                items: prompt?.items ?? []
            ),
            cancelTitle: prompt?.cancelLabel,
            fallbackTitles: prompt?.fallbacks,
            interactionAllowed: prompt != nil,
            tellsMisses: prompt != nil && (isHeard || MissListeners.isHeard(client))
        )
    }

    /// Runs blocking calls of the client on a thread of their own.
    ///
    /// Cancelling the task or reaching `timeout` ends the calls, which throw `taskCancelled` or `timedOut` once the daemon has
    /// removed its prompt. A result that was complete before is returned. Misses at their prompts go to `onMiss` and to the
    /// process's listeners, all of them before this returns.
    func call<R: Sendable>(
        timeout: Duration? = nil,
        onMiss: (@Sendable (TouchMiss) -> Void)? = nil,
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
                    let calls = {
                        Result { () throws(TouchstoneError) in try body(client, ending.cancellation) }
                    }
                    guard onMiss != nil || MissListeners.isHeard(client) else {
                        return continuation.resume(returning: calls())
                    }
                    let tell: @Sendable (MissedTouch) -> Void = { miss in
                        let miss = TouchMiss(miss)
                        onMiss?(miss)
                        MissListeners.tell(client, miss)
                    }
                    continuation.resume(
                        returning: MissedTouch.$listener.withValue(MissListener(tell), operation: calls)
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
    /// A fixed keychain, independent of the task; for the test kit.
    package init(_ client: RemoteKeychain, promptsAt origin: PromptOrigin? = nil) {
        self.init(fixed: KeychainLink(client: client, origin: origin))
    }
}

/// Ends a call early, and keeps the reason.
private final class CallEnding: Sendable {
    let cancellation = Cancellation()
    private let first = Guarded<TouchstoneError.Code?>(nil)

    /// The first reason; nil if the call was not ended early.
    var reason: TouchstoneError.Code? { first.withLock(\.self) }

    /// Ends the call, unless it was ended before.
    func end(_ reason: TouchstoneError.Code) {
        let isFirst = first.withLock { first in
            guard first == nil else { return false }
            first = reason
            return true
        }
        guard isFirst else { return }
        // Cancelling writes to the socket, which may block; the thread that cancels the task must not wait
        // for that.
        if WaitingThreads.shared.run({ self.cancellation.cancel() }) != 0 { cancellation.cancel() }
    }
}

extension TouchstoneError {
    /// The error if no waiting thread can be created.
    fileprivate static func noThread(_ number: Int32) -> TouchstoneError {
        TouchstoneError(.serviceFailed, part: "system", cause: SystemError.name(of: number))
    }
}

/// Runs requests and converts their errors to this module's error.
func below<R: ~Copyable>(_ body: () throws(KeychainError) -> R) throws(TouchstoneError) -> R {
    do throws(KeychainError) {
        return try body()
    } catch {
        throw TouchstoneError(error)
    }
}

/// What the user authenticated at one prompt, kept by the daemon in a context of the connection.
final class PromptSession: Sendable {
    let link: KeychainLink
    /// The context's number.
    let number: UInt64
    /// The factors of an explicit prompt; empty for prompts that items cause.
    private let factors: Set<AuthenticationFactor>
    /// Always false here: the daemon reports an ended context.
    var isEnded: Bool { false }

    init(_ link: KeychainLink, number: UInt64, factors: Set<AuthenticationFactor> = []) {
        self.link = link
        self.number = number
        self.factors = factors
    }

    /// Whether the authentication meets a rule.
    func meets(_ rule: AccessRule) -> Bool { rule.isMet(by: factors) }

    /// Whether the user entered the passcode.
    var hasPasscode: Bool { factors.contains(.passcode) }

    /// Ends the session: the daemon discards the context; does not wait for it.
    func end() { link.forget(number) }
}

extension KeychainLink {
    /// Identifies the keychain.
    var identity: ObjectIdentifier { ObjectIdentifier(client) }

    /// Makes an empty context.
    ///
    /// - Parameter time: How long the daemon counts an authentication in it; zero for as long as it exists.
    /// - Returns: the context.
    func makeSession(lasting time: Duration = .zero) -> PromptSession {
        PromptSession(self, number: client.makeContextNumber(lasting: time))
    }

    /// Runs blocking calls of the keychain on a thread of their own.
    ///
    /// - Parameters:
    ///   - prompt: The text of prompts; nil if none may be shown.
    ///   - session: The context in which the user authenticates.
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

    /// Discards a context in the daemon; does not wait for it.
    func forget(_ context: UInt64) {
        // If no thread is available, the daemon discards the context when the connection ends; its number is
        // not used again.
        _ = WaitingThreads.shared.run { [client] in try? client.invalidateContext(context) }
    }
}
