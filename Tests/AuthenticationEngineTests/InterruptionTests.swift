import KeychainModel
import Testing
import TouchstoneTesting

@testable import AuthenticationEngine

@Suite("An evaluation that is ended from outside", .timeLimit(.minutes(20)))
struct InterruptionTests {
    @Test("takes the box away and lets go of the sensor when its task is cancelled")
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

    @Test("shows nothing when its task was cancelled before")
    func cancelledBefore() async {
        let world = World()
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await world.start(.biometrics, inside: world.engine)
        }
        #expect(await task.value.code == .appCancel)
        #expect(world.prompter.boxes.isEmpty)
    }

    @Test("ignores a match that comes after it was cancelled")
    func matchAfterCancel() async {
        let world = World()
        let task = world.start(.biometrics)
        await world.reader.armed()
        world.reader.lastWord(.match)
        task.cancel()
        #expect(await task.value.code == .appCancel)
        #expect(world.attempts.record.biometryFailures == 1)
    }

    @Test("ignores a right passcode judged after it was cancelled, and locks what that opened")
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

    @Test("ends when the keybag is locked, and the keybag stays locked")
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

    @Test("does not undo a lock by a passcode that was being tried")
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

    @Test("ends when the machine is about to sleep, with all that wait")
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
        // Whoever keeps what was shown hears of it.
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

    @Test("a person who cancels ends it as such", arguments: [AuthenticationPolicy.biometrics, .deviceOwner])
    func userCancel(_ policy: AuthenticationPolicy) async {
        let world = World()
        world.prompter.will(.cancel)
        #expect(await world.start(policy).value.code == .userCancel)
        #expect(!world.reader.isClaimed)
    }

    @Test("a box that breaks ends it as the system's doing")
    func brokenBox() async {
        let world = World()
        world.prompter.will(.fail(PromptError(.prompterFailed)))
        let error = await world.start(.deviceOwner).value.error
        #expect(error?.code == .systemCancel)
        #expect(error?.cause == DriverCause(domain: "prompt", code: "prompterFailed"))
    }
}

extension World {
    /// Evaluates in the present task.
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
    /// Waits until so many requests wait for their turn.
    func waits(for count: Int) async {
        while waitingCount < count { await Task.yield() }
    }
}
