import KeychainModel
import Testing
import TouchstoneTesting

@testable import AuthenticationEngine

/// A fingerprint alone is accepted only on a channel where the passcode was entered since the daemon's start.
@Suite("Prompt channels on which the passcode was entered", .timeLimit(.minutes(20)))
struct SeenChannelTests {
    private func evaluation(
        _ world: World,
        _ policy: AuthenticationPolicy,
        at terminal: String?
    ) -> Evaluation {
        world.evaluation(policy, World.request(terminal: terminal))
    }

    @Test("of a hundred prompts on terminals without a passcode entry, none accepts a touch")
    func hidden() async {
        let world = World { $0.unsuccessfulPrompts = 1000 }
        for number in 1...100 {
            let request = World.request(
                World.caller(Int32(number), program: "/tmp/\(number)"),
                terminal: "/dev/pts/\(number)"
            )
            let policy: AuthenticationPolicy = number.isMultiple(of: 2) ? .biometrics : .deviceOwner
            let task = world.start(world.evaluation(policy, request))
            let box = await world.prompter.box(number)
            #expect(box.input == .secret)
            #expect(!world.reader.touchNow(.match))
            world.prompter.will(.cancel)
            #expect(await task.value.code == .userCancel)
        }
        #expect(!world.journal.entries.contains("arm") && !world.journal.entries.contains("claim"))
        #expect(world.attempts.record.biometryFailures == 0)
    }

    @Test("entering the passcode enables fingerprints on that terminal only")
    func typed() async {
        let world = World(seen: [])
        let first = world.start(evaluation(world, .deviceOwner, at: "/dev/pts/1"))
        #expect(await world.prompter.box(1).heading.contains("the first time here"))
        world.prompter.will(.type(World.passcode))
        #expect(await first.value.factors == [.passcode])
        let second = world.start(evaluation(world, .deviceOwner, at: "/dev/pts/1"))
        #expect(await world.prompter.box(2).input == .touchOrSecret)
        await world.reader.touch(.match)
        #expect(await second.value.factors == [.biometry])
        let other = world.start(evaluation(world, .deviceOwner, at: "/dev/pts/2"))
        #expect(await world.prompter.box(3).input == .secret)
        world.prompter.will(.type(World.passcode))
        #expect(await other.value.factors == [.passcode])
    }

    @Test(
        "a match does not count once its prompt is lost, and is no failed attempt",
        arguments: [true, false]
    )
    func lost(isBiometryAlone: Bool) async {
        let world = World(seen: [])
        let first = world.start(evaluation(world, .deviceOwner, at: "/dev/pts/1"))
        world.prompter.will(.type(World.passcode))
        #expect(await first.value.factors == [.passcode])
        let policy: AuthenticationPolicy = isBiometryAlone ? .biometrics : .deviceOwner
        let second = world.start(evaluation(world, policy, at: "/dev/pts/1"))
        _ = await world.prompter.box(2)
        world.prompter.lose(true)
        await world.reader.touch(.match)
        defer { #expect(world.attempts.record.biometryFailures == 0) }
        if !isBiometryAlone {
            // The passcode is still accepted.
            #expect(await world.prompter.box(3).input == .secret)
            world.prompter.will(.type(World.passcode))
            #expect(await second.value.factors == [.passcode])
        } else {
            #expect(await second.value.factors == nil)
        }
    }

    @Test("a biometrics policy requires the passcode first and then the fingerprint, in one evaluation")
    func fingersAlone() async {
        let world = World(seen: [])
        let first = world.start(evaluation(world, .biometrics, at: "/dev/pts/1"))
        #expect(await world.prompter.box(1).input == .secret)
        world.prompter.will(.type(World.passcode))
        await world.reader.touch(.match)
        #expect(await first.value.factors == [.passcode, .biometry])
        let second = world.start(evaluation(world, .biometrics, at: "/dev/pts/1"))
        await world.reader.touch(.match)
        #expect(await second.value.factors == [.biometry])
        #expect(world.prompter.boxes.map(\.input) == [.secret, .touch, .touch])
    }

    @Test("a wrong or cancelled passcode does not enable fingerprints on a terminal")
    func notOpened() async {
        let world = World(seen: [])
        world.prompter.will(.type("wrong"), .cancel)
        let first = world.start(evaluation(world, .deviceOwner, at: "/dev/pts/1"))
        #expect(await first.value.code == .userCancel)
        let again = world.start(evaluation(world, .deviceOwner, at: "/dev/pts/1"))
        #expect(await world.prompter.box(3).input == .secret)
        world.prompter.will(.cancel)
        #expect(await again.value.code == .userCancel)
    }

    @Test("a restarted engine remembers no channel, and a lock forgets none")
    func restarted() async {
        let world = World(seen: [])
        world.prompter.will(.type(World.passcode))
        #expect(
            await world.start(evaluation(world, .deviceOwner, at: "/dev/pts/1")).value.factors == [.passcode]
        )
        await world.engine.lock()
        world.keybag.become(.unlocked)
        let later = world.start(evaluation(world, .biometrics, at: "/dev/pts/1"))
        await world.reader.touch(.match)
        #expect(await later.value.factors == [.biometry])
        let restarted = world.restartedEngine()
        let task = world.start(evaluation(world, .deviceOwner, at: "/dev/pts/1"), on: restarted)
        #expect(await world.prompter.box(3).input == .secret)
        world.prompter.will(.cancel)
        #expect(await task.value.code == .userCancel)
    }

    @Test("entering a passcode at set-up, passcode change and recovery enables the terminal too")
    func flows() async throws {
        let world = World(state: .notSetUp, seen: [])
        let passcode = "marble lantern orchid tundra velvet"
        world.prompter.will(.type(passcode), .confirm, .typeShown)
        try await world.engine.setUp(World.request(terminal: "/dev/pts/1"))
        #expect(await world.engine.seen.contains(PromptChannel("/dev/pts/1")))
        world.prompter.will(.type(passcode), .type(passcode + " more"))
        try await world.engine.changePasscode(World.request(terminal: "/dev/pts/2"))
        #expect(await world.engine.seen.contains(PromptChannel("/dev/pts/2")))
        world.prompter.will(.typeShown, .type(passcode))
        try await world.engine.recover(World.request(terminal: "/dev/pts/3"))
        #expect(await world.engine.seen.contains(PromptChannel("/dev/pts/3")))
        #expect(await !world.engine.seen.contains(PromptChannel("/dev/pts/4")))
    }

    @Test("on an unknown channel the passcode is required each time, and a touch only right after it")
    func unknown() async {
        let world = World()
        for number in [0, 2] {
            let task = world.start(evaluation(world, .biometrics, at: nil))
            #expect(await world.prompter.box(number + 1).input == .secret)
            world.prompter.will(.type(World.passcode))
            await world.reader.touch(.match)
            #expect(await task.value.factors == [.passcode, .biometry])
        }
    }

    @Test("the number of remembered channels is limited, and the least recently used one is dropped")
    func bound() {
        var seen = SeenChannels()
        for number in 1...SeenChannels.mostChannels { seen.note(PromptChannel("\(number)")) }
        seen.note(PromptChannel("1"))
        seen.note(PromptChannel("new"))
        #expect(seen.contains(PromptChannel("1")) && seen.contains(PromptChannel("new")))
        #expect(!seen.contains(PromptChannel("2")) && seen.contains(PromptChannel("3")))
        #expect(!seen.contains(nil))
        seen.note(nil)
        #expect(!seen.contains(nil))
    }
}
