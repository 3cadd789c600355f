import FingerprintDriver
import KeychainModel
import Testing
import TouchstoneTesting

/// From the announcement of sleep to the wake-up nothing is sent about a claim; then the sensor is stopped and released.
@Suite("Sleep with a scripted fprintd")
struct SleepTests {
    private func start() async throws -> (PrivateBus, ScriptedFprintd, ScriptedLogind, FprintReader) {
        let bus = try await PrivateBus.start(sensors: [])
        let fprintd = try await ScriptedFprintd.start(on: bus)
        let logind = try await ScriptedLogind(bus)
        return (bus, fprintd, logind, FprintReader(busAddress: bus.busAddress, templateDirectory: nil))
    }

    @Test("a verification ends at once, and the sensor is stopped and released after the wake-up")
    func armed() async throws {
        let (bus, fprintd, logind, reader) = try await start()
        var changes = await reader.changes().makeAsyncIterator()
        let claim = try await reader.claim()
        let heard = HeardStatuses()
        let task = Task { try await claim.verify { heard.hear($0) } }
        try await heard.wait(for: .armed)
        try await logind.prepareForSleep()
        await #expect(throws: FingerprintError(.suspended)) { try await task.value }
        #expect(await changes.next() == .suspend)

        // Nobody gets the sensor meanwhile, and letting go of it has to wait.
        await #expect(throws: FingerprintError(.suspended)) { try await claim.verify { _ in } }
        await #expect(throws: FingerprintError(.suspended)) { try await reader.claim() }
        await claim.release()
        await reader.allowSleep()
        try await logind.waitUntilNotDelayed()
        #expect(fprintd.calls == ["Claim", "VerifyStart any"])

        try await logind.prepareForSleep(false)
        try await fprintd.waitUntilCalled("Release")
        #expect(fprintd.calls == ["Claim", "VerifyStart any", "VerifyStop", "Release"])
        await #expect(throws: FingerprintError(.claimDevice)) { try await claim.verify { _ in } }
        let next = try await reader.claim()
        await next.release()
        await bus.stop()
    }

    @Test("an idle claim is released after the wake-up, also if its owner lets go of it only then")
    func idle() async throws {
        let (bus, fprintd, logind, reader) = try await start()
        for sleep in 1...3 {
            let claim = try await reader.claim()
            try await logind.waitUntilDelayed()
            try await logind.prepareForSleep()
            try await logind.waitUntilNotDelayed()
            #expect(fprintd.calls.count { $0 == "Release" } == sleep - 1)
            try await logind.prepareForSleep(false)
            try await fprintd.waitUntilCalled("Release", times: sleep)
            await claim.release()
        }
        #expect(fprintd.calls == ["Claim", "Release", "Claim", "Release", "Claim", "Release"])
        await bus.stop()
    }

    @Test("a claim that is granted after the announcement of sleep is released after the wake-up")
    func claiming() async throws {
        let (bus, fprintd, logind, reader) = try await start()
        var changes = await reader.changes().makeAsyncIterator()
        fprintd.change { $0.silentMethods = ["Claim"] }
        let late = FprintReader(busAddress: bus.busAddress, templateDirectory: nil, callTimeout: .seconds(10))
        let claim = Task { try await late.claim() }
        try await fprintd.waitUntilCalled("Claim")
        try await logind.waitUntilDelayed(by: [ScriptedLogind.touchstone, ScriptedLogind.touchstone])
        try await logind.prepareForSleep()
        #expect(await changes.next() == .suspend)
        await #expect(throws: FingerprintError(.noReply)) { try await claim.value }
        #expect(fprintd.calls == ["Claim"])
        try await logind.prepareForSleep(false)
        try await fprintd.waitUntilCalled("Release")
        #expect(fprintd.calls == ["Claim", "Release"])
        await bus.stop()
    }

    @Test(
        "a verification that is cancelled while the machine sleeps is stopped and released after the wake-up"
    )
    func cancelled() async throws {
        let (bus, fprintd, logind, reader) = try await start()
        var changes = await reader.changes().makeAsyncIterator()
        let claim = try await reader.claim()
        let heard = HeardStatuses()
        let task = Task { try await claim.verify { heard.hear($0) } }
        try await heard.wait(for: .armed)
        try await logind.prepareForSleep()
        task.cancel()
        #expect(await changes.next() == .suspend)
        _ = await task.result
        claim.letGo()
        try await logind.prepareForSleep(false)
        try await fprintd.waitUntilCalled("Release")
        #expect(fprintd.calls == ["Claim", "VerifyStart any", "VerifyStop", "Release"])
        await bus.stop()
    }

    @Test("each sleep is delayed until the listener has handled it, and a new logind is asked as well")
    func delay() async throws {
        let (bus, _, logind, reader) = try await start()
        var changes = await reader.changes().makeAsyncIterator()
        #expect(try await logind.delaysHeld(ofAll: 1) == 1)
        try await logind.prepareForSleep()
        #expect(await changes.next() == .suspend)
        #expect(try await logind.delaysHeld(ofAll: 1) == 1)
        await reader.allowSleep()
        try await logind.waitUntilNotDelayed()
        try await logind.prepareForSleep(false)
        #expect(try await logind.delaysHeld(ofAll: 2) == 1)

        // A new logind has woken up.
        try await logind.prepareForSleep()
        #expect(await changes.next() == .suspend)
        await logind.stop()
        let successor = try await ScriptedLogind(bus)
        #expect(try await successor.delaysHeld(ofAll: 1) == 1)
        let claim = try await reader.claim()
        await claim.release()
        await bus.stop()
    }
}

/// fprintd 1.94 suspends its sensors when logind announces sleep.
///
/// A `Release` between that and the wake-up fails with "Cannot run while suspended", and each later `Claim`, whoever makes
/// it, with "has already been opened".
@Suite("Sleep with the real fprintd")
struct RealSleepTests {
    /// What happens to the sensor before the machine sleeps.
    enum Use: CaseIterable {
        case none, idle, armed, letGo, letGoAfterwards, cancelled
    }

    private func verify(_ reader: FprintReader, _ bus: PrivateBus, _ sensor: PrivateBus.Sensor) async throws {
        let hand = VirtualReader(bus, sensor: sensor)
        let result = try await reader.verify { _ in
            switch sensor {
            case .image: try await hand.touch(SyntheticFinger(1).impression(20))
            case .text, .storage: try await hand.scan("print")
            }
        }
        #expect(result.verdict == .match)
    }

    @Test(
        "after each of three sleeps the sensor works, for this process and for another",
        arguments: Use.allCases,
        PrivateBus.Sensor.allCases
    )
    func sleep(_ use: Use, sensor: PrivateBus.Sensor) async throws {
        let bus = try await PrivateBus.start(sensors: [sensor], startsFprintd: false)
        let logind = try await ScriptedLogind(bus)
        try await bus.startFprintd()
        let enroller = Enroller(bus, sensor: sensor)
        switch sensor {
        case .image: try await enroller.enrol(SyntheticFinger(1))
        case .text, .storage: try await enroller.enrol(print: "print")
        }
        let reader = FprintReader(busAddress: bus.busAddress, templateDirectory: nil)
        let other = FprintReader(busAddress: bus.busAddress, templateDirectory: nil)
        // They connect, so that they hear of sleep also where nothing uses the sensor before.
        for one in [reader, other] { _ = try await one.enrolment() }
        let holders = [ScriptedLogind.fprintd, ScriptedLogind.touchstone, ScriptedLogind.touchstone]
        for _ in 1...3 {
            let claim = use == .none ? nil : try await reader.claim()
            var task: Task<FingerprintVerdict, any Error>?
            if let claim, use != .idle {
                let heard = HeardStatuses()
                task = Task { try await claim.verify { heard.hear($0) } }
                try await heard.wait(for: .armed)
            }
            try await logind.waitUntilDelayed(by: holders)
            try await logind.prepareForSleep()
            if use == .cancelled { task?.cancel() }
            if let task { await #expect(throws: FingerprintError.self) { try await task.value } }
            if use == .letGo { claim?.letGo() }
            try await logind.waitUntilNotDelayed()
            try await logind.prepareForSleep(false)
            try await logind.waitUntilDelayed(by: holders)
            if use == .letGoAfterwards { await claim?.release() }
            try await verify(reader, bus, sensor)
            try await verify(other, bus, sensor)
        }
        await bus.stop()
    }
}
