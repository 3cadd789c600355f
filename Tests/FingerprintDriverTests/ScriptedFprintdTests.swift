import FingerprintDriver
import KeychainModel
import Testing
import TouchstoneTesting

@Suite("fprintd in trouble")
struct ScriptedFprintdTests {
    private func start(
        _ script: ScriptedFprintd.Script
    ) async throws -> (bus: PrivateBus, fprintd: ScriptedFprintd, reader: FprintReader) {
        let bus = try await PrivateBus.start(sensors: [])
        let fprintd = try await ScriptedFprintd.start(on: bus, script)
        return (bus, fprintd, FprintReader(busAddress: bus.busAddress, templateDirectory: nil))
    }

    @Test(
        "an error of a method keeps fprintd's name, and the sensor is free",
        arguments: [
            ("Claim", "AlreadyInUse"), ("Claim", "Internal"), ("Claim", "PermissionDenied"),
            ("VerifyStart", "Internal"), ("VerifyStart", "NoEnrolledPrints"), ("VerifyStart", "ANewName"),
            ("ListEnrolledFingers", "PermissionDenied"),
        ]
    )
    func methodErrors(method: String, name: String) async throws {
        let (bus, fprintd, reader) = try await start(.init(errors: [method: name]))
        await #expect(throws: FingerprintError(.init(rawValue: name))) { try await reader.verify { _ in } }
        if fprintd.calls.contains("Claim"), method != "Claim" { #expect(fprintd.calls.last == "Release") }
        await bus.stop()
    }

    @Test(
        "a final status that is no verdict is an error, and the sensor is free",
        arguments: [
            "verify-disconnected", "verify-unknown-error", "verify-a-new-end",
        ]
    )
    func finalStatuses(status: String) async throws {
        let (bus, fprintd, reader) = try await start(
            .init(verifications: [.init([.status(status, done: true), .match])])
        )
        let claim = try await reader.claim()
        await #expect(throws: FingerprintError(.init(rawValue: status))) { try await claim.verify { _ in } }
        #expect(fprintd.calls == ["Claim", "VerifyStart any", "VerifyStop", "Release"])
        await claim.release()
        #expect(fprintd.calls.count { $0 == "Release" } == 1)
        await bus.stop()
    }

    @Test("poor pictures of every kind are told, and none is a verdict")
    func retries() async throws {
        let names = [
            "verify-retry-scan", "verify-swipe-too-short", "verify-finger-not-centered",
            "verify-remove-and-retry", "verify-a-new-kind",
        ]
        let (bus, _, reader) = try await start(
            .init(
                verifications: [
                    .init([.fingerPresent(true)] + names.map { .status($0, done: false) } + [.match])
                ]
            )
        )
        let result = try await reader.verify { _ in }
        #expect(result.verdict == .match)
        #expect(result.heard == [.armed, .fingerPresent] + names.map { .retry($0) })
        await bus.stop()
    }

    @Test("a silent sensor is disarmed and let go of when the caller gives up")
    func silentSensor() async throws {
        let (bus, fprintd, reader) = try await start(.init())
        let claim = try await reader.claim()
        let task = Task { try await claim.verify { _ in } }
        try await fprintd.waitUntilCalled("VerifyStart any")
        task.cancel()
        await #expect(throws: FingerprintError(.cancelled)) { try await task.value }
        #expect(fprintd.calls == ["Claim", "VerifyStart any", "VerifyStop", "Release"])
        await bus.stop()
    }

    @Test("letting go while a verification runs ends it, in order")
    func releaseDuringVerification() async throws {
        let (bus, fprintd, reader) = try await start(.init())
        let claim = try await reader.claim()
        let heard = HeardStatuses()
        let task = Task { try await claim.verify { heard.hear($0) } }
        try await heard.wait(for: .armed)
        await claim.release()
        await #expect(throws: FingerprintError(.cancelled)) { try await task.value }
        #expect(fprintd.calls == ["Claim", "VerifyStart any", "VerifyStop", "Release"])
        await bus.stop()
    }

    @Test("a claim that is dropped lets go")
    func droppedClaim() async throws {
        let (bus, fprintd, reader) = try await start(.init())
        _ = try await reader.claim()
        try await fprintd.waitUntilCalled("Release")
        await bus.stop()
    }

    @Test("whoever claims a sensor that was let go of waits until it is free")
    func claimAfterLettingGo() async throws {
        let (bus, fprintd, reader) = try await start(.init())
        for _ in 1...20 {
            let claim = try await reader.claim()
            claim.letGo()
        }
        _ = try await reader.claim()
        let turns = (1...20).flatMap { _ in ["Claim", "Release"] }
        #expect(fprintd.calls.starts(with: turns + ["Claim"]))
        await bus.stop()
    }

    @Test("a match is told before the sensor is off, and letting go waits for that")
    func matchAtOnce() async throws {
        let (bus, fprintd, _) = try await start(
            .init(verifications: [.init([.match])], silentMethods: ["VerifyStop"])
        )
        let limit = Duration.seconds(10)
        let reader = FprintReader(busAddress: bus.busAddress, templateDirectory: nil, callTimeout: limit)
        let claim = try await reader.claim()
        let begin = ContinuousClock.now
        #expect(try await claim.verify { _ in } == .match)
        #expect(ContinuousClock.now - begin < limit)
        await claim.release()
        #expect(ContinuousClock.now - begin >= limit)
        #expect(fprintd.calls == ["Claim", "VerifyStart any", "VerifyStop", "Release"])
        await bus.stop()
    }

    @Test("a match before VerifyStart was answered does not count")
    func matchBeforeStart() async throws {
        let (bus, fprintd, reader) = try await start(.init(verifications: [.init([], before: [.match])]))
        let claim = try await reader.claim()
        try await fprintd.announce(.match)
        let heard = HeardStatuses()
        let task = Task { try await claim.verify { heard.hear($0) } }
        try await heard.wait(for: .armed)
        try await fprintd.announce(.status("verify-retry-scan", done: false))
        try await heard.wait(for: .retry("verify-retry-scan"))
        try await fprintd.announce(.noMatch)
        #expect(try await task.value == .noMatch)
        await claim.release()
        await bus.stop()
    }

    @Test("fprintd that vanishes ends the verification, and its successor's match does not count")
    func ownerLost() async throws {
        let (bus, fprintd, reader) = try await start(.init())
        let claim = try await reader.claim()
        let heard = HeardStatuses()
        let ended = Counter()
        let task = Task {
            defer { ended.add() }
            return try await claim.verify { heard.hear($0) }
        }
        try await heard.wait(for: .armed)
        try await fprintd.stop()
        try await Deadline.wait(for: "the end") { ended.count > 0 ? true : nil }
        let successor = try await ScriptedFprintd.start(on: bus)
        try await successor.announce(.match)
        await #expect(throws: FingerprintError(.ownerLost)) { try await task.value }
        await #expect(throws: FingerprintError(.claimDevice)) { try await claim.verify { _ in } }
        await claim.release()
        #expect(successor.calls.isEmpty)
        await bus.stop()
    }

    @Test("before the machine sleeps the verification ends and the sensor is free")
    func suspend() async throws {
        let (bus, fprintd, reader) = try await start(.init())
        let logind = try await ScriptedLogind(bus)
        var changes = await reader.changes().makeAsyncIterator()
        let claim = try await reader.claim()
        let heard = HeardStatuses()
        let task = Task { try await claim.verify { heard.hear($0) } }
        try await heard.wait(for: .armed)
        try await logind.prepareForSleep()
        await #expect(throws: FingerprintError(.suspended)) { try await task.value }
        #expect(await changes.next() == .suspend)
        #expect(fprintd.calls == ["Claim", "VerifyStart any", "VerifyStop", "Release"])

        // Also a claim that does nothing is let go of, and waking up changes nothing.
        let idle = try await reader.claim()
        try await logind.prepareForSleep(false)
        try await logind.prepareForSleep()
        try await fprintd.waitUntilCalled("Release", times: 2)
        await idle.release()
        #expect(await changes.next() == .suspend)
        await bus.stop()
    }

    @Test("sleep waits until its consequences are drawn and the sensor is free, each time")
    func sleepDelay() async throws {
        let (bus, fprintd, reader) = try await start(.init())
        let logind = try await ScriptedLogind(bus)
        var changes = await reader.changes().makeAsyncIterator()
        #expect(try await logind.delaysHeld(ofAll: 1) == 1)
        let claim = try await reader.claim()
        try await logind.prepareForSleep()
        #expect(await changes.next() == .suspend)
        #expect(try await logind.delaysHeld(ofAll: 1) == 1)
        await reader.allowSleep()
        try await logind.waitUntilNotDelayed()
        #expect(fprintd.calls == ["Claim", "Release"])
        try await logind.prepareForSleep(false)
        #expect(try await logind.delaysHeld(ofAll: 2) == 1)
        await claim.release()

        // Another logind is asked as well.
        await logind.stop()
        let successor = try await ScriptedLogind(bus)
        #expect(try await successor.delaysHeld(ofAll: 1) == 1)
        await bus.stop()
    }

    @Test("sleep is heard on a bus that comes later, and on the one after it, and each loss is told once")
    func laterBus() async throws {
        let bus = try await PrivateBus.start(sensors: [])
        await bus.stopBus()
        let lost = Counter()
        let reader = FprintReader(
            busAddress: bus.busAddress,
            templateDirectory: nil,
            onBusLost: { lost.add() }
        )
        var changes = await reader.changes().makeAsyncIterator()
        #expect(lost.count == 1)
        for losses in 1...2 {
            try await bus.startBus()
            let logind = try await ScriptedLogind(bus)
            #expect(try await logind.delaysHeld(ofAll: 1) == 1)
            try await logind.prepareForSleep()
            // What was missed meanwhile is told before it.
            while let change = await changes.next(), change != .suspend { #expect(change == .service) }
            #expect(lost.count == losses)
            await reader.allowSleep()
            await bus.stopBus()
            try await Deadline.wait(for: "the loss") { lost.count > losses ? true : nil }
        }
        await bus.stop()
    }

    @Test("with nobody to draw consequences sleep waits for the sensor alone")
    func sleepWithoutListener() async throws {
        let (bus, fprintd, reader) = try await start(.init())
        let logind = try await ScriptedLogind(bus)
        let claim = try await reader.claim()
        #expect(try await logind.delaysHeld(ofAll: 1) == 1)
        try await logind.prepareForSleep()
        try await logind.waitUntilNotDelayed()
        #expect(fprintd.calls == ["Claim", "Release"])
        await claim.release()
        await bus.stop()
    }

    @Test("a verification that was stopped has let go; the next one takes another claim")
    func claimAfterwards() async throws {
        let (bus, fprintd, reader) = try await start(.init())
        for _ in 1...2 {
            let claim = try await reader.claim()
            let heard = HeardStatuses()
            let task = Task { try await claim.verify { heard.hear($0) } }
            try await heard.wait(for: .armed)
            task.cancel()
            await #expect(throws: FingerprintError(.cancelled)) { try await task.value }
            await #expect(throws: FingerprintError(.claimDevice)) { try await claim.verify { _ in } }
        }
        let pass = ["Claim", "VerifyStart any", "VerifyStop", "Release"]
        #expect(fprintd.calls == pass + pass)
        await bus.stop()
    }

    @Test("a method that is never answered ends after its time, and a late yes is given back")
    func silentMethods() async throws {
        let (bus, fprintd, _) = try await start(.init(silentMethods: ["Claim"]))
        let reader = FprintReader(
            busAddress: bus.busAddress,
            templateDirectory: nil,
            callTimeout: .seconds(10)
        )
        await #expect(throws: FingerprintError(.noReply)) { try await reader.claim() }
        try await fprintd.waitUntilCalled("Release")
        #expect(fprintd.calls == ["Claim", "Release"])

        // fprintd that does not even let go: the connection is dropped, and made again.
        fprintd.change { $0.silentMethods = ["Release"] }
        let claim = try await reader.claim()
        await claim.release()
        #expect(try await reader.enrolment().fingers == ["right-index-finger"])
        await bus.stop()
    }

    @Test("no sensor, no fprintd, no bus and a stranger's fprintd are four different errors")
    func absence() async throws {
        let (bus, fprintd, reader) = try await start(.init(sensors: []))
        await #expect(throws: FingerprintError(.noSuchDevice)) { try await reader.enrolment() }
        let suspicious = FprintReader(
            busAddress: .testing(bus.address, ownerUserID: 4711),
            templateDirectory: nil
        )
        await #expect(throws: FingerprintError(.untrustedOwner)) { try await suspicious.claim() }
        try await fprintd.stop()
        await #expect(throws: FingerprintError(.serviceUnknown)) { try await reader.claim() }
        await bus.stop()
        await #expect(throws: FingerprintError(.noBus)) { try await reader.claim() }
        let nowhere = FprintReader(busAddress: .testing("unix:path=\(bus.directory.path)/none"))
        await #expect(throws: FingerprintError(.noBus)) { try await nowhere.enrolment() }
    }

    @Test("sensors that come, go and change between two looks are seen")
    func otherSensors() async throws {
        let (bus, fprintd, reader) = try await start(.init())
        #expect(try await reader.enrolment().device == "Scripted sensor")
        fprintd.change { $0.sensors[0] = .init(name: "B", fingers: []) }
        #expect(try await reader.enrolment().device == "B")
        fprintd.change { $0.sensors.append(.init(name: "C", fingers: ["left-thumb"])) }
        let both = try await reader.enrolment()
        #expect(both.device == "C" && both.fingers == ["left-thumb"])
        fprintd.change { $0.sensors.removeLast() }
        #expect(try await reader.enrolment().device == "B")
        fprintd.change { $0.sensors = [] }
        await #expect(throws: FingerprintError(.noSuchDevice)) { try await reader.enrolment() }
        await bus.stop()
    }

    @Test("a bus that stops in mid-verification ends it")
    func busLost() async throws {
        let (bus, _, reader) = try await start(.init())
        let claim = try await reader.claim()
        let heard = HeardStatuses()
        let task = Task { try await claim.verify { heard.hear($0) } }
        try await heard.wait(for: .armed)
        await bus.stop()
        await #expect(throws: FingerprintError(.noBus)) { try await task.value }
        await claim.release()
    }
}
