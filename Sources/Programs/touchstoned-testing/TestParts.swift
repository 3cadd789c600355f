import BrokerDriver
import FingerprintDriver
import KeychainEngine
import PinentryDriver
import Primitives
import TouchstoneDaemon

/// Parts that replace the real ones: the settings that start with `test.`.
struct TestParts {
    private static let prefix = "test."

    /// The parts of the daemon.
    private(set) var daemonParts = DaemonParts()
    private var busAddress: String?
    private var busOwnerUserID: UInt32 = 0
    private var brokerSocket = BrokerAddress().path
    private var brokerOwner = BrokerAddress().owner
    private var brokerPatience = BrokerAddress().patience

    /// Removes the settings for tests from a configuration.
    init(takingFrom settings: inout [Setting]) throws(Setting.Fault) {
        for setting in settings where setting.key.hasPrefix(Self.prefix) { try take(setting) }
        settings.removeAll { $0.key.hasPrefix(Self.prefix) }
        if let busAddress { daemonParts.bus = .testing(busAddress, ownerUserID: busOwnerUserID) }
        daemonParts.broker = BrokerAddress(path: brokerSocket, owner: brokerOwner, patience: brokerPatience)
        // libfprint's virtual sensors, of which no driver's table says anything, and the kit's.
        daemonParts.acceptedSensors = [
            "Virtual image device for debugging", "Virtual device for debugging",
            "Virtual device with storage and identification for debugging", "Scripted sensor",
        ]
        // A daemon for tests even without any of the settings.
        daemonParts.areForTests = true
    }

    private mutating func take(_ setting: Setting) throws(Setting.Fault) {
        switch setting.key {
        case "test.tpm":
            guard setting.value.hasPrefix("swtpm:path=/") else {
                throw setting.fault("must be swtpm:path= and the absolute path of a socket")
            }
            daemonParts.tpm = setting.value
        case "test.system-bus-address":
            guard !setting.value.isEmpty else { throw setting.fault("is empty") }
            busAddress = setting.value
        case "test.bus-owner-uid": busOwnerUserID = UInt32(try setting.number(in: 0...Int(UInt32.max) - 1))
        case "test.scrypt-log2-rounds":
            daemonParts.derivation = PasscodeDerivation.Cost(
                roundsExponent: try setting.number(in: 1...22),
                blockSize: 8,
                parallelism: 1
            )
        case "test.pinentry-program":
            daemonParts.pinentry = .testing(try setting.path())
            daemonParts.agentPinentry = try setting.path()
        case "test.door-group":
            daemonParts.doorGroup = UInt32(try setting.number(in: 0...Int(UInt32.max) - 1))
        case "test.agent-group":
            daemonParts.agentGroup = UInt32(try setting.number(in: 0...Int(UInt32.max) - 1))
        case "test.clock-offset-file": daemonParts.clock = OffsetClock(file: try setting.path())
        case "test.broker-socket": brokerSocket = try setting.path()
        case "test.broker-uid": brokerOwner = UInt32(try setting.number(in: 0...Int(UInt32.max) - 1))
        // Seconds; long values for a busy machine.
        case "test.broker-patience": brokerPatience = try setting.number(in: 1...600)
        case "test.template-directory": daemonParts.templateDirectory = try setting.path()
        case "test.access-group-directory": daemonParts.accessGroupDirectory = try setting.path()
        case "test.sensor-table": daemonParts.sensorTable = try setting.path()
        case "test.groups-in-section":
            daemonParts.groupsInSection = try setting.number(in: 1...1_000_000)
        case "test.most-items": daemonParts.mostItems = try setting.number(in: 1...1_000_000)
        case "test.wrong-answer":
            guard let operation = KnownAnswers.Operation(rawValue: setting.value) else {
                throw setting.fault("names no operation")
            }
            daemonParts.knownAnswers[operation][0] ^= 1
        // Seconds; no test takes a day.
        case "test.idle-delay": daemonParts.delays.idle = try Self.delay(setting)
        case "test.sweep-delay": daemonParts.delays.sweep = try Self.delay(setting)
        case "test.purge-delay": daemonParts.delays.purge = try Self.delay(setting)
        default: throw setting.fault("is not a setting")
        }
    }
    private static func delay(_ setting: Setting) throws(Setting.Fault) -> Duration {
        .seconds(try setting.number(in: 0...86_400))
    }
}
