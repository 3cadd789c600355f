/// A person at a terminal who follows rules: when this text appears, press these keys.
///
/// ```swift
/// let person = ScriptedPerson(.sees("Passcode:", types: "correct horse"))
/// async let done: Void = person.sit(at: terminal)
/// ```
package struct ScriptedPerson: Sendable {
    /// The keys to press when a text appears.
    package struct Rule: Sendable {
        /// The text to wait for.
        package var text: String
        /// The keys to press then.
        package var keys: [PseudoTerminal.Key]
        /// How many times the rule applies.
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

    /// Creates a person with rules; of several texts, the one that appeared first is handled first.
    package init(_ rules: Rule...) { self.rules = rules }

    /// Follows the rules until each was applied as often as it says, or the task is cancelled.
    ///
    /// - Throws: ``TerminalError`` when none of the expected texts appears in time.
    package func sit(at terminal: PseudoTerminal, timeout: Duration = Deadline.patience) async throws {
        var left = rules.filter { $0.times > 0 }
        while !left.isEmpty {
            let index = try await terminal.wait(forAnyOf: left.map(\.text), timeout: timeout)
            // Some programs turn the echo off after they have drawn.
            try await Task.sleep(for: TerminalScreen.reactionTime)
            terminal.press(left[index].keys)
            left[index].times -= 1
            left.removeAll { $0.times == 0 }
        }
    }
}
