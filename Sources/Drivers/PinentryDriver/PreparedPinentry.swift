import KeychainModel
import SecretMemory

/// A prompter whose program for the first prompt is already running; destroying it ends an unused program.
final class PreparedPinentry: SecretPrompter {
    private struct Start {
        let origin: PromptOrigin
        let order: PinentryOrder
        let conversation: PinentryConversation
    }

    private let prompter: PinentryPrompter
    private let start: Guarded<Start?>

    /// Starts the program; nil if no descriptor or thread is left for it.
    init?(_ prompter: PinentryPrompter, at origin: PromptOrigin) {
        guard let order = try? PinentryOrder(),
            let conversation = try? prompter.start(
                at: origin,
                { exchange throws(PromptError) in
                    exchange.start()
                    guard let box = exchange.next(order) else { throw PromptError(.dismissed) }
                    return try exchange.run(box.prompt, whenShown: box.whenShown)
                }
            )
        else { return nil }
        self.prompter = prompter
        start = Guarded(Start(origin: origin, order: order, conversation: conversation))
    }

    deinit { start.withLock { $0?.conversation.cancel() } }

    func checkCanPrompt(at origin: PromptOrigin) async throws(PromptError) -> Set<PromptChannel> {
        try await prompter.checkCanPrompt(at: origin)
    }

    func showWait(at origin: PromptOrigin, for other: PromptOrigin) -> (@Sendable () -> Void)? {
        prompter.showWait(at: origin, for: other)
    }

    func ask(
        _ prompt: Prompt,
        at origin: PromptOrigin,
        whenShown: @escaping @Sendable (() -> PromptChannel?) -> Void
    ) async throws(PromptError) -> PromptAnswer {
        let usable = start.withLock { start in start?.origin == origin ? start.take() : nil }
        guard let usable else { return try await prompter.ask(prompt, at: origin, whenShown: whenShown) }
        usable.order.place(PinentryOrder.Content(prompt: prompt, whenShown: whenShown))
        return try await usable.conversation.answer()
    }

    func show(
        _ secret: borrowing SecretBytes,
        in prompt: Prompt,
        at origin: PromptOrigin
    ) async throws(PromptError) -> PromptAnswer {
        try await prompter.show(secret, in: prompt, at: origin)
    }
}

/// The content of a prompt, which the prompt's thread waits for.
final class PinentryOrder: Sendable {
    /// The content of the prompt.
    struct Content: Sendable {
        let prompt: Prompt
        let whenShown: @Sendable (() -> PromptChannel?) -> Void
    }

    private let placed: ThreadSignal
    private let content = Guarded<Content?>(nil)

    init() throws(PromptError) { placed = try ThreadSignal() }

    /// Provides the content; called once.
    func place(_ content: Content) {
        self.content.withLock { $0 = content }
        placed.raise()
    }

    /// Waits for the content; nil if `cancel` is raised first.
    func wait(unless cancel: ThreadSignal) -> Content? {
        placed.wait(or: cancel)
        return cancel.isRaised ? nil : content.withLock { $0 }
    }
}
