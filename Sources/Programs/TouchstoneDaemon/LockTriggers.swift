/// What locks the keychain besides the user's own `lock`: the setting `lock-on`.
struct LockTriggers: Sendable, Equatable {
    /// `screen`: the user's last unlocked screen is locked, or the last session ends.
    var screen = true
    /// `sleep`: the machine is about to sleep.
    var sleep = true
    /// `idle N UNIT`: the time without a request that used an unlocked key; nil for no such limit.
    var idle: Duration?

    /// The longest idle time: 7 days.
    private static let longestIdle = 604_800
    /// Seconds in each unit.
    private static let units = ["s": 1, "min": 60, "h": 3600]
    private static let syntax =
        "must be never, or a list of screen, sleep and idle with a time, for example screen, sleep, idle 15 min"

    /// The default: screen and sleep.
    init() {}

    /// Parses the setting: words between commas, each at most once, or `never` alone.
    init(_ setting: Setting) throws(Setting.Fault) {
        (screen, sleep) = (false, false)
        guard setting.value != "never" else { return }
        for part in setting.value.split(separator: ",", omittingEmptySubsequences: false) {
            let words = part.split(whereSeparator: \.isWhitespace)
            switch (words.first, words.count) {
            case ("screen", 1):
                guard !screen else { throw setting.fault("names screen twice") }
                screen = true
            case ("sleep", 1):
                guard !sleep else { throw setting.fault("names sleep twice") }
                sleep = true
            case ("idle", 3):
                guard idle == nil else { throw setting.fault("names idle twice") }
                idle = try Self.time(words[1], words[2], of: setting)
            case ("never", 1): throw setting.fault("cannot combine never with anything else")
            default: throw setting.fault(Self.syntax)
            }
        }
    }

    private static func time(
        _ number: Substring,
        _ unit: Substring,
        of setting: Setting
    ) throws(Setting.Fault) -> Duration {
        guard let factor = units[String(unit)], number.utf8.count <= 6,
            number.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let count = Int(number)
        else { throw setting.fault("idle takes a whole number and s, min or h, for example idle 15 min") }
        guard (1...longestIdle).contains(count * factor) else {
            throw setting.fault("idle takes a time from 1 s to 168 h")
        }
        return .seconds(count * factor)
    }
}
