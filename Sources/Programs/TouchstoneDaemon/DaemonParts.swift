package import BrokerDriver
package import FingerprintDriver
package import KeychainEngine
package import KeychainModel
package import PinentryDriver
package import Primitives

/// The parts of the daemon that a test can replace.
///
/// The shipped program always uses the machine's own parts, and has no option that names others.
package struct DaemonParts: Sendable {
    /// The bus of fprintd and logind.
    package var bus = BusAddress.system
    /// The directory of fprintd's templates.
    package var templateDirectory = "/var/lib/fprint"
    /// The broker, which identifies callers and digests templates in system mode.
    package var broker = BrokerAddress()
    /// The directory of the administrator's files that grant access groups.
    package var accessGroupDirectory = "/etc/touchstone/access-groups.d"
    /// The administrator's table of sensors.
    package var sensorTable = "/etc/touchstone/sensors.conf"
    /// The sensors that are accepted without a grade if neither the administrator nor the settings grade them.
    package var acceptedSensors: [String] = []
    /// The clock for delays and for reusing a successful authentication.
    package var clock: any BootClock = SystemBootClock()
    /// The program that draws prompts; nil for the one in the settings, or the system's.
    package var pinentry: PinentryProgram?
    /// The path of a test program with which agents draw prompts.
    package var agentPinentry: String?
    /// The group of the agents that draw prompts; nil for the system's group, in system mode only.
    package var agentGroup: UInt32?
    /// The group of the door of the Secret Service; nil for the installed one.
    package var doorGroup: UInt32?
    /// The TPM to use instead of the machine's, in the syntax of `Tss2_TctiLdr_Initialize`.
    package var tpm: String?
    /// The derivation cost of new keybags; nil to measure it.
    package var derivation: PasscodeDerivation.Cost?
    /// The most groups of 16 items that are verified together; nil for the engine's default.
    package var groupsInSection: Int?
    /// The most items; nil for the keychain's own limit.
    package var mostItems: Int?
    /// The answers that the crypto library must give before anything is opened.
    package var knownAnswers = KnownAnswers.published
    /// The delays of the engine's background work.
    package var delays = BackgroundDelays()
    /// Whether this is a test daemon: its keybags are permanently marked `test`, and it opens no others.
    package var areForTests = false

    /// The machine's own parts.
    package init() {}
}
