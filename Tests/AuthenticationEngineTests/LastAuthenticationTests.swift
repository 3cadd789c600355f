import KeychainModel
import Testing
import TouchstoneTesting

@testable import AuthenticationEngine

/// The cells: before any prompt; a finger on a strong and on a weak sensor, the passcode, both; refused, cancelled; reused; a
/// prompt that only unlocks, a shared one; locked, restarted, started over; another boot; more programs than are remembered.
@Suite("The last authentication", .timeLimit(.minutes(20)))
struct LastAuthenticationTests {
    private static let both: AccessControlFlags = [.biometryAny, .and, .devicePasscode]

    private func group(_ name: String = "tests") throws -> AccessGroup { try #require(AccessGroup(name)) }

    private func request(_ name: String) throws -> PromptRequest {
        let caller = Caller(
            uid: 1000,
            pid: 100,
            processStart: 7,
            program: "/usr/bin/\(name)",
            accessGroup: try group(name)
        )
        return World.request(caller)
    }

    private func touch(_ world: World, _ request: PromptRequest = World.request()) async {
        let task = world.start(world.evaluation(.biometrics, request))
        await world.reader.touch(.match)
        #expect(await task.value.factors == [.biometry])
    }

    private func type(_ world: World, _ request: PromptRequest = World.request()) async throws {
        world.prompter.will(.type(World.passcode))
        _ = try await world.engine.confirm(request, heading: "Sure?")
    }

    @Test("it is told by factor and sensor, with its age, the newest first")
    func kinds() async throws {
        let world = World()
        let own = try group()
        #expect(await world.engine.lastAuthentications(for: own).isEmpty, "before any prompt")
        await touch(world)
        world.clock.advance(by: .seconds(10))
        try await type(world)
        world.clock.advance(by: .seconds(5))
        world.reader.enrol(
            .success(
                Enrolment(
                    device: "Scripted sensor",
                    fingers: ["left-index-finger", "right-index-finger"],
                    templateDigest: nil,
                    completions: 0,
                    sensor: SensorFacts(grade: .strong, gradedBy: .administrator)
                )
            )
        )
        await touch(world)
        let told = await world.engine.lastAuthentications(for: own)
        #expect(told.map(\.factor) == [.biometry, .passcode, .biometry])
        #expect(told.map(\.isOfWeakSensor) == [false, false, true])
        #expect(told.map(\.age) == [.zero, .seconds(5), .seconds(15)])
        #expect(told.allSatisfy { $0.group == own })
        // A prompt for both counts as both.
        let target = Evaluation.Target.accessControl(
            try AccessControl(accessibility: .whenUnlocked, flags: Self.both),
            .useItem
        )
        world.clock.advance(by: .seconds(1))
        let task = world.start(world.evaluation(target))
        world.prompter.will(.type(World.passcode))
        await world.reader.touch(.match)
        #expect(await task.value.factors == [.biometry, .passcode])
        let now = await world.engine.lastAuthentications(for: own).filter { $0.age == .zero }
        #expect(Set(now.map(\.factor)) == [.biometry, .passcode])
    }

    @Test("a refused finger and a cancelled prompt are none")
    func none() async {
        let world = World()
        world.prompter.will(.cancel)
        #expect(await world.start(.biometrics).value.code == .userCancel)
        let missed = world.start(.biometrics)
        await world.reader.touch(.noMatch)
        // The prompt after the miss.
        _ = await world.prompter.box(3)
        world.prompter.will(.cancel)
        #expect(await missed.value.code == .userCancel)
        #expect(await world.engine.lastAuthentications(for: nil).isEmpty)
    }

    @Test("a reuse of a finger and a new passcode are none")
    func withoutProof() async throws {
        let world = World()
        let own = try group()
        await touch(world)
        world.clock.advance(by: .seconds(20))
        let silent = World.request(interactionAllowed: false)
        let reused = world.start(world.evaluation(.biometrics, reuse: .seconds(60), silent))
        #expect(await reused.value.factors == [.biometry])
        #expect(await world.engine.lastAuthentications(for: own).map(\.age) == [.seconds(20)])

        let fresh = World(state: .notSetUp)
        fresh.prompter.will(.type("orbit hazel trumpet velvet quarry"), .confirm, .typeShown)
        try? await fresh.engine.setUp(World.request())
        #expect(await fresh.keybag.state() != .notSetUp)
        #expect(await fresh.engine.lastAuthentications(for: nil).isEmpty, "a new passcode proves nobody")
    }

    @Test("a program is told of the prompts that named it; an unlock counts for the one that asked")
    func programs() async throws {
        let world = World(state: .locked)
        let (one, other) = (try request("one"), try request("other"))
        async let first = world.engine.unlock(one)
        _ = await world.prompter.box(1)
        async let second = world.engine.unlock(other)
        while await world.engine.joinedCount(of: 1000) < 1 { await Task.yield() }
        world.prompter.will(.type(World.passcode))
        #expect(try await first?.factors == [.passcode])
        #expect(try await second == nil)
        #expect(await world.engine.lastAuthentications(for: try group("one")).map(\.factor) == [.passcode])
        #expect(await world.engine.lastAuthentications(for: try group("other")).isEmpty)

        world.clock.advance(by: .seconds(3))
        await touch(world, other)
        #expect(await world.engine.lastAuthentications(for: try group("other")).map(\.factor) == [.biometry])
        let all = await world.engine.lastAuthentications(for: nil)
        #expect(all.map(\.group.name) == ["other", "one"])
        #expect(all.map(\.age) == [.zero, .seconds(3)])
        // Of two programs with the same kind, the later one.
        world.clock.advance(by: .seconds(3))
        await touch(world, one)
        let newest = await world.engine.lastAuthentications(for: nil).first
        #expect(newest?.group.name == "one" && newest?.factor == .biometry)
    }

    @Test("a lock forgets nothing; a restart of the daemon, another boot and starting over forget all")
    func ends() async throws {
        let world = World()
        try await type(world)
        await world.engine.lock()
        #expect(await world.engine.lastAuthentications(for: nil).count == 1)
        #expect(await world.restartedEngine().lastAuthentications(for: nil).isEmpty)
        world.clock.restart(bootID: "boot-2", sinceBoot: .seconds(1000))
        #expect(await world.engine.lastAuthentications(for: nil).isEmpty)

        let other = World()
        try await type(other)
        other.prompter.will(.type("start over"))
        try await other.engine.startOver(World.request())
        #expect(await other.engine.lastAuthentications(for: nil).isEmpty)
    }

    @Test("of more programs than are remembered, the one with the oldest authentication is forgotten")
    func limit() async throws {
        let world = World()
        for number in 0...PastAuthentications.programCount {
            try await type(world, try request("program-\(number)"))
            world.clock.advance(by: .seconds(1))
        }
        #expect(await world.engine.lastAuthentications(for: try group("program-0")).isEmpty)
        #expect(await world.engine.lastAuthentications(for: try group("program-1")).count == 1)
    }
}
