import KeychainModel
import Testing
import TouchstoneTesting

@testable import AuthenticationEngine

@Suite("Reuse of a fingerprint", .timeLimit(.minutes(20)))
struct ReuseTests {
    private func touched(_ world: World, _ target: Evaluation.Target = .policy(.biometrics)) async {
        let task = world.start(world.evaluation(target))
        await world.reader.touch(.match)
        #expect(await task.value.factors == [.biometry])
    }

    /// Whether an evaluation succeeds without a prompt.
    private func isReused(
        _ world: World,
        _ target: Evaluation.Target = .policy(.biometrics),
        within window: Duration,
        _ caller: Caller = World.caller()
    ) async -> Bool {
        // No prompt is allowed, so only a reuse can succeed.
        let request = World.request(caller, interactionAllowed: false)
        return await world.start(world.evaluation(target, reuse: window, request)).value.factors == [
            .biometry
        ]
    }

    @Test(
        "the reuse window is what the app requested, at most 300 s",
        arguments: [(0, 0), (10, 10), (300, 300), (10_000, 300), (-5, 0)]
    )
    func window(_ asked: Int, _ granted: Int) async {
        let world = World()
        await touched(world)
        if granted > 0 {
            world.clock.advance(by: .seconds(granted - 1))
            #expect(await isReused(world, within: .seconds(asked)))
            world.clock.advance(by: .seconds(2))
        }
        #expect(await !isReused(world, within: .seconds(asked)))
    }

    @Test("a reuse does not extend the window")
    func noRenewal() async throws {
        let world = World()
        await touched(world)
        let shown = world.clock.now()
        world.clock.advance(by: .seconds(200))
        let request = World.request(interactionAllowed: false)
        let evaluation = world.evaluation(.biometrics, reuse: .seconds(300), request)
        #expect(try await world.start(evaluation).value.get().time == shown)
        world.clock.advance(by: .seconds(200))
        #expect(await !isReused(world, within: .seconds(300)))
    }

    @Test("a clock that goes back, or a reboot, does not extend the window")
    func clockBack() async {
        let world = World()
        await touched(world)
        world.clock.restart(bootID: "boot-1", sinceBoot: .seconds(1))
        #expect(await !isReused(world, within: .seconds(300)))
        world.clock.restart(bootID: "boot-2", sinceBoot: .seconds(1000))
        #expect(await !isReused(world, within: .seconds(300)))
    }

    @Test("another process, also a later one with the same number, cannot reuse a fingerprint")
    func otherProcess() async {
        let world = World()
        await touched(world)
        #expect(await !isReused(world, within: .seconds(300), World.caller(101)))
        #expect(await !isReused(world, within: .seconds(300), World.caller(uid: 0)))
        let own = World.caller()
        let later = Caller(
            uid: own.uid,
            pid: own.pid,
            processStart: 8,
            program: own.program,
            accessGroup: own.accessGroup
        )
        #expect(await !isReused(world, within: .seconds(300), later))
        let unknown = Caller(
            uid: own.uid,
            pid: 0,
            processStart: 0,
            program: nil,
            accessGroup: own.accessGroup
        )
        #expect(await !isReused(world, within: .seconds(300), unknown))
    }

    @Test("a fingerprint is not reused for a stricter access control or another operation")
    func stricter() async throws {
        let world = World()
        let mild = try AccessControl(accessibility: .whenUnlocked, flags: .userPresence)
        let strict = try AccessControl(accessibility: .whenUnlocked, flags: .biometryCurrentSet)
        await touched(world, .accessControl(mild, .useItem))
        #expect(await isReused(world, .accessControl(mild, .useItem), within: .seconds(60)))
        #expect(await !isReused(world, .accessControl(mild, .useKeySign), within: .seconds(60)))
        #expect(await !isReused(world, .accessControl(strict, .useItem), within: .seconds(60)))
        #expect(await !isReused(world, .policy(.biometrics), within: .seconds(60)))
        await touched(world, .policy(.biometrics))
        #expect(await isReused(world, .accessControl(strict, .useItem), within: .seconds(60)))
    }

    @Test("a passcode is never reused")
    func passcode() async {
        let world = World()
        world.prompter.will(.type(World.passcode))
        #expect(await world.start(.deviceOwner).value.factors == [.passcode])
        #expect(await !isReused(world, .policy(.deviceOwner), within: .seconds(300)))
    }

    @Test("a lock, a suspend and an enrolment change end the reuse")
    func endings() async {
        let locked = World()
        await touched(locked)
        await locked.engine.lock()
        locked.keybag.become(.unlocked)
        #expect(await !isReused(locked, within: .seconds(300)))

        let asleep = World()
        await touched(asleep)
        let watch = Task { await asleep.engine.run() }
        await asleep.reader.send(.suspend)
        while await asleep.engine.reuse != FactorReuse() { await Task.yield() }
        #expect(await !isReused(asleep, within: .seconds(300)))
        watch.cancel()
        await watch.value

        let changed = World()
        await touched(changed)
        changed.reader.enrol(.success(Enrolments.three))
        #expect(await !isReused(changed, within: .seconds(300)))
    }
}
