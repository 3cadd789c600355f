import Glibc

/// Formats an event as one line: no value can begin another line or look like another field.
enum LogLine {
    /// A value in quotes; quotes, backslashes and unprintable characters are escaped.
    static func quoted(_ value: String) -> String { "\"\(escaped(value, quotes: true))\"" }

    /// A text without quotes; unprintable characters are escaped.
    static func plain(_ value: String) -> String { escaped(value, quotes: false) }

    private static func escaped(_ value: String, quotes: Bool) -> String {
        var text = ""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\n": text += "\\n"
            case "\\" where quotes: text += "\\\\"
            case "\"" where quotes: text += "\\\""
            case " "..."~": text.unicodeScalars.append(scalar)
            default:
                if isPrintable(scalar) {
                    text.unicodeScalars.append(scalar)
                } else {
                    text += "\\u{\(String(scalar.value, radix: 16))}"
                }
            }
        }
        return text
    }

    /// Letters, marks, digits, punctuation and symbols; no control, format or line-separator characters.
    private static func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
        guard !scalar.properties.isDefaultIgnorableCodePoint else { return false }
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .spaceSeparator, .surrogate, .privateUse,
            .unassigned:
            return false
        default: return true
        }
    }

    /// The current time, UTC, to the microsecond.
    static func timestamp() -> String {
        var now = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &now)
        var seconds = now.tv_sec
        var parts = unsafe tm()
        unsafe gmtime_r(&seconds, &parts)
        let date = unsafe "\(parts.tm_year + 1900)-\(padded(parts.tm_mon + 1))-\(padded(parts.tm_mday))"
        let time = unsafe "\(padded(parts.tm_hour)):\(padded(parts.tm_min)):\(padded(parts.tm_sec))"
        return "\(date)T\(time).\(padded(CInt(now.tv_nsec / 1000), 6))Z"
    }

    private static func padded(_ number: CInt, _ digits: Int = 2) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, digits - text.count)) + text
    }
}
