import Logging

/// The daemon's settings.
///
/// No setting replaces a part of the machine by another one: settings for that (`test.…`) exist only in
/// `touchstoned-testing`.
struct Configuration: Sendable, Equatable {
    /// `idle-exit`: seconds without a client after which the daemon exits, unless it is unlocked; 0 for never.
    var idleExit: Duration? = .seconds(300)
    /// `pinentry-program`: the program that draws the prompts; must be owned by root.
    var pinentryProgram: String?
    /// `log-level`.
    var logLevel = Logger.Level.notice
    /// `biometry`: whether the sensor is used.
    var usesBiometry = true
    /// `tpm`: whether the machine's TPM is used.
    var usesTPM = true

    /// The default settings.
    init() {}

    /// Reads the settings of a file.
    init(_ settings: [Setting]) throws(Setting.Fault) {
        for setting in settings { try set(setting) }
    }

    private mutating func set(_ setting: Setting) throws(Setting.Fault) {
        switch setting.key {
        case "idle-exit":
            let seconds = try setting.number(in: 0...604_800)
            idleExit = seconds == 0 ? nil : .seconds(seconds)
        case "pinentry-program": pinentryProgram = try setting.path()
        case "log-level":
            guard let level = Logger.Level(rawValue: setting.value) else {
                let known = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")
                throw setting.fault("must be one of \(known)")
            }
            logLevel = level
        case "biometry": usesBiometry = try Self.isOn(setting)
        case "tpm": usesTPM = try Self.isOn(setting)
        case let key where key.hasPrefix("test."):
            throw setting.fault("is a setting of touchstoned-testing, which is for tests alone")
        default: throw setting.fault("is not a setting")
        }
    }

    private static func isOn(_ setting: Setting) throws(Setting.Fault) -> Bool {
        guard setting.value == "on" || setting.value == "off" else {
            throw setting.fault("must be on or off")
        }
        return setting.value == "on"
    }
}
