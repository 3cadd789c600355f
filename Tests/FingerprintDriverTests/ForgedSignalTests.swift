import FingerprintDriver
import KeychainModel
import Testing
import TouchstoneTesting

@Suite("Forged signals")
struct ForgedSignalTests {
    @Test("a thousand forged matches at any time are ignored, and those that arrive are counted")
    func forgedMatches() async throws {
        let bus = try await PrivateBus.start(sensors: [])
        let fprintd = try await ScriptedFprintd.start(on: bus)
        let forger = try await SignalForger(bus)
        let forged = Counter()
        let reader = FprintReader(
            busAddress: bus.busAddress,
            templateDirectory: nil,
            onForgedSignal: { forged.add() }
        )
        let path = ScriptedFprintd.path()
        _ = try await reader.enrolment()
        try await forger.forge(.match, path: path, count: 250)

        let claim = try await reader.claim()
        try await forger.forge(.match, path: path, count: 250)
        let heard = HeardStatuses()
        let task = Task { try await claim.verify { heard.hear($0) } }
        try await heard.wait(for: .armed)
        try await forger.forge(.match, path: path, count: 250)
        try await forger.forge(.fingerPresent(true), path: path)
        // fprintd's own signal comes after all of them.
        try await fprintd.announce(.status("verify-retry-scan", done: false))
        try await heard.wait(for: .retry("verify-retry-scan"))
        #expect(heard.all == [.armed, .retry("verify-retry-scan")])

        try await fprintd.announce(.noMatch)
        #expect(try await task.value == .noMatch)
        try await forger.forge(.match, path: path, count: 250)
        await claim.release()
        _ = try await reader.enrolment()
        // Broadcast ones do not even arrive: the match rule names fprintd as the sender.
        #expect(forged.count == 1001)
        await bus.stop()
    }

    @Test("forged signals do not disturb a real verification")
    func realVerification() async throws {
        let bus = try await PrivateBus.start()
        let forger = try await SignalForger(bus)
        let finger = SyntheticFinger(1)
        try await Enroller(bus).enrol(finger)
        let reader = FprintReader(busAddress: bus.busAddress, templateDirectory: nil)
        let hand = VirtualReader(bus), stranger = SyntheticFinger(2).impression(0)
        let result = try await reader.verify { heard in
            try await heard.wait(for: .armed)
            for device in 0...3 {
                try await forger.forge(.match, path: "/net/reactivated/Fprint/Device/\(device)", count: 50)
            }
            try await hand.touch(stranger)
        }
        #expect(result.verdict == .noMatch)
        await bus.stop()
    }

    @Test("forged signals of fprintd's exit, of sleep and of an enrolment are ignored")
    func otherForgeries() async throws {
        let bus = try await PrivateBus.start(sensors: [])
        let fprintd = try await ScriptedFprintd.start(on: bus)
        let forger = try await SignalForger(bus)
        let forged = Counter()
        let reader = FprintReader(
            busAddress: bus.busAddress,
            templateDirectory: nil,
            onForgedSignal: { forged.add() }
        )
        let claim = try await reader.claim()
        let heard = HeardStatuses()
        let task = Task { try await claim.verify { heard.hear($0) } }
        try await heard.wait(for: .armed)
        try await forger.forgeOwnerChange()
        try await forger.forgeSleep()
        try await forger.forge(.enrolStatus("enroll-completed", done: true), path: ScriptedFprintd.path())
        try await fprintd.announce(.match)
        #expect(try await task.value == .match)
        await claim.release()
        #expect(try await reader.enrolment().completions == 0)
        #expect(forged.count == 3)
        await bus.stop()
    }
}
