package import KeychainModel
import MessageBus

/// NetworkManager's names on the bus (`org.freedesktop.NetworkManager`, version 1.0 and later).
package enum NetworkManager {
    /// The bus name.
    package static let busName = "org.freedesktop.NetworkManager"
    /// The path of the manager.
    package static let path = "/org/freedesktop/NetworkManager"
    /// The interface of the manager.
    package static let managerInterface = busName
    /// The interface of an active connection.
    package static let connectionInterface = "org.freedesktop.NetworkManager.Connection.Active"
    /// The interface of an access point.
    package static let accessPointInterface = "org.freedesktop.NetworkManager.AccessPoint"
    /// The type of a connection over Wi-Fi.
    package static let wirelessType = "802-11-wireless"
    /// The flags of `NM80211ApSecurityFlags` for methods by which the access point proves itself: `KEY_MGMT_PSK`,
    /// `KEY_MGMT_802_1X`, `KEY_MGMT_SAE` and `KEY_MGMT_EAP_SUITE_B_192`; not `KEY_MGMT_OWE`, which only encrypts.
    static let provingFlags: UInt32 = 0x100 | 0x200 | 0x400 | 0x2000
}

/// Tells the network by NetworkManager's primary connection: the Wi-Fi network and the profile with its secret.
///
/// Each question is a connection of its own: it is asked only when credentials are to be changed.
package struct NetworkManagerPlaces: PlaceReader {
    private let busAddress: BusAddress
    private let callTimeout: Duration

    /// Describes where to ask.
    ///
    /// - Parameters:
    ///   - busAddress: the bus that NetworkManager is on, whose owner has to be that of the bus's other services.
    ///   - callTimeout: how long each call may wait for its reply.
    package init(busAddress: BusAddress, callTimeout: Duration = .seconds(2)) {
        self.busAddress = busAddress
        self.callTimeout = callTimeout
    }

    package func place() async throws(PlaceError) -> NetworkPlace {
        try await Question().place(busAddress, callTimeout)
    }
}

/// One question; its actor is confined to the thread of its bus.
private actor Question {
    private let executor = BusExecutor()
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    func place(_ address: BusAddress, _ callTimeout: Duration) async throws(PlaceError) -> NetworkPlace {
        let answer: Result<NetworkPlace, PlaceError>
        do throws(BusError) {
            let bus = try Bus(
                address: try address.resolved(),
                executor: executor,
                callTimeout: callTimeout,
                onMessage: { _, _ in false },
                onClosed: {}
            )
            defer { bus.close() }
            answer = try await place(bus, ownedBy: address.ownerUserID)
        } catch {
            throw .noNetworkManager
        }
        return try answer.get()
    }

    private func place(
        _ bus: Bus,
        ownedBy userID: UInt32
    ) async throws(BusError) -> Result<NetworkPlace, PlaceError> {
        guard
            let owner = try await bus.call(.bus, "GetNameOwner", [.string(NetworkManager.busName)]).first?
                .text,
            try await bus.call(.bus, "GetConnectionUnixUser", [.string(owner)]).first == .uint32(userID)
        else { return .failure(.noNetworkManager) }
        func read(_ path: String, _ interface: String, _ name: String) async throws(BusError) -> BusValue? {
            let target = Bus.Target(owner, path, propertiesInterface)
            return try await bus.call(target, "Get", [.string(interface), .string(name)]).first?.content
        }
        let manager = NetworkManager.managerInterface
        guard let connection = try await read(NetworkManager.path, manager, "PrimaryConnection")?.text,
            connection != "/"
        else { return .failure(.noConnection) }
        func active(_ name: String) async throws(BusError) -> String? {
            try await read(connection, NetworkManager.connectionInterface, name)?.text
        }
        guard try await active("Type") == NetworkManager.wirelessType,
            let accessPoint = try await active("SpecificObject"), accessPoint != "/"
        else { return .failure(.notWireless) }
        let interface = NetworkManager.accessPointInterface
        var flags: UInt32 = 0
        for name in ["WpaFlags", "RsnFlags"] {
            if case .uint32(let value)? = try await read(accessPoint, interface, name) { flags |= value }
        }
        guard flags & NetworkManager.provingFlags != 0 else { return .failure(.open) }
        guard let name = try await read(accessPoint, interface, "Ssid")?.octets,
            let profile = try await active("Uuid"),
            let place = NetworkPlace(
                profile: profile,
                name: name.plain
            )
        else { return .failure(.notWireless) }
        return .success(place)
    }
}
