package import BrokerDriver
package import FingerprintDriver
package import KeychainEngine
package import KeychainModel
package import PinentryDriver
package import Primitives

/// What the daemon is made of, as far as a test exchanges it.
///
/// The shipped program has the machine's own parts, and nothing in it reads the name of another one.
package struct DaemonParts: Sendable {
    /// Where fprintd and logind are.
    package var bus = BusAddress.system
    /// fprintd's templates.
    package var templateDirectory = "/var/lib/fprint"
    /// Who names callers and digests templates, in system mode.
    package var broker = BrokerAddress()
    /// The files of the administrator that grant access groups.
    package var accessGroupDirectory = "/etc/touchstone/access-groups.d"
    /// The administrator's table of sensors.
    package var sensorTable = "/etc/touchstone/sensors.conf"
    /// The clock that delays and the reuse of a success run on.
    package var clock: any BootClock = SystemBootClock()
    /// What draws the boxes; nil for what the settings name, or the system's.
    package var pinentry: PinentryProgram?
    /// The path of a program of tests that draws the boxes, for agents.
    package var agentPinentry: String?
    /// The group of agents, which then draw the boxes; nil for that of the system, in system mode alone.
    package var agentGroup: UInt32?
    /// A chip in the place of the machine's, in the form of `Tss2_TctiLdr_Initialize`.
    package var tpm: String?
    /// The cost of new keybags' derivation; nil measures it.
    package var derivation: PasscodeDerivation.Cost?
    /// How many groups of 16 items are proved together; nil for the engine's own number.
    package var groupsInSection: Int?
    /// How many items there may be; nil for as many as a keychain may have.
    package var mostItems: Int?
    /// What the crypto library has to give before anything is opened.
    package var knownAnswers = KnownAnswers.published
    /// When the engine does what nobody waits for.
    package var delays = BackgroundDelays()
    /// Whether the daemon is one of tests: its keybags are `test` for good, and it opens no others.
    package var areForTests = false

    /// The machine's own.
    package init() {}
}
