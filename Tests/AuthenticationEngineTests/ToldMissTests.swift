import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting

@testable import AuthenticationEngine

@Suite("Misses told to the request")
struct ToldMissTests {
    private static func misses(_ actions: [SessionAction]) -> [MissedTouch] {
        actions.compactMap { action in
            if case .tellMiss(let miss) = action { miss } else { nil }
        }
    }

    @Test("each miss is told once with its number and reason, and a match is none")
    func reasons() {
        var drive = Drive(.biometry)
        drive.arm()
        let words: [(String, MissedTouch.Reason)] = [
            ("verify-swipe-too-short", .tooShort), ("verify-finger-not-centered", .offCentre),
            ("verify-remove-and-retry", .lift), ("verify-retry-scan", .unreadable),
        ]
        for (index, (word, reason)) in words.enumerated() {
            drive.feed(.sensor(.fingerPresent))
            #expect(Self.misses(drive.last).isEmpty)
            drive.feed(.sensor(.retry(word)))
            #expect(Self.misses(drive.last) == [MissedTouch(count: index + 1, reason: reason)])
            let box = index + 2
            drive.feed(.sensorFailed(FingerprintError(.cancelled)), .shown(box: box))
            drive.feed(.claimed, .elapsed(box), .sensor(.armed))
        }
        drive.feed(.verdict(.noMatch))
        #expect(Self.misses(drive.last) == [MissedTouch(count: 5, reason: .noMatch)])
        #expect(drive.shown?.error == "No match. 4 tries left.")
        drive.feed(.shown(box: 6), .elapsed(6), .sensor(.armed), .verdict(.match))
        #expect(Self.misses(drive.last).isEmpty)
    }

    @Test("a miss is told before the end that it causes")
    func lockout() {
        var drive = Drive(.biometry, record: AttemptRecord(biometryFailures: 4))
        drive.arm()
        drive.feed(.verdict(.noMatch))
        #expect(Self.misses(drive.last) == [MissedTouch(count: 1, reason: .noMatch)])
        #expect(drive.end?.code == .biometryLockout)
        drive.feed(.verdict(.noMatch))
        #expect(drive.last.isEmpty)
    }

    @Test("a miss after the cancellation is not told, although it is counted")
    func afterCancel() {
        for event in [SessionEvent.verdict(.noMatch), .sensor(.retry("verify-retry-scan"))] {
            var drive = Drive(.biometry)
            drive.arm()
            drive.feed(.sensor(.fingerPresent), .interrupted(.appCancelled))
            #expect(drive.last == [.stopSensor])
            drive.feed(event)
            #expect(Self.misses(drive.last).isEmpty)
        }
    }

    @Test("only the request whose prompt is shown is told, and nothing follows its end")
    func requests() async {
        let world = World()
        func told(_ evaluation: inout Evaluation) -> Guarded<[MissedTouch]> {
            let misses = Guarded<[MissedTouch]>([])
            evaluation.request.onMiss = { miss in misses.withLock { $0.append(miss) } }
            return misses
        }
        var (first, second) = (world.evaluation(.biometrics), world.evaluation(.biometrics))
        let (misses, others) = (told(&first), told(&second))
        let task = world.start(first)
        _ = await world.prompter.box(1)
        let waiting = world.start(second)
        await world.reader.touch(.retry("verify-finger-not-centered"))
        _ = await world.prompter.box(2)
        await world.reader.touch(.noMatch)
        _ = await world.prompter.box(3)
        await world.reader.touch(.match)
        #expect(await task.value.factors == [.biometry])
        let expected = [
            MissedTouch(count: 1, reason: .offCentre), MissedTouch(count: 2, reason: .noMatch),
        ]
        #expect(misses.withLock { $0 } == expected)
        #expect(others.withLock { $0 }.isEmpty)
        // The second prompt counts its own misses.
        _ = await world.prompter.box(4)
        await world.reader.touch(.noMatch)
        _ = await world.prompter.box(5)
        world.prompter.will(.cancel)
        #expect(await waiting.value.code == .userCancel)
        #expect(others.withLock { $0 } == [MissedTouch(count: 1, reason: .noMatch)])
        #expect(misses.withLock { $0 } == expected)
    }

    @Test("a prompt for the passcode tells no misses")
    func passcode() async {
        let world = World(state: .locked)
        var request = World.request()
        let misses = Guarded<[MissedTouch]>([])
        request.onMiss = { miss in misses.withLock { $0.append(miss) } }
        world.prompter.will(.type("wrong"), .type(World.passcode))
        let proof = try? await world.engine.unlock(request)
        #expect(proof?.factors == [.passcode])
        #expect(misses.withLock { $0 }.isEmpty)
    }
}
