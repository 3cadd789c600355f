import KeychainModel
import Testing
import TouchstoneTesting

@testable import AuthenticationEngine

/// The cells: a sensor of each grade and grader; a finger, a finger or the passcode, and both; a strong sensor wanted, or any.
@Suite("Weak sensors", .timeLimit(.minutes(20)))
struct WeakSensorTests {
    private static func seen(_ facts: SensorFacts) -> Enrolment {
        Enrolment(
            device: "Scripted sensor",
            fingers: ["left-index-finger", "right-index-finger"],
            templateDigest: nil,
            completions: 0,
            sensor: facts
        )
    }

    private static let weak = [
        SensorFacts(), SensorFacts(grade: .weak, gradedBy: .administrator),
        SensorFacts(grade: .weak, gradedBy: .settings), SensorFacts(grade: .weak, gradedBy: .driver),
    ]
    private static let strong = [
        SensorFacts(grade: .strong, gradedBy: .administrator), SensorFacts(grade: .strong, gradedBy: .driver),
        SensorFacts(gradedBy: .settings),
    ]
    private static let finger: AccessControlFlags = .biometryCurrentSet
    private static let either: AccessControlFlags = [.biometryAny, .or, .devicePasscode]
    private static let both: AccessControlFlags = [.biometryCurrentSet, .and, .devicePasscode]

    private func world(_ facts: SensorFacts) -> World {
        let world = World()
        world.reader.enrol(.success(Self.seen(facts)))
        return world
    }

    private func target(_ flags: AccessControlFlags) throws -> Evaluation.Target {
        .accessControl(try AccessControl(accessibility: .whenUnlocked, flags: flags), .useItem)
    }

    @Test(
        "a finger on a weak sensor is refused without a prompt where a strong one is wanted",
        arguments: weak
    )
    func refused(facts: SensorFacts) async throws {
        let world = world(facts)
        for flags in [Self.finger, .biometryAny, Self.both] {
            let task = world.start(world.evaluation(try target(flags.union(.strongSensor))))
            let error = await task.value.error
            #expect(error?.code == .biometryNotAvailable && error?.cause?.known == .sensorTooWeak)
            #expect(error?.remedy == .usePasscode)
            #expect(world.prompter.boxes.isEmpty)
        }
        #expect(!world.journal.entries.contains("arm"))
        // Where the passcode suffices, it is asked for, and the prompt says why.
        let count = world.prompter.boxes.count
        let task = world.start(world.evaluation(try target(Self.either.union(.strongSensor))))
        let box = await world.prompter.box(count + 1)
        #expect(box.input == .secret && box.error == "The fingerprint sensor is too weak for this.")
        world.prompter.will(.type(World.passcode))
        let proof = try await task.value.get()
        #expect(proof.factors == [.passcode] && !proof.isOfWeakSensor)
    }

    @Test(
        "any sensor's finger counts where none is wanted strong, and the proof says how weak it was",
        arguments: weak + strong
    )
    func accepted(facts: SensorFacts) async throws {
        let world = world(facts)
        for target in [
            try target(Self.finger), try target(Self.either), .policy(.biometrics), .policy(.deviceOwner),
        ] {
            let task = world.start(world.evaluation(target))
            await world.reader.touch(.match)
            let proof = try await task.value.get()
            #expect(proof.factors == [.biometry] && proof.isOfWeakSensor == facts.isWeak)
        }
        #expect(await world.engine.availability(of: .biometrics).error == nil)
    }

    @Test("a strong or accepted sensor's finger counts where a strong one is wanted", arguments: strong)
    func counted(facts: SensorFacts) async throws {
        let world = world(facts)
        for flags in [Self.finger, Self.either] {
            let task = world.start(world.evaluation(try target(flags.union(.strongSensor))))
            await world.reader.touch(.match)
            let proof = try await task.value.get()
            #expect(proof.factors == [.biometry] && !proof.isOfWeakSensor)
        }
    }

    @Test(
        "no finger counts on a sensor with a known hole, whoever says so, and the passcode is asked for instead",
        arguments: [SensorFacts.Grader.administrator, .settings]
    )
    func unsafe(grader: SensorFacts.Grader) async throws {
        let world = world(SensorFacts(grade: .unsafe, gradedBy: grader))
        for flags in [Self.finger, .biometryAny, Self.both] {
            let error = await world.start(world.evaluation(try target(flags))).value.error
            #expect(error?.code == .biometryNotAvailable && error?.cause?.known == .sensorUnsafe)
            #expect(error?.remedy == .usePasscode)
        }
        let policy = await world.start(world.evaluation(.policy(.biometrics))).value.error
        #expect(policy?.cause?.known == .sensorUnsafe)
        #expect(world.prompter.boxes.isEmpty)
        let known = await world.engine.availability(of: .biometrics)
        #expect(known.error?.cause?.known == .sensorUnsafe && known.hasSensor)
        #expect(await world.engine.availability(of: .deviceOwner).error == nil)
        let task = world.start(world.evaluation(try target(Self.either)))
        let box = await world.prompter.box(1)
        #expect(box.input == .secret && box.error == "The fingerprint sensor is not safe to use.")
        world.prompter.will(.type(World.passcode))
        #expect(try await task.value.get().factors == [.passcode])
        #expect(!world.journal.entries.contains("arm"))
        // An update of the firmware, and of the table.
        world.reader.enrol(.success(Self.seen(Self.strong[0])))
        let again = world.start(world.evaluation(.policy(.biometrics)))
        await world.reader.touch(.match)
        #expect(await again.value.factors == [.biometry])
    }

    @Test("a finger that was shown before the sensor was called unsafe is not reused")
    func unsafeReuse() async throws {
        let world = world(SensorFacts())
        let task = world.start(world.evaluation(.policy(.biometrics)))
        await world.reader.touch(.match)
        #expect(await task.value.factors == [.biometry])
        world.reader.enrol(.success(Self.seen(SensorFacts(grade: .unsafe, gradedBy: .administrator))))
        let silent = World.request(interactionAllowed: false)
        let evaluation = world.evaluation(.policy(.biometrics), reuse: .seconds(60), silent)
        #expect(await world.start(evaluation).value.factors != [.biometry])
    }

    @Test("a finger that was shown on a weak sensor is not reused once there is a strong one")
    func reuse() async throws {
        let world = world(SensorFacts())
        let silent = World.request(interactionAllowed: false)
        func isReused(_ target: Evaluation.Target) async -> Bool {
            let evaluation = world.evaluation(target, reuse: .seconds(60), silent)
            return await world.start(evaluation).value.factors == [.biometry]
        }
        let task = world.start(world.evaluation(.policy(.biometrics)))
        await world.reader.touch(.match)
        #expect(await task.value.factors == [.biometry])
        let strict = try target(Self.finger.union(.strongSensor))
        #expect(await isReused(try target(Self.finger)))
        #expect(await !isReused(strict))
        world.reader.enrol(.success(Self.seen(Self.strong[0])))
        #expect(await isReused(try target(Self.finger)))
        #expect(await !isReused(strict))
        let again = world.start(world.evaluation(.policy(.biometrics)))
        await world.reader.touch(.match)
        #expect(await again.value.factors == [.biometry])
        #expect(await isReused(strict))
        // And the other way round.
        world.reader.enrol(.success(Self.seen(SensorFacts())))
        #expect(await !isReused(strict))
    }
}
