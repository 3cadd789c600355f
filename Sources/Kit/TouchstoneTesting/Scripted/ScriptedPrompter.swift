package import KeychainModel
package import SecretMemory

/// A prompter whose boxes the test answers.
///
/// ```swift
/// let prompter = ScriptedPrompter()
/// prompter.will(.type("wrong"), .type("correct horse"))
/// let box = await prompter.box(2)
/// #expect(box.error == "Wrong passcode. …")
/// ```
package final class ScriptedPrompter: SecretPrompter {
    /// What the person does at a box.
    package enum Deed: Sendable, Equatable {
        /// Types this text.
        case type(String)
        /// Types the secret that was shown last.
        case typeShown
        /// Presses the affirmative button.
        case confirm
        /// Presses the fallback button with this number.
        case fallback(Int = 0)
        /// Presses cancel.
        case cancel
        /// Does nothing until the prompt times out.
        case waitTooLong
        /// Shows no box: the program that draws fails.
        case fail(PromptError)
    }

    private struct State: Sendable {
        var boxes: [Prompt] = []
        var deeds: [Deed] = []
        var takenAway: Set<Int> = []
        var visible = 0
        var mostVisible = 0
        var shownSecret: [UInt8] = []
        var obstacle: PromptError?
        var waits: [String] = []
        var isLost = false
        var logins: [String: UInt32] = [:]
    }

    private let state = Watched(State())
    private let journal: Journal

    /// Creates a prompter whose person does nothing yet.
    ///
    /// - Parameter journal: records `box` and `box gone`.
    package init(journal: Journal = Journal()) {
        self.journal = journal
    }

    // MARK: For tests

    /// Queues deeds: the first for the present or next box, the following for one later box each.
    package func will(_ deeds: Deed...) {
        state.update { $0.deeds += deeds }
    }

    /// Removes the deeds that are not done yet.
    package func forget() {
        state.update { $0.deeds = [] }
    }

    /// Sets why no box can be shown from now on; nil when one can.
    package func obstruct(_ error: PromptError?) {
        state.update { $0.obstacle = error }
    }

    /// Whether boxes are lost from now on: whoever shows them no longer answers.
    package func lose(_ isLost: Bool) {
        state.update { $0.isLost = isLost }
    }

    /// Whether boxes are not lost.
    package func stillShows(at origin: PromptOrigin) async -> Bool { state.update { !$0.isLost } }

    /// Makes a terminal one of a login.
    package func put(_ terminal: String, in login: UInt32) { state.update { $0.logins[terminal] = login } }

    /// The login of a request's terminal.
    package func login(at origin: PromptOrigin, of user: UInt32) async -> UInt32? {
        origin.terminal.flatMap { terminal in state.update { $0.logins[terminal] } }
    }

    /// Waits until the box with this number, counted from 1, is shown.
    package func box(_ number: Int) async -> Prompt {
        await state.wait { $0.boxes.count >= number ? $0.boxes[number - 1] : nil }
    }

    /// All boxes so far.
    package var boxes: [Prompt] { state.update { $0.boxes } }

    /// The number of boxes shown now.
    package var visibleCount: Int { state.update { $0.visible } }

    /// The highest number of boxes shown at the same time.
    package var mostVisible: Int { state.update { $0.mostVisible } }

    /// The terminals that currently show a wait, each as `TERMINAL for TERMINAL`.
    package var waits: [String] { state.update { $0.waits } }

    /// The secret that was shown last.
    package var shownSecret: String { state.update { String(decoding: $0.shownSecret, as: UTF8.self) } }

    /// The channel of a request's box: the name of its terminal.
    package static func channel(of origin: PromptOrigin) -> PromptChannel? {
        origin.terminal.map { PromptChannel($0) }
    }

    // MARK: SecretPrompter

    /// Checks whether a box could be shown at `origin`; its channel is the terminal's name.
    @discardableResult
    package func checkCanPrompt(at origin: PromptOrigin) async throws(PromptError) -> Set<PromptChannel> {
        if let obstacle = state.update({ $0.obstacle }) { throw obstacle }
        return Set([Self.channel(of: origin)].compactMap { $0 })
    }

    /// Records that a terminal shows a wait.
    package func showWait(at origin: PromptOrigin, for other: PromptOrigin) -> (@Sendable () -> Void)? {
        guard let here = origin.terminal, let there = other.terminal, here != there else { return nil }
        let wait = "\(here) for \(there)"
        state.update { $0.waits.append(wait) }
        return { [state] in
            state.update { $0.waits.removeAll { $0 == wait } }
        }
    }

    /// Shows a box and waits for its end.
    package func ask(
        _ prompt: Prompt,
        at origin: PromptOrigin,
        whenShown: @escaping @Sendable (() -> PromptChannel?) -> Void
    ) async throws(PromptError) -> PromptAnswer {
        let deed = await put(prompt, at: origin, whenShown)
        switch deed {
        case .type(let text): return .entered(SecretBytes(copying: Array(text.utf8)))
        case .typeShown: return .entered(SecretBytes(copying: state.update { $0.shownSecret }))
        case .confirm: return .confirmed
        case .fallback(let index): return .fallback(index)
        case .cancel: return .cancelled
        case .waitTooLong: return .timedOut
        case .fail(let error): throw error
        }
    }

    /// Shows a secret once.
    package func show(
        _ secret: borrowing SecretBytes,
        in prompt: Prompt,
        at origin: PromptOrigin
    ) async throws(PromptError) -> PromptAnswer {
        let octets = secret.withOctets { octets in octets.indices.map { octets[$0] } }
        state.update { $0.shownSecret = octets }
        return try await ask(prompt, at: origin, whenShown: { _ in })
    }

    private func put(
        _ prompt: Prompt,
        at origin: PromptOrigin,
        _ whenShown: @Sendable (() -> PromptChannel?) -> Void
    ) async -> Deed {
        journal.note("box")
        let number = state.update { state in
            state.boxes.append(prompt)
            state.visible += 1
            state.mostVisible = max(state.mostVisible, state.visible)
            return state.boxes.count
        }
        whenShown { Self.channel(of: origin) }
        return await withTaskCancellationHandler {
            await state.wait { [journal] state -> Deed? in
                let deed: Deed
                if state.takenAway.contains(number) {
                    deed = .fail(PromptError(.dismissed))
                } else if !state.deeds.isEmpty {
                    deed = state.deeds.removeFirst()
                } else {
                    return nil
                }
                state.visible -= 1
                journal.note("box gone")
                return deed
            }
        } onCancel: {
            _ = state.update { $0.takenAway.insert(number) }
        }
    }
}
