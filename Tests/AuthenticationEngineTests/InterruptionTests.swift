import KeychainModel
import Testing
import TouchstoneTesting

@testable import AuthenticationEngine

@Suite("Interrupted evaluations", .timeLimit(.minutes(20)))
struct InterruptionTests {
    @Test("cancelling the task removes the prompt and releases the sensor")
    func appCancel() async {
        for policy in [AuthenticationPolicy.biometrics, .deviceOwner] {
            let world = World()
            let task = world.start(policy)
            await world.reader.armed()
            task.cancel()
            #expect(await task.value.code == .appCancel)
            #expect(world.prompter.visibleCount == 0)
            #expect(!world.reader.isArmed)
            #expect(!world.reader.isClaimed)
            #expect(world.attempts.record.biometryFailures == 0)
            #expect(world.audit.count(.authenticationCancelled) == 1)
        }
    }

    @Test("a task that was cancelled before shows no prompt")
    func cancelledBefore() async {
        let world = World()
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await world.start(.biometrics, inside: world.engine)
        }
        #expect(await task.value.code == .appCancel)
        #expect(world.prompter.boxes.isEmpty)
    }

    @Test("a match after the cancellation is ignored")
    func matchAfterCancel() async {
        let world = World()
        let task = world.start(.biometrics)
        await world.reader.armed()
        world.reader.lastWord(.match)
        task.cancel()
        #expect(await task.value.code == .appCancel)
        #expect(world.attempts.record.biometryFailures == 1)
    }

    @Test("a passcode accepted after the cancellation is ignored, and the keybag is locked again")
    func passcodeAfterCancel() async {
        let world = World(state: .locked)
        world.keybag.hold()
        world.prompter.will(.type(World.passcode))
        let task = world.start(.deviceOwner)
        await world.journal.wait(for: "open")
        task.cancel()
        world.keybag.answer()
        #expect(await task.value.code == .appCancel)
        #expect(await world.keybag.state() == .lockedAfterFirstUnlock)
        #expect(world.attempts.record.passcodeFailures == 0)
    }

    @Test("locking the keybag ends the evaluation, and the keybag stays locked")
    func lock() async {
        let world = World()
        let task = world.start(.deviceOwner)
        await world.reader.armed()
        await world.engine.lock()
        let error = await task.value.error
        #expect(error?.code == .systemCancel)
        #expect(error?.cause == .locked)
        #expect(await world.keybag.state() == .lockedAfterFirstUnlock)
        #expect(!world.reader.isClaimed)
    }

    @Test("a passcode being tried does not undo a lock")
    func lockWhileTrying() async {
        let world = World()
        world.keybag.hold()
        world.prompter.will(.type(World.passcode))
        let task = world.start(.deviceOwner)
        await world.journal.wait(for: "open")
        await world.engine.lock()
        world.keybag.answer()
        #expect(await task.value.error?.cause == .locked)
        #expect(await world.keybag.state() == .lockedAfterFirstUnlock)
    }

    @Test("suspending the machine ends the evaluation and all waiting ones")
    func suspend() async throws {
        let world = World()
        let watch = Task { await world.engine.run() }
        let first = world.start(.biometrics)
        await world.reader.armed()
        let second = world.start(.biometrics)
        await world.engine.waits(for: 1)
        await world.reader.send(.suspend)
        #expect(await first.value.error?.cause == .suspended)
        #expect(await second.value.error?.cause == .suspended)
        #expect(world.prompter.boxes.count == 1)
        #expect(await world.keybag.state() == .unlocked)
        // The audit log gets a suspend event, on which reusable proofs are discarded.
        try await Deadline.wait(for: "the event") { world.audit.count(.suspended) > 0 ? true : nil }
        watch.cancel()
        await watch.value
    }

    @Test("an earlier lock does not end a later evaluation")
    func lockBefore() async {
        let world = World()
        await world.engine.lock()
        world.prompter.will(.type(World.passcode))
        #expect(await world.start(.deviceOwner).value.factors == [.passcode])
    }

    @Test(
        "a user's cancellation is reported as userCancel",
        arguments: [AuthenticationPolicy.biometrics, .deviceOwner]
    )
    func userCancel(_ policy: AuthenticationPolicy) async {
        let world = World()
        world.prompter.will(.cancel)
        #expect(await world.start(policy).value.code == .userCancel)
        #expect(!world.reader.isClaimed)
    }

    @Test("a failing prompter is reported as systemCancel")
    func brokenBox() async {
        let world = World()
        world.prompter.will(.fail(PromptError(.prompterFailed)))
        let error = await world.start(.deviceOwner).value.error
        #expect(error?.code == .systemCancel)
        #expect(error?.cause == DriverCause(domain: "prompt", code: "prompterFailed"))
    }
}

extension World {
    /// Evaluates in the current task.
    func start(
        _ policy: AuthenticationPolicy,
        inside engine: AuthenticationEngine
    ) async -> Result<AuthenticationProof, AuthenticationError> {
        do throws(AuthenticationError) {
            return .success(try await engine.evaluate(evaluation(policy)))
        } catch {
            return .failure(error)
        }
    }
}

extension AuthenticationEngine {
    /// Waits until `count` requests wait for their turn.
    func waits(for count: Int) async {
        while waitingCount < count { await Task.yield() }
    }
}
