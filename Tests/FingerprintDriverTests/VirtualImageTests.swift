import FingerprintDriver
import KeychainModel
import Testing
import TouchstoneTesting

@Suite("fprintd with the virtual image sensor")
struct VirtualImageTests {
    private let finger = SyntheticFinger(1)

    private func reader(_ bus: PrivateBus) -> FprintReader {
        FprintReader(busAddress: bus.busAddress, templateDirectory: bus.templateDirectory)
    }

    @Test("the real matcher accepts other impressions of the enrolled finger and refuses other fingers")
    func matching() async throws {
        let bus = try await PrivateBus.start()
        try await Enroller(bus).enrol(finger)
        let reader = reader(bus), hand = VirtualReader(bus)
        for touch in 20...23 {
            let picture = finger.impression(touch)
            let result = try await reader.verify { _ in try await hand.touch(picture) }
            #expect(result.verdict == .match)
            #expect(result.heard.first == .armed)
        }
        for other in [0, 2, 3, 5] {
            let picture = SyntheticFinger(other).impression(0)
            let result = try await reader.verify { _ in try await hand.touch(picture) }
            #expect(result.verdict == .noMatch)
        }
        await bus.stop()
    }

    @Test("after a poor image the sensor stays armed for another try")
    func retry() async throws {
        let bus = try await PrivateBus.start()
        try await Enroller(bus).enrol(finger)
        let hand = VirtualReader(bus), picture = finger.impression(20)
        let result = try await reader(bus).verify { heard in
            try await hand.touch(.blank)
            try await heard.wait(for: .retry("verify-retry-scan"))
            try await hand.retry(.tooShort)
            try await heard.wait(for: .retry("verify-swipe-too-short"))
            try await hand.touch(picture)
        }
        #expect(result.verdict == .match)
        #expect(result.heard.count { $0 == .armed } == 1)
        await bus.stop()
    }

    @Test("an unplugged sensor is disconnected, and absent afterwards")
    func unplug() async throws {
        let bus = try await PrivateBus.start()
        try await Enroller(bus).enrol(finger)
        let reader = reader(bus), hand = VirtualReader(bus)
        await #expect(throws: FingerprintError(.disconnected)) {
            try await reader.verify { _ in try await hand.unplug() }
        }
        await #expect(throws: FingerprintError(.noSuchDevice)) { try await reader.enrolment() }
        await bus.stop()
    }

    @Test("fprintd's error for a broken connection is kept")
    func disconnected() async throws {
        let bus = try await PrivateBus.start()
        try await Enroller(bus).enrol(finger)
        let hand = VirtualReader(bus)
        await #expect(throws: FingerprintError(.disconnected)) {
            try await reader(bus).verify { _ in try await hand.fail(.protocolError) }
        }
        await bus.stop()
    }

    @Test("fprintd killed during a verification ends it at once, and a new fprintd works")
    func killed() async throws {
        let bus = try await PrivateBus.start()
        try await Enroller(bus).enrol(finger)
        let reader = reader(bus), hand = VirtualReader(bus), picture = finger.impression(20)
        await #expect(throws: FingerprintError(.ownerLost)) {
            try await reader.verify { heard in
                try await heard.wait(for: .armed)
                try await bus.killFprintd()
            }
        }
        await #expect(throws: FingerprintError(.serviceUnknown)) { try await reader.claim() }
        try await bus.startFprintd()
        let result = try await reader.verify { _ in try await hand.touch(picture) }
        #expect(result.verdict == .match)
        await bus.stop()
    }

    @Test("a sensor claimed by another process is in use, and free after its release")
    func alreadyInUse() async throws {
        let bus = try await PrivateBus.start()
        let first = reader(bus), second = reader(bus)
        let claim = try await first.claim()
        await #expect(throws: FingerprintError(.alreadyInUse)) { try await second.claim() }
        await claim.release()
        await claim.release()
        let other = try await second.claim()
        await other.release()
        await bus.stop()
    }

    @Test("no enrolled finger is distinguished from a finger that does not match")
    func notEnrolled() async throws {
        let bus = try await PrivateBus.start()
        let reader = reader(bus)
        #expect(try await reader.enrolment().isEmpty)
        let claim = try await reader.claim()
        await #expect(throws: FingerprintError(.noEnrolledPrints)) { try await claim.verify { _ in } }
        // The sensor was released after the error.
        let second = try await self.reader(bus).claim()
        await second.release()
        await bus.stop()
    }

    @Test("cancelling stops and releases the sensor, so that another process can claim it at once")
    func cancellation() async throws {
        let bus = try await PrivateBus.start()
        try await Enroller(bus).enrol(finger)
        let claim = try await reader(bus).claim()
        let heard = HeardStatuses()
        let task = Task { try await claim.verify { heard.hear($0) } }
        try await heard.wait(for: .armed)
        task.cancel()
        await #expect(throws: FingerprintError(.cancelled)) { try await task.value }
        let second = try await reader(bus).claim()
        await second.release()
        await bus.stop()
    }

    @Test("a verification on a released claim is refused")
    func released() async throws {
        let bus = try await PrivateBus.start()
        let claim = try await reader(bus).claim()
        await claim.release()
        await #expect(throws: FingerprintError(.claimDevice)) { try await claim.verify { _ in } }
        await bus.stop()
    }
}
