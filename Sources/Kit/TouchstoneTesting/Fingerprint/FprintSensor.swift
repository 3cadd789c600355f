import FingerprintDriver
import MessageBus

/// A sensor of the fprintd on a private bus, as another client sees it.
struct FprintSensor {
    let peer: BusPeer
    let path: String

    /// Finds a virtual sensor by its name.
    static func find(_ sensor: PrivateBus.Sensor, _ peer: BusPeer) async throws -> FprintSensor {
        let manager = Bus.Target(Fprint.busName, Fprint.managerPath, Fprint.managerInterface)
        let paths = try await peer.call(manager, "GetDevices").first?.texts ?? []
        for path in paths {
            let found = FprintSensor(peer: peer, path: path)
            if try await found.property("name").text == sensor.deviceName { return found }
        }
        throw TestKitError.unexpected("fprintd has no \(sensor.deviceName)")
    }

    /// The property `finger-needed`.
    func isFingerNeeded() async throws -> Bool { try await property("finger-needed").truth ?? false }

    private func property(_ name: String) async throws -> BusValue {
        let target = Bus.Target(Fprint.busName, path, propertiesInterface)
        let reply = try await peer.call(target, "Get", [.string(Fprint.deviceInterface), .string(name)])
        guard let value = reply.first?.content else { throw TestKitError.unexpected("property \(name)") }
        return value
    }

    /// Calls a method of the sensor.
    @discardableResult
    func call(_ method: String, _ arguments: [BusValue] = []) async throws -> [BusValue] {
        try await peer.call(Bus.Target(Fprint.busName, path, Fprint.deviceInterface), method, arguments)
    }
}
