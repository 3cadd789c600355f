import Glibc

/// Dates and durations in words.
enum DateText {
    /// ISO 8601 in UTC, to the second: `2026-11-21T14:52:36Z`.
    static func iso8601(microseconds: Int64) -> String {
        let (day, second) = floorDivide(floorDivide(microseconds, 1_000_000).quotient, 86_400)
        let (year, month, dayOfMonth) = civil(day)
        let date = "\(pad(year, 4))-\(pad(month, 2))-\(pad(dayOfMonth, 2))"
        return "\(date)T\(pad(second / 3600, 2)):\(pad(second / 60 % 60, 2)):\(pad(second % 60, 2))Z"
    }

    /// In the user's local time: `2026-11-21 15:52`.
    static func local(microseconds: Int64) -> String {
        var seconds = time_t(floorDivide(microseconds, 1_000_000).quotient)
        // The zone's name is a C pointer.
        var parts = unsafe tm()
        guard unsafe localtime_r(&seconds, &parts) != nil else { return iso8601(microseconds: microseconds) }
        let (year, month, day) = unsafe (parts.tm_year, parts.tm_mon, parts.tm_mday)
        let (hour, minute) = unsafe (parts.tm_hour, parts.tm_min)
        return "\(pad(Int64(year) + 1900, 4))-\(pad(Int64(month) + 1, 2))-\(pad(Int64(day), 2)) "
            + "\(pad(Int64(hour), 2)):\(pad(Int64(minute), 2))"
    }

    /// `45 s`, `12 min`, `2 h 5 min`; rounded up, so that waiting this long is enough.
    static func duration(seconds: Int64) -> String {
        if seconds < 120 { return "\(max(0, seconds)) s" }
        let minutes = (seconds + 59) / 60
        if minutes < 60 { return "\(minutes) min" }
        return minutes % 60 == 0 ? "\(minutes / 60) h" : "\(minutes / 60) h \(minutes % 60) min"
    }

    /// The Gregorian date of a day counted from 1970-01-01; years start in March, so that leap days come last.
    private static func civil(_ day: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let (era, dayOfEra) = floorDivide(day + 719_468, 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * marchMonth + 2) / 5 + 1)
    }

    private static func floorDivide(_ number: Int64, _ divisor: Int64) -> (quotient: Int64, rest: Int64) {
        let (quotient, rest) = number.quotientAndRemainder(dividingBy: divisor)
        return rest < 0 ? (quotient - 1, rest + divisor) : (quotient, rest)
    }

    private static func pad(_ number: Int64, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
