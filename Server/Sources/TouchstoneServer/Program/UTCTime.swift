internal import Foundation
internal import Glibc

/// A time in UTC, as texts of protocols.
struct UTCTime: Sendable {
    private let year, month, day, weekday, hour, minute, second: Int
    private let milliseconds: Int

    /// The current time.
    static var now: UTCTime {
        // Not by timespec, whose members belong to another module when Swift's libraries are linked statically.
        let milliseconds = Int(Date().timeIntervalSince1970 * 1000)
        return UTCTime(seconds: milliseconds / 1000, milliseconds: milliseconds % 1000)
    }

    /// A time as seconds since 1970, and milliseconds of the second.
    init(seconds: Int, milliseconds: Int = 0) {
        var seconds = seconds
        var parts = tm()
        gmtime_r(&seconds, &parts)
        (year, month, day) = (Int(parts.tm_year) + 1900, Int(parts.tm_mon) + 1, Int(parts.tm_mday))
        (hour, minute, second) = (Int(parts.tm_hour), Int(parts.tm_min), Int(parts.tm_sec))
        weekday = Int(parts.tm_wday)
        self.milliseconds = milliseconds
    }

    /// The form of RFC 3339, with milliseconds: `2026-11-28T08:49:37.250Z`.
    var rfc3339: String {
        "\(year)-\(padded(month))-\(padded(day))T\(padded(hour)):\(padded(minute)):\(padded(second))."
            + "\(padded(milliseconds, 3))Z"
    }

    /// The form of HTTP (RFC 9110, section 5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`.
    var httpDate: String {
        "\(Self.weekdays[weekday]), \(padded(day)) \(Self.months[month - 1]) \(year) "
            + "\(padded(hour)):\(padded(minute)):\(padded(second)) GMT"
    }

    private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    private func padded(_ number: Int, _ digits: Int = 2) -> String {
        let text = "\(number)"
        return String(repeating: "0", count: max(0, digits - text.count)) + text
    }
}
