import Glibc
import KeychainClient
import KeychainModel
import PinentryDriver
import SecretMemory
import Threads

/// One prompt, from the daemon's request to the user's answer.
final class DrawnBox: Sendable {
    private let number: UInt64
    private let keychain: RemoteKeychain
    private let task = Guarded<(task: Task<Void, Never>?, isUnwanted: Bool)>((nil, false))
    private let outcome = Guarded<AgentAnswer.Outcome?>(nil)

    init(_ number: UInt64, _ keychain: RemoteKeychain) {
        self.number = number
        self.keychain = keychain
    }

    /// Draws the prompt and waits for its end, which the loss of the daemon also causes; the terminal is then restored.
    func draw(
        _ box: borrowing AgentBox,
        at origin: PromptOrigin,
        by prompter: PinentryPrompter
    ) -> AgentAnswer {
        guard BlockingThread.start({ [self] in takeAwayOnceUnwanted() }) == 0,
            BlockingThread.start({ [self] in confirmWhenChecked(at: origin, by: prompter) }) == 0
        else {
            return AgentAnswer(
                number: number,
                outcome: .failed(PromptError(.prompterFailed, detail: "no thread"))
            )
        }
        let isOver = Semaphore()
        let secret = SharedSecret(box)
        let prompt = prompt(of: box)
        let task = Task { [self] in
            await ask(prompt, showing: secret, at: origin, by: prompter)
            isOver.signal()
        }
        let isUnwanted = self.task.withLock { state in
            state.task = task
            return state.isUnwanted
        }
        if isUnwanted { task.cancel() }
        isOver.wait()
        let outcome =
            self.outcome.withLock { $0.take() }
            ?? .failed(PromptError(.prompterFailed, detail: "no answer"))
        return AgentAnswer(number: number, outcome: outcome)
    }

    /// Removes the prompt; it ends as dismissed.
    func takeAway() {
        task.withLock { state in
            state.isUnwanted = true
            return state.task
        }?.cancel()
    }

    private func takeAwayOnceUnwanted() {
        // An error means that the daemon has exited, which also withdraws the prompt.
        try? keychain.waitUntilBoxIsUnwanted(number)
        takeAway()
    }

    /// Tells the daemon that the prompt is still shown whenever it wants to know, which a stopped process cannot; a prompt
    /// whose program is stopped is removed instead.
    private func confirmWhenChecked(at origin: PromptOrigin, by prompter: PinentryPrompter) {
        do throws(KeychainError) {
            while true {
                try keychain.waitUntilBoxIsChecked(number)
                guard task.withLock({ !$0.isUnwanted }) else { return }
                guard stillShows(at: origin, by: prompter) else { return takeAway() }
                try keychain.boxIsShown(ShownBox(number, at: nil))
            }
        } catch {
            // The prompt has ended, or the daemon has exited.
        }
    }

    private func stillShows(at origin: PromptOrigin, by prompter: PinentryPrompter) -> Bool {
        let (isOver, isShown) = (Semaphore(), Guarded(false))
        Task {
            let shown = await prompter.stillShows(at: origin)
            isShown.withLock { $0 = shown }
            isOver.signal()
        }
        isOver.wait()
        return isShown.withLock { $0 }
    }

    private func ask(
        _ prompt: Prompt,
        showing secret: SharedSecret?,
        at origin: PromptOrigin,
        by prompter: PinentryPrompter
    ) async {
        do throws(PromptError) {
            let answer: PromptAnswer
            if let secret {
                // A prompt that shows a secret does not report that it is shown, and no other request waits for its
                // channel.
                try? keychain.boxIsShown(ShownBox(number, at: nil))
                answer = try await prompter.show(secret.octets, in: prompt, at: origin)
            } else {
                answer = try await prompter.ask(prompt, at: origin) { [keychain, number] channel in
                    try? keychain.boxIsShown(ShownBox(number, at: channel()?.identity))
                }
            }
            put(.answered(answer))
        } catch {
            put(.failed(error))
        }
    }

    private func put(_ value: consuming sending AgentAnswer.Outcome) {
        var value: AgentAnswer.Outcome? = value
        outcome.withLock { $0 = value.take() }
    }

    /// The prompt, with a judge that asks the daemon if it has a rule for new secrets.
    private func prompt(of box: borrowing AgentBox) -> Prompt {
        var prompt = box.prompt
        guard let rule = box.rule else { return prompt }
        let (keychain, number) = (keychain, number)
        prompt.judge = NewSecretJudge(rule: rule) { octets in
            guard let secret = try? SecretBytes(lockedCopy: octets),
                let verdict = try? keychain.judge(AgentDraft(number: number, secret: secret))
            else {
                return NewSecretJudge.Verdict(percent: 0, refusal: "It cannot be judged now. Try again.")
            }
            return verdict
        }
        return prompt
    }
}

/// A secret that the prompt and the task share.
private final class SharedSecret: Sendable {
    let octets: SecretBytes

    /// Takes the secret of a prompt; nil for a prompt that asks for input.
    init?(_ box: borrowing AgentBox) {
        switch box.secret {
        case .some(let secret): octets = secret.copy()
        case .none: return nil
        }
    }
}

/// Lets the main thread, which is not part of Swift's pool, wait for a task.
@safe
private final class Semaphore: @unchecked Sendable {  // sem_overview(7): made for threads
    private let semaphore: UnsafeMutablePointer<sem_t>

    init() {
        unsafe semaphore = .allocate(capacity: 1)
        unsafe sem_init(semaphore, 0, 0)
    }

    deinit {
        unsafe sem_destroy(semaphore)
        unsafe semaphore.deallocate()
    }

    func signal() { unsafe sem_post(semaphore) }

    func wait() { while unsafe sem_wait(semaphore) != 0 {} }
}
