/// A time until the keychain locks, as users write it: a whole number and a unit.
public enum LockTime {
    /// The longest time, in seconds: 7 days.
    public static let longest = 604_800

    /// Why a text is no such time.
    public enum Fault: Error, Sendable, Equatable {
        /// Not a whole number and `s`, `min` or `h`.
        case malformed
        /// Not from 1 second to 168 hours.
        case outOfRange
    }

    private static let units: [Substring: Int] = ["s": 1, "min": 60, "h": 3600]

    /// The seconds of a time such as `90 s`, `15min` or `1 h`.
    public static func seconds(_ text: some StringProtocol) throws(Fault) -> Int {
        let text = Substring(text)
        let number = text.prefix { ("0"..."9").contains($0) }
        let unit = text[number.endIndex...].drop { $0 == " " || $0 == "\t" }
        guard let factor = units[unit], number.utf8.count <= 6, let count = Int(number) else {
            throw .malformed
        }
        guard (1...longest).contains(count * factor) else { throw .outOfRange }
        return count * factor
    }
}
