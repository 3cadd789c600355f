internal import Glibc
internal import Synchronization

/// The value of the field `Date` of responses (RFC 9110, section 6.6.1), formatted once a second.
enum DateField {
    private static let current = Mutex((second: 0, text: ""))

    /// The value now.
    static var text: String {
        let second = time(nil)
        return current.withLock { current in
            if current.second != second { current = (second, UTCTime(seconds: second).httpDate) }
            return current.text
        }
    }
}
