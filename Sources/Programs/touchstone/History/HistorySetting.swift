import ArgumentParser
import KeychainModel

/// Which values are kept after a change: the setting of a keychain, which it holds itself.
struct HistorySetting: Equatable {
    /// The bounds of both numbers.
    static let values = 1...100
    static let days = 1...3650

    /// What is kept if only one of the two numbers is given.
    static let usual = HistorySetting(keep: 10, days: 30)

    /// The most values of one name.
    var keep: Int
    /// For how many days each is kept.
    var days: Int

    /// The item that holds it: without a secret, so that it is read without a prompt.
    static let attributes: ItemAttributes = [
        .service: .string("touchstone.settings"), .account: .string("history"),
    ]

    /// The stored text, `KEEP DAYS`.
    var text: String { "\(keep) \(days)" }

    init(keep: Int, days: Int) {
        self.keep = keep
        self.days = days
    }

    /// Reads the stored text; nil for any other.
    init?(text: String) {
        let words = text.split(separator: " ").map { Int($0) }
        guard words.count == 2, let keep = words[0], let days = words[1], Self.values.contains(keep),
            Self.days.contains(days)
        else { return nil }
        self.init(keep: keep, days: days)
    }

    /// The setting in words.
    var sentence: String {
        let values = keep == 1 ? "The last value" : "The last \(keep) values"
        return "\(values) of each secret that is replaced or deleted \(keep == 1 ? "is" : "are") kept for "
            + "\(days == 1 ? "a day" : "\(days) days")."
    }

    /// The end of what is kept from a time on; both in microseconds since 1970.
    func end(from time: Int64) -> Int64 { time + Int64(days) * 86_400_000_000 }
}
