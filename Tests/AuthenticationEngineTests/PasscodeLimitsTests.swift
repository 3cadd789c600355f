import KeychainModel
import Testing
import TouchstoneTesting

@testable import AuthenticationEngine

@Suite("Passcode attempts and their limits", .timeLimit(.minutes(20)))
struct PasscodeLimitsTests {
    @Test("ten different wrong passcodes close the keybag, and the right one no longer opens it")
    func tenClose() async {
        let world = World(state: .locked)
        var engine = world.engine
        var delays: [Int64] = []
        for number in 1...10 {
            world.prompter.will(.type("wrong number \(number)"), .cancel)
            let error = await world.start(world.evaluation(.deviceOwner), on: engine).value.error
            #expect(world.attempts.record.passcodeFailures == number)
            let status = await engine.status()
            delays.append(status.passcodeDelay)
            world.clock.advance(by: .seconds(max(61, status.passcodeDelay)))
            if number == 10 { #expect(error?.cause == .closed) }
            world.prompter.forget()
            engine = world.restartedEngine()
        }
        #expect(delays == [0, 0, 0, 60, 300, 900, 3600, 10_800, 28_800, 0])
        #expect(world.audit.count(.passcodeDelayed) == 6)
        #expect(world.audit.count(.keybagClosed) == 1)
        world.prompter.will(.type(World.passcode))
        let error = await world.start(world.evaluation(.deviceOwner), on: engine).value.error
        #expect(error?.code == .authenticationFailed)
        #expect(error?.cause == .closed)
        #expect(error?.remedy == .recover)
        #expect(await world.keybag.state() == .locked)
    }

    @Test("the count is saved before the passcode is tried, and the right passcode clears it")
    func countFirst() async {
        let world = World(state: .locked)
        world.prompter.will(.type("wrong"), .type(World.passcode))
        #expect(await world.start(.deviceOwner).value.factors == [.passcode])
        let expected = [
            "box", "box gone", "save 0 1", "open", "box", "box gone", "save 0 2", "open", "save 0 0",
        ]
        #expect(world.journal.entries == expected)
        #expect(world.prompter.boxes[1].error == "Wrong passcode. 9 tries left before the keychain closes.")
    }

    @Test("killing the daemon during a try gives no free attempt")
    func killed() async {
        let world = World(state: .locked)
        world.keybag.hold()
        world.prompter.will(.type("wrong"))
        let task = world.start(.deviceOwner)
        await world.journal.wait(for: "open")
        #expect(await world.restartedEngine().status().passcodeFailures == 1)
        world.prompter.will(.cancel)
        world.keybag.answer()
        #expect(await task.value.code == .userCancel)
    }

    @Test("the same wrong passcode is neither tried nor counted again in one evaluation")
    func sameAgain() async {
        let world = World(state: .locked)
        world.prompter.will(.type("wrong"), .type("wrong"), .type("wrong\n"), .cancel)
        #expect(await world.start(.deviceOwner).value.code == .userCancel)
        #expect(world.attempts.record.passcodeFailures == 1)
        #expect(world.journal.entries.count { $0 == "open" } == 1)
        // Another evaluation does not remember it.
        world.prompter.will(.type("wrong"), .cancel)
        _ = await world.start(.deviceOwner).value
        #expect(world.attempts.record.passcodeFailures == 2)
    }

    @Test(
        "an unusable passcode is not tried",
        arguments: ["", "\n", "a\0b", String(repeating: "x", count: 1025)]
    )
    func unusable(_ text: String) async {
        let world = World(state: .locked)
        world.prompter.will(.type(text), .cancel)
        #expect(await world.start(.deviceOwner).value.code == .userCancel)
        #expect(world.attempts.record.passcodeFailures == 0)
        #expect(!world.journal.entries.contains("open"))
    }

    @Test("during a delay no passcode is tried or counted, not even the right one")
    func duringDelay() async {
        let clock = StandingClock().now()
        let record = AttemptRecord(
            passcodeFailures: 3,
            lastPasscodeFailure: clock,
            lastPasscodeSuccess: clock,
            lastUse: clock
        )
        let world = World(state: .locked, record: record)
        world.prompter.will(.type("wrong"), .type(World.passcode), .cancel)
        #expect(await world.start(.deviceOwner).value.code == .userCancel)
        #expect(world.prompter.boxes[1].error?.contains("Wait 60 s.") == true)
        #expect(world.prompter.boxes[2].error == "Not tried. Wait 60 s.")
        #expect(world.attempts.record.passcodeFailures == 4)
        let error = await world.start(.deviceOwner).value.error
        #expect(error?.cause == .passcodeDelayed)
        #expect(error?.remedy == .wait(seconds: 60))
        #expect(world.prompter.boxes.count == 3)
    }

    @Test("a passcode delay does not affect fingerprints")
    func delayLeavesFinger() async {
        let now = StandingClock().now()
        let record = AttemptRecord(
            passcodeFailures: 5,
            lastPasscodeFailure: now,
            lastPasscodeSuccess: now,
            lastUse: now
        )
        let world = World(record: record)
        let task = world.start(.deviceOwner)
        await world.reader.touch(.match)
        #expect(await task.value.factors == [.biometry])
        #expect(world.attempts.record.passcodeFailures == 5)
    }

    @Test("a reboot restarts the delay durably")
    func restart() async {
        let now = StandingClock().now()
        let world = World(
            state: .locked,
            record: AttemptRecord(passcodeFailures: 5, lastPasscodeFailure: now)
        )
        world.clock.advance(by: .seconds(299))
        #expect(await world.engine.status().passcodeDelay == 1)
        world.clock.restart(bootID: "boot-2", sinceBoot: .seconds(1_000_000))
        #expect(await world.restartedEngine().status().passcodeDelay == 300)
        world.clock.advance(by: .seconds(300))
        #expect(await world.restartedEngine().status().passcodeDelay == 0)
        world.prompter.will(.type(World.passcode))
        #expect(await world.start(.deviceOwner).value.factors == [.passcode])
    }

    @Test("an attempt at an unreadable keybag stays counted")
    func damaged() async {
        let world = World(state: .locked)
        world.keybag.fail(KeychainError(.decode, cause: .damaged))
        world.prompter.will(.type(World.passcode))
        let error = await world.start(.deviceOwner).value.error
        #expect(error?.cause == .damaged)
        #expect(world.attempts.record.passcodeFailures == 1)
    }

    @Test("the passcode is due after 48 h without use and after 72 h")
    func due() async {
        let world = World()
        world.clock.advance(by: .seconds(48 * 3600))
        #expect(await world.start(.biometrics).value.error?.cause == .passcodeDue)
        let task = world.start(.deviceOwner)
        #expect(await world.prompter.box(1).input == .secret)
        world.prompter.will(.type(World.passcode))
        #expect(await task.value.factors == [.passcode])
        let finger = world.start(.biometrics)
        await world.reader.touch(.match)
        #expect(await finger.value.factors == [.biometry])
    }
}
