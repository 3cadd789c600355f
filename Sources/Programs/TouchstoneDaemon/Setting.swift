/// One line `key = value` of a configuration; `#` starts a comment.
package struct Setting: Sendable, Equatable {
    /// The line number, counted from 1.
    package let line: Int
    package let key: String
    package let value: String

    /// Why a text is not a valid configuration.
    package struct Fault: Error, Equatable {
        package let line: Int
        package let reason: String
    }

    /// Parses a text's settings, in the order of their lines; each key may occur once.
    static func all(in text: String) throws(Fault) -> [Setting] {
        var settings: [Setting] = []
        var seen: Set<String> = []
        // A CR LF line end is a single character.
        let lines = text.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }
        for (index, line) in lines.enumerated() {
            let content = line.prefix { $0 != "#" }
            guard content.contains(where: { !$0.isWhitespace }) else { continue }
            let parts = content.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else {
                throw Fault(line: index + 1, reason: "not of the form key = value")
            }
            let setting = Setting(line: index + 1, key: trimmed(parts[0]), value: trimmed(parts[1]))
            guard seen.insert(setting.key).inserted else { throw setting.fault("is set twice") }
            settings.append(setting)
        }
        return settings
    }

    /// The fault that this setting is wrong: `reason` follows its key.
    package func fault(_ reason: String) -> Fault { Fault(line: line, reason: "\(key) \(reason)") }

    /// The value as a whole number.
    package func number(in range: ClosedRange<Int>) throws(Fault) -> Int {
        guard value.allSatisfy({ ("0"..."9").contains($0) }), let number = Int(value), range.contains(number)
        else { throw fault("must be a whole number from \(range.lowerBound) to \(range.upperBound)") }
        return number
    }

    /// The value as an absolute path.
    package func path() throws(Fault) -> String {
        guard value.hasPrefix("/") else { throw fault("must be an absolute path") }
        return value
    }

    private static func trimmed(_ text: Substring) -> String {
        let start = text.drop { $0.isWhitespace }
        guard let last = start.lastIndex(where: { !$0.isWhitespace }) else { return "" }
        return String(start[...last])
    }
}
