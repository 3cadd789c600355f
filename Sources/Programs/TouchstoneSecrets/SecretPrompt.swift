import KeychainClient
import MessageBus
import SecretMemory
import SecretServiceModel
import Threads

/// A prompt object of one client: shown once, and completed exactly once.
final class SecretPrompt: Sendable {
    private enum Stage {
        case waiting
        case shown
        case completed
    }

    /// How long a prompt may wait to be shown.
    static let longestWait = Duration.seconds(60)
    /// How long it may be shown; the daemon's own limits are shorter.
    static let longestShow = Duration.seconds(120)

    let path: String
    /// What `Completed` carries if the prompt is dismissed.
    private let nothing: BusValue
    private let owner: String
    private let shared: SecretsShared
    private let perform: @Sendable (Cancellation) throws(BusFault) -> BusValue
    private let onEnd: @Sendable (String) -> Void
    private let cancellation = Cancellation()
    private let stage = Guarded(Stage.waiting)

    /// Prepares a prompt.
    ///
    /// - Parameters:
    ///   - owner: the unique name of the only client that may use it.
    ///   - shared: where its end is posted.
    ///   - nothing: the result of a dismissed prompt, which has the type of a real one.
    ///   - perform: asks the user on a thread that may block, and returns the result.
    ///   - onEnd: called with the path when it is completed.
    init(
        owner: String,
        shared: SecretsShared,
        nothing: BusValue,
        perform: @escaping @Sendable (Cancellation) throws(BusFault) -> BusValue,
        onEnd: @escaping @Sendable (String) -> Void
    ) {
        path = SecretObject.prompt(Hexadecimal.text(RandomBytes.array(count: 16))).path
        self.owner = owner
        self.shared = shared
        self.nothing = nothing
        self.perform = perform
        self.onEnd = onEnd
        Task { [weak self] in
            try? await Task.sleep(for: Self.longestWait)
            self?.dismissIfWaiting()
        }
    }

    /// Shows the prompt; the client gets its result as a signal.
    ///
    /// - Throws: ``BusFault`` if it was shown before.
    func show() throws(BusFault) {
        let isFirst = stage.withLock { stage in
            guard case .waiting = stage else { return false }
            stage = .shown
            return true
        }
        guard isFirst else { throw .failed("the prompt was shown before") }
        let isStarted = BlockingThread.start { [self] in
            do throws(BusFault) {
                complete(isDismissed: false, try perform(cancellation))
            } catch {
                complete(isDismissed: true, nothing)
            }
        }
        guard isStarted == 0 else {
            complete(isDismissed: true, nothing)
            return
        }
        Task { [weak self] in
            try? await Task.sleep(for: Self.longestShow)
            self?.cancellation.cancel()
        }
    }

    /// Dismisses the prompt: takes it from the screen if it is shown.
    func dismiss() {
        if !dismissIfWaiting() { cancellation.cancel() }
    }

    /// Ends the prompt of a client that has gone; nobody is told.
    func abandon() {
        stage.withLock { $0 = .completed }
        cancellation.cancel()
        onEnd(path)
    }

    @discardableResult
    private func dismissIfWaiting() -> Bool {
        // In one step: it must not be shown between.
        complete(isDismissed: true, nothing, onlyIf: .waiting)
    }

    /// Completes the prompt, if it is not completed; or only if it is at a stage.
    ///
    /// - Returns: false if it was completed before, or is not at that stage.
    @discardableResult
    private func complete(isDismissed: Bool, _ result: BusValue, onlyIf wanted: Stage? = nil) -> Bool {
        let isFirst = stage.withLock { stage in
            guard stage != .completed, stage == wanted ?? stage else { return false }
            stage = .completed
            return true
        }
        guard isFirst else { return false }
        onEnd(path)
        shared.post(
            .signal(
                path: path,
                interface: SecretNames.prompt,
                member: "Completed",
                [.boolean(isDismissed), .variant(result)],
                destination: owner
            )
        )
        return true
    }
}
