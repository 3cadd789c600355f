import KeychainModel
import Testing
import TouchstoneTesting

@testable import AuthenticationEngine

@Suite("Fingerprint attempts and the biometry lockout", .timeLimit(.minutes(20)))
struct BiometryLimitsTests {
    @Test("five mismatches cause a biometry lockout")
    func fiveRefused() async {
        let world = World()
        let task = world.start(.biometrics)
        for number in 1...4 {
            await world.reader.touch(.noMatch)
            let left = 5 - number == 1 ? "1 try" : "\(5 - number) tries"
            let words = await world.prompter.box(number + 1).error
            #expect(words == "No match. \(left) left.")
        }
        await world.reader.touch(.noMatch)
        #expect(await task.value.error?.code == .biometryLockout)
        #expect(await task.value.error?.remedy == .usePasscode)
        #expect(world.attempts.record.biometryFailures == 5)
        #expect(world.audit.count(.authenticationFailed) == 6)
        #expect(world.audit.count(.biometryLockedOut) == 1)
        #expect(world.journal.entries.count { $0 == "arm" } == 5)
    }

    @Test("a lockout survives an engine restart, and the right passcode ends it")
    func lockoutStays() async {
        let world = World(record: nil)
        let task = world.start(.biometrics)
        for _ in 1...5 { await world.reader.touch(.noMatch) }
        #expect(await task.value.code == .biometryLockout)

        let engine = world.restartedEngine()
        #expect(await world.start(world.evaluation(.biometrics), on: engine).value.code == .biometryLockout)
        world.prompter.will(.type(World.passcode))
        let either = world.start(world.evaluation(.deviceOwner), on: engine)
        #expect(await either.value.factors == [.passcode])
        #expect(world.prompter.boxes.last?.input == .secret)
        #expect(world.attempts.record.biometryFailures == 0)

        let again = world.start(world.evaluation(.biometrics), on: engine)
        await world.reader.touch(.match)
        #expect(await again.value.factors == [.biometry])
    }

    @Test("a deviceOwner evaluation continues with the passcode alone after the fifth mismatch")
    func goesOn() async {
        let world = World()
        let task = world.start(.deviceOwner)
        for _ in 1...5 { await world.reader.touch(.noMatch) }
        let box = await world.prompter.box(6)
        #expect(box.input == .secret)
        #expect(box.error == "Fingers are off until the passcode is entered.")
        world.prompter.will(.type(World.passcode))
        #expect(await task.value.factors == [.passcode])
    }

    @Test("each attempt is saved before the sensor is armed")
    func countFirst() async {
        let world = World()
        let task = world.start(.biometrics)
        await world.reader.touch(.noMatch)
        await world.reader.touch(.match)
        _ = await task.value
        let expected = [
            "box", "claim", "save 1 0", "arm", "disarm", "box gone", "box", "save 2 0", "arm", "disarm",
            "box gone", "save 0 0", "release",
        ]
        #expect(world.journal.entries == expected)
    }

    @Test("an attempt stays counted if the daemon is killed before the verdict")
    func killed() async {
        let world = World()
        let lost = world.start(.biometrics)
        await world.reader.armed()
        // The waiting engine never learns of it: a new engine finds only what was saved.
        #expect(world.attempts.record.biometryFailures == 1)
        let status = await world.restartedEngine().status()
        #expect(status.biometryFailures == 1)
        lost.cancel()
        _ = await lost.value
    }

    @Test("no attempt is made if it cannot be saved")
    func unsaved() async {
        let world = World()
        world.attempts.fail(KeychainError(.diskFull, cause: DriverCause(domain: "system", code: "ENOSPC")))
        let error = await world.start(.biometrics).value.error
        #expect(error?.code == .systemCancel)
        #expect(error?.cause == DriverCause(domain: "system", code: "ENOSPC"))
        #expect(!world.journal.entries.contains("arm"))
        #expect(!world.reader.isClaimed)
        world.prompter.will(.type(World.passcode))
        #expect(await world.start(.deviceOwner).value.code == .systemCancel)
        #expect(!world.journal.entries.contains("open"))
    }

    @Test("cancelling before any contact refunds the attempt")
    func refund() async {
        let world = World()
        let task = world.start(.biometrics)
        await world.reader.armed()
        world.prompter.will(.cancel)
        #expect(await task.value.code == .userCancel)
        #expect(world.attempts.record.biometryFailures == 0)
    }

    @Test("cancelling after contact or a poor scan does not refund the attempt")
    func noRefund() async {
        for touch in [ScriptedReader.Touch.contact, .retry("verify-retry-scan")] {
            let world = World()
            let task = world.start(.biometrics)
            await world.reader.touch(touch)
            if touch == .contact { await world.reader.armed() } else { _ = await world.prompter.box(2) }
            world.prompter.will(.cancel)
            #expect(await task.value.code == .userCancel)
            #expect(world.attempts.record.biometryFailures == 1)
        }
    }

    @Test(
        "a verdict while the sensor is being stopped counts, but does not succeed after a cancellation"
    )
    func lastWord() async {
        for verdict in [FingerprintVerdict.match, .noMatch] {
            let world = World()
            let task = world.start(.biometrics)
            await world.reader.armed()
            world.reader.lastWord(verdict)
            world.prompter.will(.cancel)
            #expect(await task.value.code == .userCancel)
        }
        let world = World()
        let task = world.start(.biometrics)
        await world.reader.armed()
        world.reader.lastWord(.noMatch)
        world.prompter.will(.cancel)
        _ = await task.value
        #expect(world.attempts.record.biometryFailures == 1)
    }

    @Test("poor scans are not counted, and twenty of them end the prompt")
    func poorPictures() async {
        let world = World()
        let task = world.start(.biometrics)
        for number in 1...19 {
            await world.reader.touch(.retry("verify-finger-not-centered"))
            #expect(
                await world.prompter.box(number + 1).error == "Put the finger on the middle of the sensor."
            )
        }
        #expect(world.attempts.record.biometryFailures == 1)
        await world.reader.touch(.retry("verify-swipe-too-short"))
        #expect(await task.value.code == .authenticationFailed)
        #expect(world.attempts.record.biometryFailures == 1)
    }

    @Test("the sensor is not armed while a prompt is being replaced")
    func neverArmedWithoutBox() async {
        let world = World()
        let task = world.start(.biometrics)
        await world.reader.touch(.retry("verify-retry-scan"))
        #expect(await world.prompter.box(2).error == "The finger could not be read. Try again.")
        await world.reader.touch(.match)
        _ = await task.value
        let expected = [
            "box", "claim", "save 1 0", "arm", "disarm", "release", "box gone", "box", "claim", "arm",
            "disarm", "box gone", "save 0 0", "release",
        ]
        #expect(world.journal.entries == expected)
    }

    @Test("a silent sensor ends with the prompt's timeout")
    func silent() async {
        let world = World()
        let task = world.start(.biometrics)
        await world.reader.armed()
        #expect(world.prompter.boxes.first?.timeout == .seconds(30))
        world.prompter.will(.waitTooLong)
        #expect(await task.value.error?.cause == .timeout)
        #expect(!world.reader.isClaimed)
    }

    @Test("the engine enforces the timeout if the prompter does not")
    func forgetfulPrompter() async {
        let world = World()
        let task = world.start(.biometrics)
        await world.reader.armed()
        await world.clock.sleep(of: .seconds(35))
        world.clock.advance(by: .seconds(35))
        #expect(await task.value.error?.cause == .timeout)
        #expect(world.prompter.visibleCount == 0)
    }
}

@Suite("Sensor failures", .timeLimit(.minutes(20)))
struct FailingSensorTests {
    static let table: [(FingerprintError.Code, AuthenticationError.Code)] = [
        (.permissionDenied, .biometryNotAvailable), (.noEnrolledPrints, .biometryNotEnrolled),
        (.noSuchDevice, .biometryNotAvailable), (.internal, .biometryNotAvailable),
        (.disconnected, .biometryDisconnected), (.unknownError, .biometryNotAvailable),
        (.serviceUnknown, .biometryNotAvailable), (.ownerLost, .systemCancel),
        (.untrustedOwner, .biometryNotAvailable), (.noBus, .biometryNotAvailable),
        (.noReply, .biometryNotAvailable), (.suspended, .systemCancel), (.claimDevice, .biometryNotAvailable),
        (FingerprintError.Code(rawValue: "Unheard"), .biometryNotAvailable),
    ]

    @Test("a sensor failure ends a biometrics evaluation, is counted, and keeps its cause", arguments: table)
    func fingersAlone(_ failure: FingerprintError.Code, _ code: AuthenticationError.Code) async {
        let world = World()
        let task = world.start(.biometrics)
        await world.reader.touch(.fail(FingerprintError(failure)))
        let error = await task.value.error
        #expect(error?.code == code)
        #expect(error?.cause == DriverCause(domain: "fprintd", code: failure.rawValue))
        #expect(world.attempts.record.biometryFailures == 1)
        #expect(!world.reader.isClaimed)
        #expect(world.prompter.visibleCount == 0)
    }

    @Test("a sensor failure leaves the passcode if the policy allows it", arguments: table)
    func either(_ failure: FingerprintError.Code, _ code: AuthenticationError.Code) async {
        let world = World()
        let task = world.start(.deviceOwner)
        await world.reader.touch(.fail(FingerprintError(failure)))
        #expect(await world.prompter.box(2).input == .secret)
        world.prompter.will(.type(World.passcode))
        #expect(await task.value.factors == [.passcode])
    }

    @Test("without a sensor there is no fingerprint prompt")
    func noSensor() async {
        let world = World()
        world.reader.enrol(.failure(FingerprintError(.noSuchDevice)))
        #expect(await world.start(.biometrics).value.code == .biometryNotAvailable)
        #expect(world.prompter.boxes.isEmpty)
        world.prompter.will(.type(World.passcode))
        #expect(await world.start(.deviceOwner).value.factors == [.passcode])
        #expect(world.prompter.boxes.map(\.input) == [.secret])
    }

    @Test("a sensor in use is retried after 1 s and 2 s, uncounted")
    func inUse() async {
        let world = World()
        world.reader.failClaims([FingerprintError(.alreadyInUse), FingerprintError(.alreadyInUse)])
        let task = world.start(.biometrics)
        #expect(await world.prompter.box(2).error == "The sensor is in use.")
        await world.clock.sleep(of: .seconds(1))
        #expect(world.attempts.record.biometryFailures == 0)
        world.clock.advance(by: .seconds(1))
        await world.clock.sleep(of: .seconds(2))
        world.clock.advance(by: .seconds(2))
        await world.reader.touch(.match)
        #expect(await task.value.factors == [.biometry])
        #expect(world.prompter.boxes.count == 2)
    }

    @Test("after a failure the sensor is not used for one second")
    func pause() async {
        let world = World()
        let first = world.start(.biometrics)
        await world.reader.touch(.fail(FingerprintError(.internal)))
        _ = await first.value
        let second = world.start(.biometrics)
        await world.clock.sleep(of: .seconds(1))
        #expect(!world.reader.isArmed)
        world.clock.advance(by: .seconds(1))
        await world.reader.touch(.match)
        #expect(await second.value.factors == [.biometry])
    }
}
