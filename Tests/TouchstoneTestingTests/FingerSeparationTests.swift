import FingerprintDriver
import KeychainModel
import Testing
import TouchstoneTesting

/// Whether libfprint's matcher in fprintd tells synthetic fingers apart, called as the daemon calls it.
///
/// A user has ten fingers enrolled, and another finger's touch is compared with all of them at once. At full size the first
/// hundred fingers are enrolled in tens: each pair is compared, as a touch against an enrolment or, within a ten, by fprintd's
/// own search for duplicates at the start of an enrolment.
@Suite("The real matcher tells synthetic fingers apart", .serialized)
struct FingerSeparationTests {
    private static let names = ["left", "right"].flatMap { hand in
        ["thumb", "index-finger", "middle-finger", "ring-finger", "little-finger"].map { "\(hand)-\($0)" }
    }

    private struct Outcome {
        var pairs = 0
        var mistaken: [String] = []
        var ownTouches = 0
        var refused: [String] = []
    }

    /// Enrols `fingers`, and touches the sensor with each of them and with each of `strangers`.
    private func compare(_ fingers: [Int], with strangers: [Int], _ outcome: inout Outcome) async throws {
        // A sensor of libfprint pauses after three minutes of work, so each ten uses its own.
        let bus = try await PrivateBus.start()
        for (index, finger) in fingers.enumerated() {
            outcome.pairs += index
            do {
                try await Enroller(bus).enrol(SyntheticFinger(finger), as: Self.names[index])
            } catch TestKitError.unexpected("enroll-duplicate") {
                outcome.mistaken.append("\(finger) for one of \(fingers[..<index])")
            }
        }
        let reader = FprintReader(busAddress: bus.busAddress, templateDirectory: bus.templateDirectory)
        let hand = VirtualReader(bus)
        func matches(_ finger: Int) async throws -> Bool {
            let claim = try await reader.claim()
            async let verdict = claim.verify { _ in }
            try await hand.touch(SyntheticFinger(finger).impression(20))
            let isMatch = try await verdict == .match
            await claim.release()
            return isMatch
        }
        for finger in fingers {
            outcome.ownTouches += 1
            if try await !matches(finger) { outcome.refused.append("\(finger)") }
        }
        for stranger in strangers {
            outcome.pairs += fingers.count
            if try await matches(stranger) { outcome.mistaken.append("\(stranger) for one of \(fingers)") }
        }
        await bus.stop()
    }

    @Test("none of 4,950 pairs matches (nine in a usual run), and at most one of 100 own touches fails")
    func fingers() async throws {
        var outcome = Outcome()
        if CaseSize.isFull {
            for first in stride(from: 0, to: 100, by: 10) {
                try await compare(Array(first..<first + 10), with: Array(first + 10..<100), &outcome)
            }
            print("mistaken: \(outcome.mistaken); refused: \(outcome.refused)")
        } else {
            // All of them whorls.
            try await compare([1, 5], with: [25, 53, 57, 77], &outcome)
        }
        #expect(outcome.pairs == CaseSize.of(9, full: 4950))
        #expect(outcome.ownTouches == CaseSize.of(2, full: 100))
        #expect(outcome.mistaken.isEmpty)
        #expect(outcome.refused.count <= CaseSize.of(0, full: 1))
    }
}
