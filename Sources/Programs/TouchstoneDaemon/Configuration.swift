import Desk
import KeychainModel
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
    /// `sensor NAME`: the grades of sensors.
    var sensors = SensorTable()
    /// `backup-require`: what writing a backup requires.
    var backupRequirement = BackupRequirement.either
    /// `lock-on`: what locks the keychain besides the user.
    var lockOn = LockTriggers()

    /// `names-while-locked`: whether a locked keychain hides the names of secrets that it does not release.
    var hidesNamesWhileLocked = false

    /// `trust`: where a passcode that was typed on a terminal makes a touch alone count.
    var trust = TerminalTrust.terminal

    /// `keep-reads`: the days for which it is recorded which program got which secret; 0 for not at all.
    var keepsReads = Duration.seconds(30 * 86_400)

    /// The names of the settings.
    enum Key: String, CaseIterable {
        case idleExit = "idle-exit"
        case pinentryProgram = "pinentry-program"
        case logLevel = "log-level"
        case biometry = "biometry"
        case tpm = "tpm"
        case backupRequire = "backup-require"
        case lockOn = "lock-on"
        case namesWhileLocked = "names-while-locked"
        case trust = "trust"
        case keepReads = "keep-reads"
    }

    /// The default settings.
    init() {}

    /// Reads the settings of a file.
    init(_ settings: [Setting]) throws(Setting.Fault) {
        for setting in settings { try set(setting) }
    }

    private mutating func set(_ setting: Setting) throws(Setting.Fault) {
        if try sensors.take(setting) { return }
        guard let key = Key(rawValue: setting.key) else {
            throw setting.fault(
                setting.key.hasPrefix("test.")
                    ? "is a setting of touchstoned-testing, which is for tests alone" : "is not a setting"
            )
        }
        switch key {
        case .idleExit:
            let seconds = try setting.number(in: 0...604_800)
            idleExit = seconds == 0 ? nil : .seconds(seconds)
        case .pinentryProgram: pinentryProgram = try setting.path()
        case .logLevel:
            guard let level = Logger.Level(rawValue: setting.value) else {
                let known = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")
                throw setting.fault("must be one of \(known)")
            }
            logLevel = level
        case .biometry: usesBiometry = try Self.isOn(setting)
        case .tpm: usesTPM = try Self.isOn(setting)
        case .backupRequire:
            guard let requirement = BackupRequirement(rawValue: setting.value) else {
                throw setting.fault("must be either, passcode or none")
            }
            backupRequirement = requirement
        case .lockOn: lockOn = try LockTriggers(setting)
        case .namesWhileLocked:
            guard ["listed", "hidden"].contains(setting.value) else {
                throw setting.fault("must be listed or hidden")
            }
            hidesNamesWhileLocked = setting.value == "hidden"
        case .trust:
            guard let trust = TerminalTrust(rawValue: setting.value) else {
                throw setting.fault("must be terminal or session")
            }
            self.trust = trust
        case .keepReads: keepsReads = .seconds(86_400 * (try setting.number(in: 0...3650)))
        }
    }

    private static func isOn(_ setting: Setting) throws(Setting.Fault) -> Bool {
        guard setting.value == "on" || setting.value == "off" else {
            throw setting.fault("must be on or off")
        }
        return setting.value == "on"
    }
}
