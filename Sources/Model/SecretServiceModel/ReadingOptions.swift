package import KeychainModel

/// How the gesture for reading an item is asked for, beside what its access control requires: the user's choice, which its programs
/// cannot change.
package struct ReadingOptions: Sendable, Equatable {
    /// The longest window.
    package static let longestWindow = 15 * 60
    static let key = AttributeKey(rawValue: "fs:reading")

    /// For how many seconds one gesture counts for the program, for any number of reads; nil for 10 seconds and 3 reads.
    package var window: Int?
    /// Whether a read waits for the gesture: for programs that read without unlocking.
    package var waits: Bool

    /// Describes the options; without arguments, the usual ones.
    package init(window: Int? = nil, waits: Bool = false) {
        self.window = window
        self.waits = waits
    }

    /// Reads the options of an item; what cannot be read is the usual, which is the strictest.
    init(_ attributes: ItemAttributes) {
        self.init()
        guard case .string(let text)? = attributes[Self.key] else { return }
        for word in text.split(separator: " ") {
            let parts = word.split(separator: "=", maxSplits: 1)
            switch (parts[0], parts.count == 2 ? Int(parts[1]) : nil) {
            case ("window", let seconds?) where (1...Self.longestWindow).contains(seconds): window = seconds
            case ("wait", nil): waits = true
            default: break
            }
        }
    }

    /// The stored form, for the attribute ``key``: `window=600 wait`.
    package var stored: AttributeValue {
        .string(((window.map { ["window=\($0)"] } ?? []) + (waits ? ["wait"] : [])).joined(separator: " "))
    }

    /// The attribute with ``stored``.
    package var attributes: ItemAttributes { [Self.key: stored] }
}
