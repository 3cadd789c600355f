public import Glibc
public import KeychainModel
public import SecretMemory
import Synchronization
import Threads

/// Draws boxes with a pinentry program, on the terminal or the display that a request came from.
///
/// Each box has a program and a thread of its own, and both have ended when ``ask(_:at:whenShown:)`` returns.
///
/// ```swift
/// let prompter = PinentryPrompter()
/// let answer = try await prompter.ask(prompt, at: origin) { armTheSensor() }
/// ```
public struct PinentryPrompter: SecretPrompter {
    private let program: PinentryProgram
    private let user: uid_t
    private let environment: PinentryEnvironment

    /// Prepares a prompter; nothing is started before it is asked for.
    ///
    /// - Parameters:
    ///   - program: what draws.
    ///   - user: the owner that a request's terminal must have.
    ///   - environment: the session that a program on a display finds its services with.
    public init(
        program: PinentryProgram = PinentryProgram(),
        user: uid_t = geteuid(),
        environment: PinentryEnvironment = .current
    ) {
        self.program = program
        self.user = user
        self.environment = environment
    }

    /// Whether a box could be shown for a request from there.
    public func checkCanPrompt(at origin: PromptOrigin) async throws(PromptError) {
        let isTerminalEnough = try PinentryExchange(
            program,
            at: origin,
            user: user,
            environment: environment,
            cancel: CancelSignal()
        ).hasTerminal
        // Only the program itself knows about a display.
        if isTerminalEnough { return }
        _ = try await onThread(at: origin) { exchange throws(PromptError) in
            try exchange.check()
            return .confirmed
        }
    }

    /// Shows a box and waits for its end.
    public func ask(
        _ prompt: Prompt,
        at origin: PromptOrigin,
        whenShown: @escaping @Sendable () -> Void
    ) async throws(PromptError) -> PromptAnswer {
        let description = PromptDescription(of: prompt).line + [UInt8(ascii: "\n")]
        return try await onThread(at: origin) { exchange throws(PromptError) in
            try exchange.run(
                PinentryCommands(for: prompt),
                for: prompt,
                description: SecretBytes(copying: description),
                whenShown: whenShown
            )
        }
    }

    /// Shows a secret below the prompt's text, with one button.
    public func show(
        _ secret: borrowing SecretBytes,
        in prompt: Prompt,
        at origin: PromptOrigin
    ) async throws(PromptError) -> PromptAnswer {
        guard let line = PromptDescription.line(of: prompt, showing: secret) else {
            throw PromptError(.prompterFailed, detail: "a secret of this length cannot be shown")
        }
        return try await onThread(at: origin) { exchange throws(PromptError) in
            try exchange.run(
                PinentryCommands(for: prompt, showsSecret: true),
                for: prompt,
                description: line,
                whenShown: {}
            )
        }
    }

    /// Lets a conversation run on a thread of its own; cancelling the task ends it.
    private func onThread(
        at origin: PromptOrigin,
        _ talk: @escaping @Sendable (inout PinentryExchange) throws(PromptError) -> PromptAnswer
    ) async throws(PromptError) -> PromptAnswer {
        let cancel = try CancelSignal()
        let conversation: @Sendable () throws(PromptError) -> PromptAnswer = { () throws(PromptError) in
            if cancel.isRaised { throw PromptError(.dismissed) }
            var exchange = try PinentryExchange(
                program,
                at: origin,
                user: user,
                environment: environment,
                cancel: cancel
            )
            return try talk(&exchange)
        }
        let outcome = Outcome()
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let failure = BlockingThread.start {
                    outcome.set(conversation)
                    continuation.resume()
                }
                guard failure != 0 else { return }
                let reason = SystemError.name(of: failure)
                outcome.put(.failure(PromptError(.prompterFailed, detail: "no thread: \(reason)")))
                continuation.resume()
            }
        } onCancel: {
            cancel.raise()
        }
        return try outcome.take()
    }
}

/// Carries an answer, which cannot be copied, from the thread to the task.
private final class Outcome: Sendable {
    private let result = Mutex<Result<PromptAnswer, PromptError>?>(nil)

    func set(_ body: () throws(PromptError) -> PromptAnswer) {
        do {
            let answer = Result<PromptAnswer, PromptError>.success(try body())
            put(answer)
        } catch {
            put(.failure(error))
        }
    }

    /// Takes the answer; called once, after it was set.
    func take() throws(PromptError) -> PromptAnswer {
        guard let value = result.withLock({ $0.take() }) else {
            throw PromptError(.prompterFailed, detail: "no answer")
        }
        return try value.get()
    }

    func put(_ value: consuming sending Result<PromptAnswer, PromptError>) {
        var value: Result<PromptAnswer, PromptError>? = value
        result.withLock { $0 = value.take() }
    }
}
