import Foundation

/// Prints what happens, one line per step, with the time of each.
struct Transcript: ~Copyable {
    private let start = ContinuousClock.now
    private var stepStart = ContinuousClock.now
    private var number = 0

    /// Announces a step, and times it until ``done(_:)``.
    mutating func step(_ title: String) {
        number += 1
        stepStart = .now
        write("\(Self.padded("\(number).", 4))\(title)")
    }

    /// Prints the result of the step.
    mutating func done(_ result: String) {
        let seconds = Self.seconds(ContinuousClock.now - stepStart)
        write("    → \(result)  (\(seconds))")
        stepStart = .now
    }

    /// Quotes the output of a command.
    func quote(_ text: String) {
        for line in text.split(whereSeparator: \.isNewline) { write("      \(line)") }
    }

    /// Ends the transcript with the total time.
    func end(_ words: String) { write("\n\(words)  (\(Self.seconds(ContinuousClock.now - start)) in all)") }

    private func write(_ line: String) {
        FileHandle.standardOutput.write(Data((line + "\n").utf8))
    }

    private static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }

    private static func seconds(_ duration: Duration) -> String {
        duration.formatted(.units(allowed: [.seconds], width: .abbreviated, fractionalPart: .show(length: 2)))
    }
}

/// An unexpected result, which ends the demo.
struct Surprise: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
