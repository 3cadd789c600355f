internal import Foundation
internal import LocalAuthentication

/// The connection to the keychain of Apple's systems; one per process.
///
/// This type and ``KeychainCalls`` are all that the module uses of a system, with values of the module; nothing here blocks its
/// caller. The folder `Linux` has the same types for the daemon.
struct KeychainLink: Sendable {
    /// The listeners for this process's events.
    let process: ProcessListeners

    /// The keychain of the user who runs this program.
    static var current: KeychainLink { KeychainLink(process: .current) }

    /// Identifies the keychain.
    var identity: ObjectIdentifier { ObjectIdentifier(process) }

    /// Makes an empty context for prompts with `demand`.
    func makeSession(lasting _: Duration = .zero, for demand: Authenticators = []) -> PromptSession {
        PromptSession(self, demand)
    }

    /// Runs blocking calls of the keychain on a thread of their own.
    ///
    /// Cancelling the task or reaching `timeout` removes the prompt and throws `taskCancelled` or `timedOut`. A result that
    /// was complete before is returned.
    ///
    /// - Parameters:
    ///   - prompt: The text of prompts; nil if none may be shown.
    ///   - session: The context in which the user authenticates.
    ///   - timeout: When the prompt is removed.
    ///   - body: The calls.
    /// - Returns: what `body` returned.
    /// - Throws: ``TouchstoneError``.
    func call<R: Sendable>(
        _ prompt: PromptText?,
        in session: PromptSession? = nil,
        timeout: Duration? = nil,
        _ body: @escaping @Sendable (KeychainCalls) throws(TouchstoneError) -> R
    ) async throws(TouchstoneError) -> R {
        guard !Task.isCancelled else { throw TouchstoneError(.taskCancelled) }
        let calls = KeychainCalls(session: session ?? makeSession(), prompt: prompt)
        let ending = CallEnding(prompt == nil ? nil : calls.session)
        let forget = timeout.map { Timers.after($0) { ending.end(.timedOut) } }
        defer { forget?() }
        let result = await withTaskCancellationHandler {
            await WaitingRoom().run { Result { () throws(TouchstoneError) in try body(calls) } }
        } onCancel: {
            ending.end(.taskCancelled)
        }
        switch result {
        case .success(let value): return value
        case .failure(let error): throw ending.reason.map { TouchstoneError($0) } ?? error
        }
    }

    /// Sends an event of this process to the listeners.
    func tell(_ event: @autoclosure () -> SecurityEvent) { process.tell(event()) }

    /// Calls `listener` for events of this process; the system reports no others.
    ///
    /// - Returns: a closure that removes the listener.
    func listen(_ listener: @escaping @Sendable (SecurityEvent) -> Void) -> @Sendable () -> Void {
        process.add(listener)
    }

    /// Calls `listener` after each call of this process; the system reports no changes by others.
    ///
    /// - Returns: a closure that removes the listener.
    func listenToItems(_ listener: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
        process.add { _ in listener() }
    }

    /// Nil: the system reports no misses.
    func listenToMisses(_: @escaping @Sendable (TouchMiss) -> Void) -> (@Sendable () -> Void)? { nil }
}

/// The listeners for what this process does with its keychain.
final class ProcessListeners: Sendable {
    /// The process's listeners; a test has its own for each keychain.
    @TaskLocal static var current = ProcessListeners()

    private struct State {
        var listeners: [UInt64: @Sendable (SecurityEvent) -> Void] = [:]
        var last: UInt64 = 0
    }

    private let state = Guarded(State())

    /// - Returns: a closure that removes the listener.
    func add(_ listener: @escaping @Sendable (SecurityEvent) -> Void) -> @Sendable () -> Void {
        let number = state.withLock { state in
            state.last += 1
            state.listeners[state.last] = listener
            return state.last
        }
        return { self.state.withLock { _ = $0.listeners.removeValue(forKey: number) } }
    }

    func tell(_ event: @autoclosure () -> SecurityEvent) {
        let listeners = state.withLock { Array($0.listeners.values) }
        guard !listeners.isEmpty else { return }
        let event = event()
        for listener in listeners { listener(event) }
    }
}

/// Ends a call early, and keeps the reason.
private final class CallEnding: Sendable {
    private let session: PromptSession?
    private let first = Guarded<TouchstoneError.Code?>(nil)

    /// - Parameter session: The session to end with the call; nil for a call without a prompt.
    init(_ session: PromptSession?) { self.session = session }

    /// The first reason; nil if the call was not ended early.
    var reason: TouchstoneError.Code? { first.withLock(\.self) }

    /// Ends the call, unless it was ended before.
    func end(_ reason: TouchstoneError.Code) {
        let isFirst = first.withLock { first in
            guard first == nil else { return false }
            first = reason
            return true
        }
        guard isFirst, let session else { return }
        // Invalidating a context may wait for another process; the thread that cancels the task must not.
        _ = WaitingThreads.shared.run { session.end() }
    }
}

/// What the user authenticated at one prompt, kept by the system in an `LAContext`.
final class PromptSession: @unchecked Sendable {  // a context may be used by any thread
    let link: KeychainLink
    let context = LAContext()
    /// The authenticators of an explicit prompt; empty for prompts that items cause.
    private let demand: Authenticators
    private let hasEnded = Guarded(false)

    init(_ link: KeychainLink, _ demand: Authenticators) {
        self.link = link
        self.demand = demand
        context.interactionNotAllowed = true
    }

    /// Whether the session was ended, so that it cannot be used for another prompt.
    var isEnded: Bool { hasEnded.withLock(\.self) }

    /// Whether the authentication meets a rule, as far as the system reports which authenticator of a union
    /// was used.
    func meets(_ rule: AccessRule) -> Bool {
        switch rule.need {
        case .biometry: demand.haveBiometry && !demand.contains(.passcode)
        case .passcode: demand == .passcode
        case .biometryOrPasscode: !demand.isEmpty
        case .biometryAndPasscode: false
        case .whenUnlocked, .afterFirstUnlock: true
        }
    }

    /// Ends the session: the system discards the authentication and removes the prompt.
    func end() {
        hasEnded.withLock { $0 = true }
        context.invalidate()
    }

    /// Runs a call that may show a prompt.
    func prompting<R>(_ prompt: PromptText, _ body: () -> R) -> R {
        context.localizedReason = prompt.line
        context.localizedCancelTitle = prompt.cancelLabel
        context.localizedFallbackTitle = prompt.fallbacks.map { $0.first ?? "" }
        context.interactionNotAllowed = false
        defer { context.interactionNotAllowed = true }
        return body()
    }
}
