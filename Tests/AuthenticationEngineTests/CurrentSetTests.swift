import KeychainModel
import Testing
import TouchstoneTesting

@testable import AuthenticationEngine

@Suite("Observing the enrolled set when something is bound to it", .timeLimit(.minutes(20)))
struct CurrentSetTests {
    private func refusal(_ world: World) async -> KeychainError? {
        do {
            try await world.engine.observeCurrentSet()
            return nil
        } catch {
            return error
        }
    }

    @Test("the set is observed before binding; an unreadable or empty set is refused")
    func observed() async {
        let world = World()
        #expect(await refusal(world) == nil)
        world.reader.enrol(.success(Enrolments.three))
        #expect(await refusal(world) == nil)
        // The observation is a regular one: the change was noticed.
        #expect(world.audit.count(.enrolmentChanged) == 1)
        #expect(await world.start(.biometrics).value.error?.cause == .enrolmentChanged)
        for (failure, code) in [
            (FingerprintError.Code.noEnrolledPrints, AuthenticationError.Code.biometryNotEnrolled),
            (.permissionDenied, .biometryNotAvailable), (.disconnected, .biometryDisconnected),
            (.serviceUnknown, .biometryNotAvailable), (.noBus, .biometryNotAvailable),
            (.noReply, .biometryNotAvailable),
        ] {
            world.reader.enrol(.failure(FingerprintError(failure)))
            let refusal = await refusal(world)
            #expect(refusal?.status == .authFailed)
            #expect(refusal?.authentication?.code == code)
            #expect(refusal?.cause == FingerprintError(failure).cause)
        }
        // It was there before.
        world.reader.enrol(.failure(FingerprintError(.noSuchDevice)))
        #expect(await refusal(world)?.authentication?.code == .biometryDisconnected)
        let without = World()
        without.reader.enrol(.failure(FingerprintError(.noSuchDevice)))
        #expect(await refusal(without)?.authentication?.code == .biometryNotAvailable)
        world.reader.enrol(.success(Enrolments.none))
        #expect(await refusal(world)?.authentication?.code == .biometryNotEnrolled)
        #expect(world.prompter.boxes.isEmpty)
    }

    @Test("the set cannot be observed before the keybag's first unlock")
    func locked() async {
        #expect(await refusal(World(state: .locked))?.cause == .locked)
        #expect(await refusal(World(state: .notSetUp))?.cause == .notSetUp)
        #expect(await refusal(World(state: .damaged))?.cause == .damaged)
        #expect(await refusal(World(state: .lockedAfterFirstUnlock)) == nil)
    }

    @Test("set-up passes on the enrolled set: empty without a sensor, unknown if it cannot be read")
    func setUp() async throws {
        for (enrolled, known) in [
            (Result<Enrolment, FingerprintError>.success(Enrolments.three), Enrolments.three),
            (.success(Enrolments.none), Enrolments.none),
            (
                .failure(FingerprintError(.noSuchDevice)),
                Enrolment(device: "", fingers: [], templateDigest: nil, completions: 0)
            ),
            (.failure(FingerprintError(.permissionDenied)), nil), (.failure(FingerprintError(.noBus)), nil),
        ] as [(Result<Enrolment, FingerprintError>, Enrolment?)] {
            let world = World(state: .notSetUp)
            world.reader.enrol(enrolled)
            world.prompter.will(.type("marble lantern orchid tundra velvet"), .confirm, .typeShown)
            try await world.engine.setUp(World.request())
            #expect(world.keybag.enrolled == known)
        }
    }

    @Test("status observes the set too")
    func status() async {
        let world = World()
        _ = await world.engine.status()
        world.reader.enrol(.success(Enrolments.three))
        _ = await world.engine.status()
        #expect(world.audit.count(.enrolmentChanged) == 1)
        #expect(await world.start(.biometrics).value.error?.cause == .enrolmentChanged)
    }
}

@Suite("A passcode prompt says why no fingerprint is accepted", .timeLimit(.minutes(20)))
struct DarkSensorTests {
    private func error(_ world: World, _ policy: AuthenticationPolicy = .deviceOwner) async -> String? {
        let task = world.start(policy)
        let box = await world.prompter.box(1)
        #expect(box.input == .secret)
        world.prompter.will(.cancel)
        _ = await task.value
        return box.error
    }

    @Test("the enrolled fingers have changed")
    func changed() async {
        let world = World()
        _ = await world.engine.availability(of: .biometrics)
        world.reader.enrol(.success(Enrolments.three))
        _ = await world.engine.availability(of: .biometrics)
        #expect(await error(world) == "The enrolled fingers have changed: passcode first.")
    }

    @Test("a lockout, a due passcode, no enrolled finger and an unusable sensor each have a message")
    func others() async {
        let refused = World(record: AttemptRecord(biometryFailures: 5))
        #expect(await error(refused) == "Fingers are off until the passcode is entered.")
        let old = World()
        old.clock.advance(by: .seconds(73 * 3600))
        #expect(await error(old)?.hasPrefix("Fingers wait for the passcode") == true)
        let empty = World()
        empty.reader.enrol(.failure(FingerprintError(.noEnrolledPrints)))
        #expect(await error(empty) == "No finger is enrolled.")
        let denied = World()
        denied.reader.enrol(.failure(FingerprintError(.permissionDenied)))
        #expect(await error(denied) == "The fingerprint sensor cannot be used.")
        // For a locked keychain the prompt's title says so.
        #expect(await error(World(state: .locked)) == nil)
    }
}
