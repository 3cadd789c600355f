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
    }

    /// The sensor to use: the only one; of several, the first by name that knows a finger of the user.
    ///
    /// `GetDevices` has no order that stays, and `GetDefaultDevice` is its first: it decides only where
    /// nothing is enrolled anywhere.
    nonisolated(nonsending) func choose(user: String) async throws(FingerprintError) -> Choice {
        guard let paths = try await call("GetDevices").first?.texts else {
            throw FingerprintError(.internal, message: "GetDevices")
        }
        var choices: [Choice] = []
        for path in paths.prefix(Self.deviceLimit) {
            let device = FprintDevice(bus: bus, owner: owner, path: path)
            choices.append(try await device.choice(user: user))
        }
        choices.sort { ($0.name, $0.device.path) < ($1.name, $1.device.path) }
        if let choice = choices.first(where: { !$0.fingers.isEmpty }) { return choice }
        guard choices.count > 1 else {
            guard let choice = choices.first else { throw FingerprintError(.noSuchDevice) }
            return choice
        }
        let standard = try await call("GetDefaultDevice").first?.text
        return choices.first { $0.device.path == standard } ?? choices[0]
    }

    /// More sensors than anybody has.
    private static let deviceLimit = 16

    private nonisolated(nonsending) func call(_ method: String) async throws(FingerprintError) -> [BusValue] {
        do throws(BusError) {
            return try await bus.call(
                Bus.Target(owner, Fprint.managerPath, Fprint.managerInterface),
                method
            )
        } catch {
            throw FingerprintError(error)
        }
    }
}
