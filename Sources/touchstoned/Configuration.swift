import Logging

/// The settings of the daemon: lines of `key = value`, `#` starts a comment.
struct Configuration: Sendable, Equatable {
    /// Parts that stand in for the real ones; any of them makes the assurance `test`.
    struct TestParts: Sendable, Equatable {
        /// `test.system-bus-address`.
        var systemBusAddress: String?
        /// `test.bus-owner-uid`: whose fprintd is believed on that bus.
        var busOwnerUserID: UInt32?
        /// `test.scrypt-log2-rounds`.
        var scryptLog2Rounds: Int?
        /// `test.pinentry-program`: may belong to anybody.
        var pinentryProgram: String?
        /// `test.template-directory`.
        var templateDirectory: String?
        /// `test.access-group-directory`: in the place of the administrator's.
        var accessGroupDirectory: String?
        /// `test.tpm`: a simulator, in the form of `Tss2_TctiLdr_Initialize`.
        var tpm: String?

        /// Whether any is used.
        var isUsed: Bool { self != TestParts() }
    }

    /// `idle-exit`: seconds without a client after which the daemon ends, unless it is unlocked; 0 for never.
    var idleExit: Duration? = .seconds(300)
    /// `pinentry-program`: what draws the boxes; must be root's.
    var pinentryProgram: String?
    /// `log-level`.
    var logLevel = Logger.Level.notice
    /// `biometry`: whether the sensor is used at all.
    var usesBiometry = true
    /// `tpm`: whether the machine's TPM is used at all.
    var usesTPM = true
    /// `test.…`.
    var testParts = TestParts()

    /// Why a text is no configuration.
    struct Fault: Error, Equatable {
        let line: Int
        let reason: String
    }

    /// The settings where there is no file.
    init() {}

    /// Reads the lines of a file.
    init(parsing text: String) throws(Fault) {
        var seen: Set<Substring> = []
        // The two octets of a line end from elsewhere are one character.
        let lines = text.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }
        for (index, line) in lines.enumerated() {
            let content = line.prefix { $0 != "#" }
            guard content.contains(where: { !$0.isWhitespace }) else { continue }
            let parts = content.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else {
                throw Fault(line: index + 1, reason: "not of the form key = value")
            }
            let key = Self.trimmed(parts[0])
            guard seen.insert(key).inserted else {
                throw Fault(line: index + 1, reason: "\(key) is set twice")
            }
            do throws(Reason) {
                try set(key, to: String(Self.trimmed(parts[1])))
            } catch {
                throw Fault(line: index + 1, reason: error.text)
            }
        }
    }

    private struct Reason: Error {
        let text: String
    }

    private mutating func set(_ key: Substring, to value: String) throws(Reason) {
        switch key {
        case "idle-exit":
            let seconds = try Self.number(value, in: 0...604_800, of: key)
            idleExit = seconds == 0 ? nil : .seconds(seconds)
        case "pinentry-program": pinentryProgram = try Self.path(value, of: key)
        case "log-level":
            guard let level = Logger.Level(rawValue: value) else {
                let known = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")
                throw Reason(text: "\(key) must be one of \(known)")
            }
            logLevel = level
        case "biometry":
            guard value == "on" || value == "off" else { throw Reason(text: "\(key) must be on or off") }
            usesBiometry = value == "on"
        case "tpm":
            guard value == "on" || value == "off" else { throw Reason(text: "\(key) must be on or off") }
            usesTPM = value == "on"
        case "test.tpm":
            guard value.hasPrefix("swtpm:path=/") else {
                throw Reason(text: "\(key) must be swtpm:path= and the absolute path of a socket")
            }
            testParts.tpm = value
        case "test.system-bus-address":
            guard !value.isEmpty else { throw Reason(text: "\(key) is empty") }
            testParts.systemBusAddress = value
        case "test.bus-owner-uid":
            testParts.busOwnerUserID = UInt32(try Self.number(value, in: 0...Int(UInt32.max) - 1, of: key))
        case "test.scrypt-log2-rounds":
            testParts.scryptLog2Rounds = try Self.number(value, in: 1...22, of: key)
        case "test.pinentry-program": testParts.pinentryProgram = try Self.path(value, of: key)
        case "test.template-directory": testParts.templateDirectory = try Self.path(value, of: key)
        case "test.access-group-directory":
            testParts.accessGroupDirectory = try Self.path(value, of: key)
        default: throw Reason(text: "\(key) is not a setting")
        }
    }

    private static func number(_ value: String, in range: ClosedRange<Int>, of key: Substring) throws(Reason)
        -> Int
    {
        guard value.allSatisfy({ ("0"..."9").contains($0) }), let number = Int(value), range.contains(number)
        else {
            throw Reason(
                text: "\(key) must be a whole number from \(range.lowerBound) to \(range.upperBound)"
            )
        }
        return number
    }

    private static func path(_ value: String, of key: Substring) throws(Reason) -> String {
        guard value.hasPrefix("/") else { throw Reason(text: "\(key) must be an absolute path") }
        return value
    }

    private static func trimmed(_ text: Substring) -> Substring {
        let start = text.drop { $0.isWhitespace }
        guard let last = start.lastIndex(where: { !$0.isWhitespace }) else { return "" }
        return start[...last]
    }
}
