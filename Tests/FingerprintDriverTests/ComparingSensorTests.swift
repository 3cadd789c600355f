import FingerprintDriver
import KeychainModel
import Testing
import TouchstoneTesting

@Suite("Sensors that verify a single finger")
struct ComparingSensorTests {
    @Test("a real sensor is asked for every enrolled finger before it is no match")
    func realSensor() async throws {
        let bus = try await PrivateBus.start(sensors: [.text])
        let enroller = Enroller(bus, sensor: .text)
        try await enroller.enrol(print: "alpha", as: "left-thumb")
        try await enroller.enrol(print: "beta", as: "right-thumb")
        let reader = FprintReader(busAddress: bus.busAddress, templateDirectory: nil)
        let hand = VirtualReader(bus, sensor: .text)
        for (print, verdict) in [("alpha", FingerprintVerdict.match), ("beta", .match), ("nobody", .noMatch)]
        {
            let claim = try await reader.claim()
            let heard = HeardStatuses()
            let task = Task { try await claim.verify { heard.hear($0) } }
            try await heard.wait(for: .armed)
            try await hand.scan(print)
            if print != "alpha" {
                try await heard.wait(for: .armed, times: 2)
                try await hand.scan(print)
            }
            #expect(try await task.value == verdict)
            await claim.release()
        }
        await bus.stop()
    }

    @Test("the next finger is named, also if its name follows the status")
    func namesTheFinger() async throws {
        let bus = try await PrivateBus.start(sensors: [])
        let fprintd = try await ScriptedFprintd.start(
            on: bus,
            .init(
                sensors: [.init(fingers: ["left-thumb", "right-thumb", "right-little-finger"])],
                verifications: [
                    .init([.noMatch, .fingerSelected("right-thumb")]),
                    .init([.fingerSelected("left-thumb"), .noMatch]),
                    .init([.match]),
                ]
            )
        )
        let reader = FprintReader(busAddress: bus.busAddress, templateDirectory: nil)
        let result = try await reader.verify { _ in }
        #expect(result.verdict == .match)
        #expect(
            result.heard == [.armed, .finger("left-thumb"), .armed, .finger("right-little-finger"), .armed]
        )
        #expect(
            fprintd.calls == [
                "Claim", "VerifyStart any", "VerifyStop", "VerifyStart left-thumb", "VerifyStop",
                "VerifyStart right-little-finger", "VerifyStop", "Release",
            ]
        )
        await bus.stop()
    }

    @Test("a sensor that identifies is asked once")
    func identifyingSensor() async throws {
        let bus = try await PrivateBus.start(sensors: [])
        let fprintd = try await ScriptedFprintd.start(
            on: bus,
            .init(
                sensors: [.init(fingers: ["left-thumb", "right-thumb"])],
                verifications: [.init([.fingerSelected("any"), .noMatch])]
            )
        )
        let reader = FprintReader(busAddress: bus.busAddress, templateDirectory: nil)
        #expect(try await reader.verify { _ in }.verdict == .noMatch)
        #expect(fprintd.calls == ["Claim", "VerifyStart any", "VerifyStop", "Release"])
        await bus.stop()
    }
}
