import KeychainModel
import Testing
import TouchstoneTesting

@testable import AuthenticationEngine

@Suite("Boxes", .timeLimit(.minutes(20)))
struct PromptTurnTests {
    @Test("a touch counts only once the box was visible for 500 ms (B10)")
    func settling() async {
        let world = World(settlingTime: .milliseconds(500))
        let task = world.start(.biometrics)
        await world.clock.sleep(of: .milliseconds(500))
        #expect(!world.reader.touchNow(.match))
        world.clock.advance(by: .milliseconds(499))
        #expect(!world.reader.touchNow(.match))
        #expect(!world.journal.entries.contains("arm"))
        world.clock.advance(by: .milliseconds(1))
        await world.reader.armed()
        #expect(world.reader.touchNow(.match))
        #expect(await task.value.factors == [.biometry])
    }

    @Test("a second request waits for the first, whose box is the only one (B10)")
    func queue() async {
        let world = World()
        let first = world.start(world.evaluation(.biometrics, World.request(World.caller(1))))
        await world.reader.armed()
        let second = world.start(world.evaluation(.biometrics, World.request(World.caller(2))))
        await world.engine.waits(for: 1)
        await world.reader.touch(.match)
        #expect(await first.value.factors == [.biometry])
        #expect(await world.prompter.box(2).requester == "/usr/bin/app (process 2)")
        await world.reader.touch(.noMatch)
        await world.reader.touch(.match)
        #expect(await second.value.factors == [.biometry])
        #expect(world.prompter.mostVisible == 1)
    }

    @Test("of a thousand requests one is shown, eight wait, the rest ends; three refusals end it (Q04)")
    func storm() async {
        let world = World()
        let first = world.start(.biometrics)
        await world.reader.armed()
        var refused = 0
        await withTaskGroup { group in
            for number in 0..<1000 {
                let caller = World.caller(Int32(number) + 10)
                group.addTask {
                    await world.start(world.evaluation(.biometrics, World.request(caller))).value
                }
            }
            for await result in group {
                if result.error?.cause == .tooManyPrompts { refused += 1 }
                if refused == 992 {
                    // Eight are left, and the person has had enough of this program.
                    world.prompter.will(.cancel, .cancel, .cancel)
                    refused += 1
                }
            }
        }
        #expect(refused == 993)
        #expect(await first.value.code == .userCancel)
        #expect(world.prompter.mostVisible == 1)
        #expect(world.prompter.boxes.count == 3)
    }

    @Test("another user is not kept waiting by one who has many requests")
    func users() async {
        let world = World()
        let mine = World.request(World.caller(1, uid: 1))
        let first = world.start(world.evaluation(.biometrics, mine))
        await world.reader.armed()
        let second = world.start(world.evaluation(.biometrics, mine))
        await world.engine.waits(for: 1)
        let other = world.start(world.evaluation(.biometrics, World.request(World.caller(2, uid: 2))))
        await world.engine.waits(for: 2)
        await world.reader.touch(.match)
        _ = await first.value
        #expect(await world.prompter.box(2).requester == "/usr/bin/app (process 2)")
        await world.reader.touch(.match)
        #expect(await other.value.factors == [.biometry])
        await world.reader.touch(.match)
        #expect(await second.value.factors == [.biometry])
    }

    @Test("who gives up waiting is never shown")
    func givingUp() async {
        let world = World()
        let first = world.start(.biometrics)
        await world.reader.armed()
        let second = world.start(.biometrics)
        await world.engine.waits(for: 1)
        second.cancel()
        #expect(await second.value.code == .appCancel)
        await world.reader.touch(.match)
        #expect(await first.value.factors == [.biometry])
        #expect(world.prompter.boxes.count == 1)
    }

    @Test("six fruitless boxes a minute are enough, and cost no passcode try (L12)")
    func rate() async {
        let world = World(state: .locked)
        for _ in 1...6 {
            world.prompter.will(.waitTooLong)
            #expect(await world.start(.deviceOwner).value.error?.cause == .timeout)
        }
        let error = await world.start(.deviceOwner).value.error
        #expect(error?.code == .systemCancel)
        #expect(error?.cause == .promptRate)
        #expect(error?.remedy == .wait(seconds: 60))
        #expect(world.prompter.boxes.count == 6)
        #expect(world.attempts.record.passcodeFailures == 0)
        world.clock.advance(by: .seconds(60))
        world.prompter.will(.type(World.passcode))
        #expect(await world.start(.deviceOwner).value.factors == [.passcode])
    }

    @Test("three cancelled boxes running silence a program for a minute, and no other (Q04)")
    func silence() async {
        let world = World(state: .locked)
        for _ in 1...3 {
            world.prompter.will(.cancel)
            #expect(await world.start(.deviceOwner).value.code == .userCancel)
        }
        // Another process of the same program is the same caller.
        let again = await world.start(world.evaluation(.deviceOwner, World.request(World.caller(101)))).value
        #expect(again.code == .systemCancel)
        #expect(again.error?.cause == .callerSilenced)
        #expect(again.error?.remedy == .wait(seconds: 60))
        #expect(world.prompter.boxes.count == 3)
        let other = World.request(World.caller(102, program: "/usr/bin/other"))
        world.prompter.will(.type(World.passcode))
        #expect(await world.start(world.evaluation(.deviceOwner, other)).value.factors == [.passcode])
        #expect(await world.start(.deviceOwner).value.error?.cause == .callerSilenced)
        world.clock.advance(by: .seconds(60))
        world.prompter.will(.type(World.passcode))
        #expect(await world.start(.deviceOwner).value.factors == [.passcode])
    }

    @Test("a success between two cancelled boxes begins the count anew")
    func notSilenced() async {
        let world = World(state: .locked)
        for _ in 1...3 {
            world.prompter.will(.cancel)
            #expect(await world.start(.deviceOwner).value.code == .userCancel)
            world.prompter.will(.type(World.passcode))
            #expect(await world.start(.deviceOwner).value.factors == [.passcode])
        }
    }

    @Test("with nowhere to show it there is no box and no weaker way (Q05)")
    func notInteractive() async {
        for code in [PromptError.Code.notInteractive, .prompterMissing] {
            let world = World()
            world.prompter.obstruct(PromptError(code))
            for policy in [AuthenticationPolicy.biometrics, .deviceOwner] {
                #expect(await world.start(policy).value.code == .notInteractive)
            }
            #expect(!world.journal.entries.contains("claim"))
        }
    }

    @Test("a request that allows no box gets none")
    func interactionNotAllowed() async {
        let world = World()
        let request = World.request(interactionAllowed: false)
        #expect(await world.start(world.evaluation(.deviceOwner, request)).value.code == .notInteractive)
        #expect(world.prompter.boxes.isEmpty)
    }
}
