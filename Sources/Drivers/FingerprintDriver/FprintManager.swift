import KeychainModel

/// The manager of one fprintd: which sensors there are, and which one is meant.
struct FprintManager {
    /// The connection that the calls go over.
    let bus: Bus
    /// The unique name of fprintd.
    let owner: String

    /// A sensor with what is enrolled on it.
    struct Choice {
        /// The sensor.
        let device: FprintDevice
        /// Its property `name`.
        let name: String
        /// fprintd's names of the enrolled fingers, sorted.
        let fingers: [String]
        /// Its property `scan-type`; nil where it does not tell.
        let scanType: String?
    }

    /// The sensor to use: the only one; of several, the first by name that knows a finger of the user.
    ///
    /// `GetDevices` has no order that stays, and `GetDefaultDevice` is its first: it decides only where
    /// nothing is enrolled anywhere.
    ///
    /// - Parameters:
    ///   - user: whose fingers.
    ///   - known: the sensors of the last time, which are asked before it is known that they are still these.
    /// - Returns: the sensor, and all that there are.
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

    /// More sensors than anybody has.
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
