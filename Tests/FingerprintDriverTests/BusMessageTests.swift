import FingerprintDriver
import MessageBus
import Testing
import TouchstoneTesting

@Suite("D-Bus messages")
struct BusMessageTests {
    /// Sends arguments over a real bus to a peer that returns them.
    private func echo(_ arguments: [BusValue]) async throws -> [BusValue] {
        let bus = try await PrivateBus.start(sensors: [])
        let mirror = try await BusPeer(address: bus.address) { BusPeer.Answer($0.arguments) }
        try await mirror.own("org.example.Mirror")
        let peer = try await BusPeer(address: bus.address)
        defer {
            Task {
                await mirror.close()
                await peer.close()
                await bus.stop()
            }
        }
        let target = Bus.Target("org.example.Mirror", "/", "org.example.Mirror")
        return try await peer.call(target, "Echo", arguments)
    }

    @Test("values of every type arrive unchanged")
    func everyKind() async throws {
        let values: [BusValue] = [
            .byte(255), .boolean(true), .int32(-1), .uint32(.max), .int64(.min), .uint64(.max), .double(-0.5),
            .string("ü"), .objectPath("/a/b"), .signature("a{sv}"), .strings([]), .strings(["a", "b"]),
            .structure([.boolean(false), .array(of: "{ss}", [.entry(.string("k"), .string("v"))])]),
            .array(of: "{sv}", [.entry(.string("finger-present"), .variant(.boolean(true)))]),
            .variant(.variant(.string("in two"))),
        ]
        #expect(try await echo(values) == values)
    }

    @Test("too many values and too deeply nested ones are refused by the reader")
    func limits() async throws {
        let wide = [BusValue.strings(Array(repeating: "x", count: 5000))]
        await #expect(throws: BusError.self) { try await echo(wide) }
        var deep = BusValue.byte(1)
        for _ in 0..<20 { deep = .variant(deep) }
        await #expect(throws: BusError.self) { try await echo([deep]) }
    }

    @Test("a property is found by its exact name only")
    func properties() {
        let changed = BusValue.array(
            of: "{sv}",
            [
                .entry(.string("finger-needed"), .variant(.boolean(false))),
                .entry(.string("finger-present"), .variant(.boolean(true))),
            ]
        )
        #expect(changed.property("finger-present")?.truth == true)
        #expect(changed.property("finger") == nil)
        #expect(BusValue.string("finger-present").property("finger-present") == nil)
    }
}
