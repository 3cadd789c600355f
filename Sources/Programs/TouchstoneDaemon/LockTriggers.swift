import KeychainModel

extension LockTriggers {
    private static let syntax =
        "must be never, or a list of screen, sleep, lid and idle with a time, for example screen, sleep, idle 15 min"

    /// Parses the setting: words between commas, each at most once, or `never` alone.
    init(_ setting: Setting) throws(Setting.Fault) {
        self.init(screen: false, sleep: false)
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
            case ("lid", 1):
                guard !lid else { throw setting.fault("names lid twice") }
                lid = true
            case ("idle", 3):
                guard idle == nil else { throw setting.fault("names idle twice") }
                idle = try Self.time("\(words[1]) \(words[2])", of: setting)
            case ("never", 1): throw setting.fault("cannot combine never with anything else")
            default: throw setting.fault(Self.syntax)
            }
        }
    }

    private static func time(_ text: String, of setting: Setting) throws(Setting.Fault) -> Duration {
        do throws(LockTime.Fault) {
            return .seconds(try LockTime.seconds(text))
        } catch {
            throw switch error {
            case .malformed:
                setting.fault("idle takes a whole number and s, min or h, for example idle 15 min")
            case .outOfRange: setting.fault("idle takes a time from 1 s to 168 h")
            }
        }
    }
}
