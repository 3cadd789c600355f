import KeychainModel
import Testing
import TouchstoneTesting

@testable import AuthenticationEngine

enum Enrolments {
    static let three = Enrolment(
        device: "Scripted sensor",
        fingers: ["left-index-finger", "right-index-finger", "right-thumb"],
        templateDigest: nil,
        completions: 1
    )
    static let none = Enrolment(
        device: "Scripted sensor",
        fingers: [],
        templateDigest: nil,
        completions: 0
    )
}

@Suite("An enrolment change", .timeLimit(.minutes(20)))
struct EnrolmentTests {
    private func known() async -> World {
        let world = World()
        _ = await world.engine.availability(of: .biometrics)
        return world
    }

    @Test("an enrolment change requires the passcode once")
    func passcodeOnce() async {
        let world = await known()
        world.reader.enrol(.success(Enrolments.three))
        let error = await world.start(.biometrics).value.error
        #expect(error?.code == .biometryLockout)
        #expect(error?.cause == .enrolmentChanged)
        #expect(world.prompter.boxes.isEmpty)
        #expect(world.audit.count(.enrolmentChanged) == 1)
        let either = world.start(.deviceOwner)
        #expect(await world.prompter.box(1).input == .secret)
        world.prompter.will(.type(World.passcode))
        #expect(await either.value.factors == [.passcode])
        let finger = world.start(.biometrics)
        await world.reader.touch(.match)
        #expect(await finger.value.factors == [.biometry])
        #expect(world.audit.count(.enrolmentChanged) == 1)
    }

    @Test(
        "unlocking an unlocked keybag asks for the passcode that fingers wait for, and for no other",
        arguments: 0..<3
    )
    func awaited(cause: Int) async throws {
        let world =
            cause == 0 ? await known() : World(record: cause == 1 ? AttemptRecord(biometryFailures: 5) : nil)
        if cause == 0 {
            world.reader.enrol(.success(Enrolments.three))
            #expect(await world.start(.biometrics).value.error?.cause == .enrolmentChanged)
        }
        let before = world.prompter.boxes.count
        world.prompter.will(.type(World.passcode))
        let proof = try await world.engine.unlock(World.request())
        #expect((proof?.factors == [.passcode]) == (cause < 2))
        #expect(world.prompter.boxes.dropFirst(before).map(\.input) == (cause < 2 ? [.secret] : []))
        #expect(try await world.engine.unlock(World.request()) == nil)
        #expect(world.prompter.boxes.count == before + (cause < 2 ? 1 : 0))
    }

    @Test("removing the last finger and enrolling one again are detected")
    func removed() async {
        let world = await known()
        world.reader.enrol(.failure(FingerprintError(.noEnrolledPrints)))
        #expect(await world.start(.biometrics).value.code == .biometryNotEnrolled)
        #expect(world.audit.count(.enrolmentChanged) == 1)
        world.reader.enrol(.success(ScriptedReader.twoFingers))
        #expect(await world.start(.biometrics).value.error?.cause == .enrolmentChanged)
        #expect(world.audit.count(.enrolmentChanged) == 2)
    }

    @Test("a change ends an open fingerprint prompt, and turns one for either factor into a passcode prompt")
    func whileOpen() async {
        let world = await known()
        let watch = Task { await world.engine.run() }
        let fingers = world.start(.biometrics)
        await world.reader.armed()
        world.reader.enrol(.success(Enrolments.three))
        await world.reader.send(.enrolment)
        #expect(await fingers.value.error?.cause == .enrolmentChanged)
        watch.cancel()
        await watch.value
    }

    @Test("a change between a match and its success is detected without a signal")
    func betweenMatchAndSuccess() async {
        let world = await known()
        let task = world.start(.deviceOwner)
        await world.reader.armed()
        world.reader.enrol(.success(Enrolments.three))
        await world.reader.touch(.match)
        let box = await world.prompter.box(2)
        #expect(box.input == .secret)
        #expect(box.error == "The enrolled fingers have changed.")
        world.prompter.will(.cancel)
        #expect(await task.value.code == .userCancel)
    }

    @Test("a change does not affect a fingerprint that follows the passcode in the same evaluation")
    func afterPasscode() async {
        let world = await known()
        world.keybag.become(.lockedAfterFirstUnlock)
        world.reader.enrol(.success(Enrolments.three))
        let task = world.start(.biometrics)
        world.prompter.will(.type(World.passcode))
        await world.reader.touch(.match)
        #expect(await task.value.factors == [.passcode, .biometry])
    }

    @Test("if the enrolment cannot be compared, no fingerprint is accepted")
    func unobserved() async {
        let world = World()
        world.keybag.fail(KeychainError(.io, cause: DriverCause(domain: "system", code: "EIO")))
        let error = await world.start(.biometrics).value.error
        #expect(error?.code == .biometryNotAvailable)
        #expect(error?.cause == DriverCause(domain: "system", code: "EIO"))
    }

    @Test("a background change that cannot be compared or saved is logged")
    func unobservedChange() async throws {
        let world = World { $0.locksKeybagOnSuspend = true }
        let watch = Task { await world.engine.run() }
        world.keybag.fail(KeychainError(.diskFull, cause: DriverCause(domain: "system", code: "ENOSPC")))
        await world.reader.send(.enrolment)
        try await Deadline.wait(for: "the event") {
            world.audit.details(.backgroundFailed).first
        }
        #expect(world.audit.details(.backgroundFailed) == ["enrolment -6 system ENOSPC"])
        // The keybag was locked meanwhile, so the passcode comes first.
        world.keybag.fail(KeychainError(.interactionNotAllowed, cause: .locked))
        await world.reader.send(.enrolment)
        await world.reader.send(.suspend)
        await world.journal.wait(for: "lock")
        watch.cancel()
        await watch.value
        #expect(world.audit.count(.backgroundFailed) == 1)
    }

    @Test("changes are still watched if the attempt counts cannot be saved, which is logged")
    func damagedAttempts() async throws {
        let started = StandingClock().now()
        let record = AttemptRecord(
            passcodeFailures: 6,
            lastPasscodeFailure: BootTime(bootID: "before", nanoseconds: 1),
            lastPasscodeSuccess: started,
            lastUse: started
        )
        let world = World(record: record)
        world.attempts.fail(KeychainError(.io, cause: DriverCause(domain: "system", code: "EIO")))
        let watch = Task { await world.engine.run() }
        try await Deadline.wait(for: "the event") {
            world.audit.details(.backgroundFailed).first
        }
        #expect(world.audit.details(.backgroundFailed) == ["attempts -4 system EIO"])
        watch.cancel()
        await watch.value
    }
}

@Suite("Availability without a prompt", .timeLimit(.minutes(20)))
struct AvailabilityTests {
    @Test("every policy is available")
    func available() async {
        let world = World()
        for policy in [AuthenticationPolicy.biometrics, .biometricsOrCompanion, .deviceOwner] {
            let found = await world.engine.availability(of: policy)
            #expect(
                found
                    == AuthenticationAvailability(
                        error: nil,
                        hasSensor: true,
                        domainState: Array(repeating: 2, count: 32)
                    )
            )
        }
        #expect(world.prompter.boxes.isEmpty)
    }

    @Test("each obstacle has its own code, and the sensor is reported regardless")
    func obstacles() async {
        func error(_ world: World, _ policy: AuthenticationPolicy = .biometrics) async -> AuthenticationError?
        {
            await world.engine.availability(of: policy).error
        }
        #expect(await error(World(), .companion)?.code == .companionNotAvailable)
        #expect(await error(World(state: .notSetUp))?.code == .passcodeNotSet)
        #expect(await error(World(state: .notSetUp), .deviceOwner)?.remedy == .setPasscode)
        let locked = World(state: .locked)
        #expect(await error(locked)?.code == .biometryLockout)
        #expect(await error(locked)?.remedy == .usePasscode)
        #expect(await error(locked, .deviceOwner) == nil)
        #expect(await locked.engine.availability(of: .biometrics).hasSensor)
        #expect(await locked.engine.availability(of: .biometrics).domainState == nil)
        let out = World(record: AttemptRecord(biometryFailures: 5))
        #expect(await error(out)?.code == .biometryLockout)
        #expect(await error(out, .deviceOwner) == nil)
        let closed = World(record: AttemptRecord(passcodeFailures: 10))
        #expect(await error(closed)?.code == .biometryLockout)
        #expect(await error(closed, .deviceOwner)?.code == .authenticationFailed)
        #expect(await error(closed, .deviceOwner)?.remedy == .recover)
    }

    @Test("no sensor, no finger and no service are distinguished")
    func sensors() async {
        for (failure, code, hasSensor) in [
            (FingerprintError.Code.noSuchDevice, AuthenticationError.Code.biometryNotAvailable, false),
            (.noEnrolledPrints, .biometryNotEnrolled, true),
            (.serviceUnknown, .biometryNotAvailable, false),
            (.permissionDenied, .biometryNotAvailable, true),
        ] {
            let world = World()
            world.reader.enrol(.failure(FingerprintError(failure)))
            let found = await world.engine.availability(of: .biometrics)
            #expect(found.error?.code == code)
            #expect(found.hasSensor == hasSensor)
            #expect(await world.engine.availability(of: .deviceOwner).error == nil)
        }
    }

    @Test("a sensor that was there since the start and is gone was disconnected, until it is back")
    func unplugged() async {
        let world = World()
        let absent = FingerprintError(.noSuchDevice)
        world.reader.enrol(.failure(absent))
        #expect(await world.engine.availability(of: .biometrics).error?.cause == absent.cause)
        for _ in 1...2 {
            world.reader.enrol(.success(Enrolments.three))
            #expect(await world.engine.availability(of: .biometrics).hasSensor)
            world.reader.enrol(.failure(absent))
            let found = await world.engine.availability(of: .biometrics)
            #expect(found.error?.code == .biometryDisconnected && !found.hasSensor)
            #expect(await world.engine.availability(of: .deviceOwner).error == nil)
            #expect(await world.engine.status().sensorFault == FingerprintError(.disconnected).cause)
            #expect(await world.engine.status().sensor == nil)
            #expect(await world.start(.biometrics).value.error?.code == .biometryDisconnected)
            #expect(world.prompter.boxes.isEmpty)
        }
        // Another failure is not taken for it.
        world.reader.enrol(.failure(FingerprintError(.serviceUnknown)))
        #expect(await world.engine.availability(of: .biometrics).error?.code == .biometryNotAvailable)
    }

    @Test(
        "what is told without a prompt waits 3 s for an fprintd that does not reply, and 1 s each time while it is silent"
    )
    func silentService() async {
        let world = World()
        world.reader.keepSilent(true)
        let patience = world.configuration.sensorPatience
        async let first = world.engine.status()
        await world.clock.sleep(of: patience)
        // A later one waits for the rest of the time.
        world.clock.advance(by: .seconds(1))
        async let second = world.engine.availability(of: .deviceOwner)
        await world.clock.sleep(of: patience - .seconds(1))
        world.clock.advance(by: patience - .seconds(1))
        #expect(await first.sensorFault == FingerprintError(.noReply).cause)
        #expect(await second.error == nil)
        // The looks have still no answer.
        let rest = world.configuration.lookPatience
        async let third = world.engine.availability(of: .biometrics)
        await world.clock.sleep(of: rest)
        world.clock.advance(by: rest)
        #expect(await third.error?.cause == FingerprintError(.noReply).cause)
        async let fourth = world.engine.status()
        await world.clock.sleep(of: rest)
        world.clock.advance(by: rest)
        #expect(await fourth.sensorFault == FingerprintError(.noReply).cause)
        world.reader.keepSilent(false)
        while await !world.engine.openLooks.isEmpty { await Task.yield() }
        #expect(await world.engine.status().sensorFault == nil)
        #expect(await world.engine.availability(of: .biometrics).error == nil)
    }

    @Test("status reports counts, delay and sensor")
    func status() async {
        let now = StandingClock().now()
        let world = World(
            record: AttemptRecord(
                biometryFailures: 2,
                passcodeFailures: 4,
                lastPasscodeFailure: now,
                lastPasscodeSuccess: now,
                lastUse: now
            )
        )
        world.clock.advance(by: .milliseconds(500))
        var expected = AuthenticationStatus(
            sensor: "Scripted sensor",
            biometryFailures: 2,
            passcodeFailures: 4
        )
        expected.fingers = ["left-index-finger", "right-index-finger"]
        expected.binding = .names
        expected.passcodeDelay = 60
        #expect(await world.engine.status() == expected)
        world.reader.enrol(.failure(FingerprintError(.noBus)))
        #expect(await world.engine.status().sensorFault == DriverCause(domain: "fprintd", code: "NoBus"))
        #expect(await world.engine.status().sensor == nil)
    }
}
