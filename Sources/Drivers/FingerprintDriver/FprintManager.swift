import KeychainModel
import MessageBus

/// The manager object of one fprintd: lists the sensors and chooses one.
struct FprintManager {
    /// The connection that the calls go over.
    let bus: Bus
    /// The unique name of fprintd.
    let owner: String

    /// A sensor with its enrolled fingers.
    struct Choice {
        /// The sensor.
        let device: FprintDevice
        /// Its property `name`.
        let name: String
        /// fprintd's names of the enrolled fingers, sorted.
        let fingers: [String]
        /// Its property `scan-type`; nil if fprintd does not report it.
        let scanType: String?
    }

    /// Chooses the sensor: the only one; of several, the first by name with an enrolled finger of the user.
    ///
    /// `GetDevices` has no stable order, and `GetDefaultDevice` returns its first: it decides only if nothing is
    /// enrolled on any sensor.
    ///
    /// - Parameters:
    ///   - user: the owner of the fingers.
    ///   - known: the sensors of the last call, which are queried before `GetDevices` confirms them.
    /// - Returns: the chosen sensor, and the paths of all sensors.
    /// - Throws: ``FingerprintError``; `noSuchDevice` without a sensor.
    nonisolated(nonsending) func choose(
        user: String,
        known: [String]
    ) async throws(FingerprintError) -> (choice: Choice, sensors: [String]) {
        let listing = begin("GetDevices")
        var inquiries = known.map { device($0).inquire(user: user) }
        guard let paths = try await reply(to: listing).first?.texts else {
            throw FingerprintError(.internal, message: "GetDevices")
        }
        let sensors = Array(paths.sorted().prefix(Self.deviceLimit))
        if sensors != known { inquiries = sensors.map { device($0).inquire(user: user) } }
        var choices: [Choice] = []
        for inquiry in inquiries { choices.append(try await inquiry.choice()) }
        return (try await choose(from: choices), sensors)
    }

    private nonisolated(nonsending) func choose(
        from choices: [Choice]
    ) async throws(FingerprintError) -> Choice {
        var choices = choices
        choices.sort { ($0.name, $0.device.path) < ($1.name, $1.device.path) }
        if let choice = choices.first(where: { !$0.fingers.isEmpty }) { return choice }
        guard choices.count > 1 else {
            guard let choice = choices.first else { throw FingerprintError(.noSuchDevice) }
            return choice
        }
        let standard = try await reply(to: begin("GetDefaultDevice")).first?.text
        return choices.first { $0.device.path == standard } ?? choices[0]
    }

    /// More sensors than any real machine has.
    private static let deviceLimit = 16

    private func device(_ path: String) -> FprintDevice { FprintDevice(bus: bus, owner: owner, path: path) }

    private func begin(_ method: String) -> BusCall {
        bus.begin(Bus.Target(owner, Fprint.managerPath, Fprint.managerInterface), method)
    }

    private nonisolated(nonsending) func reply(
        to call: BusCall
    ) async throws(FingerprintError) -> [BusValue] {
        do throws(BusError) {
            return try await call.reply()
        } catch {
            throw FingerprintError(error)
        }
    }
}
