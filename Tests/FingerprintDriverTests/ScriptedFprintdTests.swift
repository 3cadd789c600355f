import FingerprintDriver
import KeychainModel
import Testing
import TouchstoneTesting

@Suite("Errors of a scripted fprintd")
struct ScriptedFprintdTests {
    private func start(
        _ script: ScriptedFprintd.Script
    ) async throws -> (bus: PrivateBus, fprintd: ScriptedFprintd, reader: FprintReader) {
        let bus = try await PrivateBus.start(sensors: [])
        let fprintd = try await ScriptedFprintd.start(on: bus, script)
        return (bus, fprintd, FprintReader(busAddress: bus.busAddress, templateDirectory: nil))
    }

    @Test(
        "a method's error keeps fprintd's name, and the sensor is released",
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
        "a final status that is not a verdict is an error, and the sensor is released",
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

    @Test("every kind of poor image is reported, and none is a verdict")
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

    @Test("a silent sensor is stopped and released when the caller cancels")
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

    @Test("releasing during a verification stops it first")
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

    @Test("a dropped claim releases the sensor")
    func droppedClaim() async throws {
        let (bus, fprintd, reader) = try await start(.init())
        _ = try await reader.claim()
        try await fprintd.waitUntilCalled("Release")
        await bus.stop()
    }

    @Test("a claim waits for the release of the former one")
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

    @Test("a match is reported before the sensor is off, and the release waits for that")
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

    @Test("a match before the reply to VerifyStart does not count")
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

    @Test("an exit of fprintd ends the verification, and its successor's match does not count")
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

    @Test("sleep is noticed on a bus that starts later and on its successor, and each loss is reported once")
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
            // Changes missed meanwhile are reported first.
            while let change = await changes.next(), change != .suspend { #expect(change == .service) }
            #expect(lost.count == losses)
            await reader.allowSleep()
            await bus.stopBus()
            try await Deadline.wait(for: "the loss") { lost.count > losses ? true : nil }
        }
        await bus.stop()
    }

    @Test("a cancelled verification has released its claim; the next one needs a new claim")
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

    @Test("a method without a reply times out, and a late claim is released again")
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

        // If fprintd does not reply to Release either, the connection is replaced.
        fprintd.change { $0.silentMethods = ["Release"] }
        let claim = try await reader.claim()
        await claim.release()
        #expect(try await reader.enrolment().fingers == ["right-index-finger"])
        await bus.stop()
    }

    @Test("no sensor, no fprintd, no bus and an untrusted fprintd are four different errors")
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

    @Test("sensors that appear, disappear or change between two calls are noticed")
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

    @Test("a bus that stops during a verification ends it")
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
