import FingerprintDriver
import KeychainModel
import Testing
import TouchstoneTesting

/// The cells: every kind of network; NetworkManager absent, silent, of another user; the bus absent.
@Suite("The network as a place", .timeLimit(.minutes(20)))
struct NetworkManagerPlacesTests {
    private static func place(
        _ address: BusAddress
    ) async -> Result<NetworkPlace, PlaceError> {
        do throws(PlaceError) {
            return .success(try await NetworkManagerPlaces(busAddress: address).place())
        } catch {
            return .failure(error)
        }
    }

    @Test("a Wi-Fi network whose access point proves itself is a place, nothing else is")
    func networks() async throws {
        let bus = try await PrivateBus.start(sensors: [])
        let network = try await ScriptedNetworkManager(bus)
        func wireless(_ flags: UInt32, _ name: String = "home") -> ScriptedNetworkManager.Network {
            .wireless(profile: "p", name: name, rsnFlags: flags)
        }
        let home = try #require(NetworkPlace(profile: "p", name: Array("home".utf8)))
        // NM80211ApSecurityFlags: PSK, 802.1X, SAE and Suite B prove, OWE and WEP do not.
        for flags: UInt32 in [0x188, 0x288, 0x488, 0x2088] {
            await network.move(to: wireless(flags))
            #expect(await Self.place(bus.busAddress) == .success(home), "\(flags)")
        }
        for flags: UInt32 in [0, 0x88, 0x888, 0x1000] {
            await network.move(to: wireless(flags))
            #expect(await Self.place(bus.busAddress) == .failure(.open), "\(flags)")
        }
        for name in ["", String(repeating: "x", count: 33)] {
            await network.move(to: wireless(0x188, name))
            #expect(await Self.place(bus.busAddress) == .failure(.notWireless), "\(name.utf8.count) bytes")
        }
        await network.move(to: .wired)
        #expect(await Self.place(bus.busAddress) == .failure(.notWireless))
        await network.move(to: .none)
        #expect(await Self.place(bus.busAddress) == .failure(.noConnection))
        await network.stop()
        #expect(await Self.place(bus.busAddress) == .failure(.noNetworkManager))
    }

    @Test("NetworkManager counts only from the user of the system's services, and within a time")
    func peers() async throws {
        let bus = try await PrivateBus.start(sensors: [])
        let network = try await ScriptedNetworkManager(bus, .secured("home"))
        let others = BusAddress.testing(bus.address, ownerUserID: 4711)
        #expect(await Self.place(others) == .failure(.noNetworkManager))
        await network.stop()
        let silent = try await BusPeer(address: bus.address) { _ in
            var answer = BusPeer.Answer()
            answer.reply = nil
            return answer
        }
        try await silent.own(NetworkManager.busName)
        let places = NetworkManagerPlaces(busAddress: bus.busAddress, callTimeout: .milliseconds(200))
        await #expect(throws: PlaceError.noNetworkManager) { try await places.place() }
        await silent.close()
        #expect(
            await Self.place(.testing("unix:path=/nonexistent/bus")) == .failure(.noNetworkManager)
        )
    }
}
