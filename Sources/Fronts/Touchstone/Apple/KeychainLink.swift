internal import Foundation
internal import LocalAuthentication

/// The way to the keychain of Apple's systems, of which a process has one.
///
/// All that this module wants of a system is asked of this type and of ``KeychainCalls``, in values of this module; nothing here
/// blocks its caller. The folder `Linux` has the same types for the daemon.
struct KeychainLink: Sendable {
    /// Who listens to what this process does.
    let process: ProcessListeners

    /// The keychain of the user who runs this program.
    static var current: KeychainLink { KeychainLink(process: .current) }

    /// Tells keychains apart.
    var identity: ObjectIdentifier { ObjectIdentifier(process) }

    /// A context in which nothing was shown yet, for what is asked for in it.
    func makeSession(for demand: Authenticators = []) -> PromptSession { PromptSession(self, demand) }

    /// Runs calls of the keychain, which block, on a thread of their own.
    ///
    /// Cancelling the task takes the prompt away, and so does the end of `timeout`; what is thrown then is `taskCancelled` or
    /// `timedOut`. What came to an end before that counts.
    ///
    /// - Parameters:
    ///   - prompt: What prompts say; nil: none may be shown.
    ///   - session: Where the user shows what items demand.
    ///   - timeout: When the prompt is taken away.
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

    /// Every call of the keychain's may wait here.
    func begin(_ key: String, _ access: StoreAccess, _ session: PromptSession?) -> BegunLookup? { nil }

    /// Tells those who listen what this process did.
    func tell(_ event: @autoclosure () -> SecurityEvent) { process.tell(event()) }

    /// Calls `listener` for what this process does; the system tells of nothing else.
    ///
    /// - Returns: what ends that.
    func listen(_ listener: @escaping @Sendable (SecurityEvent) -> Void) -> @Sendable () -> Void {
        process.add(listener)
    }
}

/// There is none: no call of the keychain's can be begun without waiting for its end.
enum BegunLookup: Sendable {
    func arrived() -> FoundSecret? { switch self {} }
    func secret(_ calls: KeychainCalls) throws(TouchstoneError) -> FoundSecret { switch self {} }
}

/// Those who listen to what this process does with its keychain.
final class ProcessListeners: Sendable {
    /// Those of the process; a test has some of its own for each keychain.
    @TaskLocal static var current = ProcessListeners()

    private struct State {
        var listeners: [UInt64: @Sendable (SecurityEvent) -> Void] = [:]
        var last: UInt64 = 0
    }

    private let state = Guarded(State())

    /// - Returns: what ends it.
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

/// Why a call was ended from this side, and the end itself.
private final class CallEnding: Sendable {
    private let session: PromptSession?
    private let first = Guarded<TouchstoneError.Code?>(nil)

    /// - Parameter session: What is ended with the call; nil for a call that shows nothing.
    init(_ session: PromptSession?) { self.session = session }

    /// The first reason; nil where there was none.
    var reason: TouchstoneError.Code? { first.withLock(\.self) }

    /// Ends the call, unless it was ended before.
    func end(_ reason: TouchstoneError.Code) {
        let isFirst = first.withLock { first in
            guard first == nil else { return false }
            first = reason
            return true
        }
        guard isFirst, let session else { return }
        // May wait for another process: whoever cancels a task does not.
        _ = WaitingThreads.shared.run { session.end() }
    }
}

/// What the user shows at one prompt, as the system keeps it: an `LAContext`.
final class PromptSession: @unchecked Sendable {  // a context may be used by any thread
    let link: KeychainLink
    let context = LAContext()
    /// What was asked for on its own; empty for what items ask for.
    private let demand: Authenticators
    private let hasEnded = Guarded(false)

    init(_ link: KeychainLink, _ demand: Authenticators) {
        self.link = link
        self.demand = demand
        context.interactionNotAllowed = true
    }

    /// Whether nothing can be shown in it any more.
    var isEnded: Bool { hasEnded.withLock(\.self) }

    /// Whether what was shown is what a rule demands, as far as the system tells which of a union it was.
    func meets(_ rule: AccessRule) -> Bool {
        switch rule.need {
        case .biometry: demand.haveBiometry && !demand.contains(.passcode)
        case .passcode: demand == .passcode
        case .biometryOrPasscode: !demand.isEmpty
        case .biometryAndPasscode: false
        case .whenUnlocked, .afterFirstUnlock: true
        }
    }

    /// Ends it: the system forgets what was shown, and takes its prompt away.
    func end() {
        hasEnded.withLock { $0 = true }
        context.invalidate()
    }

    /// Runs what may show a prompt.
    func prompting<R>(_ prompt: PromptText, _ body: () -> R) -> R {
        context.localizedReason = prompt.line
        context.localizedCancelTitle = prompt.cancelLabel
        context.localizedFallbackTitle = prompt.fallbackLabel
        context.interactionNotAllowed = false
        defer { context.interactionNotAllowed = true }
        return body()
    }
}
