import FingerprintDriver
import MessageBus
import SecretMemory

/// A peer that owns NetworkManager's name and has one connection, or none.
package actor ScriptedNetworkManager {
    /// The present connection.
    package enum Network: Sendable, Equatable {
        /// None.
        case none
        /// A cable.
        case wired
        /// A Wi-Fi network by its profile and name, with the flags of its access point (`RsnFlags`).
        case wireless(profile: String, name: String, rsnFlags: UInt32)

        /// A network with a password (WPA2: `PAIR_CCMP`, `GROUP_CCMP`, `KEY_MGMT_PSK`).
        package static func secured(_ name: String, profile: String? = nil) -> Network {
            .wireless(profile: profile ?? "uuid-\(name)", name: name, rsnFlags: 0x188)
        }
    }

    private let peer: BusPeer
    private let network: Guarded<Network>
    private static let connection = NetworkManager.path + "/ActiveConnection/1"
    private static let accessPoint = NetworkManager.path + "/AccessPoint/7"

    /// Takes NetworkManager's name.
    package init(_ bus: PrivateBus, _ network: Network = .none) async throws {
        let shared = Guarded(network)
        self.network = shared
        peer = try await BusPeer(address: bus.address) { call in
            guard call.member == "Get", let name = call.arguments.last?.text else { return nil }
            guard let value = Self.property(call.path, name, shared.withLock { $0 }) else {
                return BusPeer.Answer(error: "org.freedesktop.DBus.Error.UnknownProperty")
            }
            return BusPeer.Answer([.variant(value)])
        }
        try await peer.own(NetworkManager.busName)
    }

    /// Moves to another network.
    package func move(to network: Network) { self.network.withLock { $0 = network } }

    /// Disconnects from the bus.
    package func stop() async { await peer.close() }

    private static func property(_ path: String, _ name: String, _ network: Network) -> BusValue? {
        switch (path, name, network) {
        case (NetworkManager.path, "PrimaryConnection", .none): .objectPath("/")
        case (NetworkManager.path, "PrimaryConnection", _): .objectPath(connection)
        case (connection, "Type", .wired): .string("802-3-ethernet")
        case (connection, "Type", .wireless): .string(NetworkManager.wirelessType)
        case (connection, "SpecificObject", .wireless): .objectPath(accessPoint)
        case (connection, "Uuid", .wireless(let profile, _, _)): .string(profile)
        case (accessPoint, "WpaFlags", .wireless): .uint32(0)
        case (accessPoint, "RsnFlags", .wireless(_, _, let flags)): .uint32(flags)
        case (accessPoint, "Ssid", .wireless(_, let name, _)):
            .octets(BusOctets(SecretBytes(copying: Array(name.utf8))))
        default: nil
        }
    }
}
