/// Sits at a terminal and does what a script says: when this is drawn, press that.
///
/// ```swift
/// let person = ScriptedPerson(.sees("Passcode:", types: "correct horse"))
/// async let done: Void = person.sit(at: terminal)
/// ```
package struct ScriptedPerson: Sendable {
    /// What to press when a text is drawn.
    package struct Rule: Sendable {
        /// The text to wait for.
        package var text: String
        /// What to press then.
        package var keys: [PseudoTerminal.Key]
        /// How often.
        package var times: Int

        /// Types a text and presses enter.
        package static func sees(_ text: String, types answer: String, times: Int = 1) -> Rule {
            Rule(text: text, keys: [.text(answer), .enter], times: times)
        }

        /// Presses keys.
        package static func sees(
            _ text: String,
            presses keys: PseudoTerminal.Key...,
            times: Int = 1
        ) -> Rule {
            Rule(text: text, keys: keys, times: times)
        }
    }

    private let rules: [Rule]

    /// Takes the rules; of several whose text is drawn, the first that was drawn goes first.
    package init(_ rules: Rule...) { self.rules = rules }

    /// Follows the rules until each was followed as often as it says, or the task is cancelled.
    ///
    /// - Throws: ``TerminalError`` when nothing of what is waited for is drawn in time.
    package func sit(at terminal: PseudoTerminal, timeout: Duration = Deadline.patience) async throws {
        var left = rules.filter { $0.times > 0 }
        while !left.isEmpty {
            let index = try await terminal.wait(forAnyOf: left.map(\.text), timeout: timeout)
            terminal.press(left[index].keys)
            left[index].times -= 1
            left.removeAll { $0.times == 0 }
        }
    }
}
