import KeychainModel
import Testing
import TouchstoneTesting

@testable import AuthenticationEngine

@Suite("A keybag key in the hardware's escrow", .timeLimit(.minutes(20)))
struct EscrowTests {
    private func lockedWorld() -> World {
        let world = World(state: .lockedAfterFirstUnlock)
        world.keybag.escrow()
        return world
    }

    @Test("a fingerprint unlocks a locked keybag, and the proof says so")
    func finger() async throws {
        let world = lockedWorld()
        async let proof = world.engine.unlock(World.request())
        await world.reader.touch(.match)
        #expect(try await proof?.factors == [.biometry])
        #expect(await world.keybag.state() == .unlocked)
        #expect(world.journal.entries.contains("open by finger"))
    }

    @Test("a biometrics evaluation unlocks the keybag; without an escrow the passcode comes first")
    func evaluation() async {
        let world = lockedWorld()
        let task = world.start(.biometrics)
        await world.reader.touch(.match)
        #expect(await task.value.factors == [.biometry])
        #expect(await world.keybag.state() == .unlocked)

        let without = World(state: .lockedAfterFirstUnlock)
        without.prompter.will(.cancel)
        #expect(await without.start(.biometrics).value.code == .userCancel)
        #expect(without.prompter.boxes.first?.input == .secret)
    }

    @Test(
        "a program for which fingers are switched off is asked for the passcode, not for the finger in escrow"
    )
    func switchedOff() async throws {
        let world = lockedWorld()
        var request = World.request()
        request.allowsFinger = false
        world.prompter.will(.type(World.passcode))
        #expect(try await world.engine.unlock(request)?.factors == [.passcode])
        #expect(!world.journal.entries.contains("arm"))
        world.prompter.will(.type(World.passcode))
        let either = world.start(world.evaluation(.deviceOwner, request))
        #expect(await either.value.factors == [.passcode])
        let finger = world.start(world.evaluation(.biometrics, reuse: .seconds(60), request))
        let error = await finger.value.error
        #expect(error?.code == .biometryNotAvailable && error?.cause?.known == .fingersOff)
        #expect(!world.journal.entries.contains("arm"))
    }

    @Test("five mismatches delete the escrow, and the passcode is required")
    func lockout() async throws {
        let world = lockedWorld()
        let task = world.start(.biometrics)
        for _ in 1...5 { await world.reader.touch(.noMatch) }
        #expect(await task.value.code == .biometryLockout)
        #expect(await world.keybag.holdsEscrow() == false)
        world.prompter.will(.type(World.passcode))
        #expect(try await world.engine.unlock(World.request())?.factors == [.passcode])
        #expect(!world.journal.entries.contains("open by finger"))
    }

    @Test("a due passcode deletes the escrow")
    func due() async throws {
        let world = lockedWorld()
        world.clock.advance(by: .seconds(80 * 3600))
        world.prompter.will(.type(World.passcode))
        #expect(try await world.engine.unlock(World.request())?.factors == [.passcode])
        #expect(world.journal.entries.contains("forget escrow"))
    }

    @Test("an escrow lost by the hardware is no success, and the passcode is required next")
    func lost() async throws {
        let world = lockedWorld()
        let task = world.start(.biometrics)
        await world.reader.armed()
        world.keybag.fail(KeychainError(.itemNotFound))
        await world.reader.touch(.match)
        let error = await task.value.error
        #expect(error?.code == .biometryLockout)
        #expect(error?.remedy == .usePasscode)
        #expect(await world.keybag.state() == .lockedAfterFirstUnlock)
    }
}

@Suite("Migration to hardware", .timeLimit(.minutes(20)))
struct HardwareFlowTests {
    @Test("migration requires the passcode, counted like any other attempt")
    func migration() async throws {
        let world = World(state: .locked)
        world.keybag.moveToHardware()
        world.prompter.will(.type("wrong"), .type(World.passcode))
        try await world.engine.migrate(World.request())
        #expect(world.prompter.boxes.count == 2)
        #expect(await world.keybag.state() == .unlocked)
        #expect(world.journal.entries.contains("save 0 1"))
    }

    @Test("a cancelled migration is not performed with the next passcode")
    func cancelled() async {
        let world = World()
        world.keybag.moveToHardware()
        world.prompter.will(.cancel)
        await #expect(throws: AuthenticationError(.userCancel)) {
            try await world.engine.migrate(World.request())
        }
        #expect(!world.keybag.isMigrating)
    }

    @Test("without better hardware there is no prompt")
    func nothingBetter() async {
        let world = World()
        await #expect(throws: AuthenticationError.self) { try await world.engine.migrate(World.request()) }
        #expect(world.prompter.boxes.isEmpty)
    }

    @Test("the TPM lockout code is set only after it was typed back")
    func lockout() async throws {
        let world = World()
        world.keybag.moveToHardware()
        world.prompter.will(.confirm, .type("another"), .confirm, .typeShown)
        try await world.engine.protectLockout(World.request())
        #expect(world.keybag.lockoutCode == world.prompter.shownSecret)
        #expect(world.journal.entries.count { $0 == "protect lockout" } == 1)
    }

    @Test("no code is shown if the TPM's lockout has an owner or there is no TPM")
    func refused() async {
        let world = World()
        await #expect(throws: AuthenticationError(.invalidParameter)) {
            try await world.engine.protectLockout(World.request())
        }
        #expect(world.prompter.boxes.isEmpty)
    }
}
