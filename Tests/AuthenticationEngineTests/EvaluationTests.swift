import KeychainModel
import Testing
import TouchstoneTesting

@testable import AuthenticationEngine

@Suite("An evaluation", .timeLimit(.minutes(20)))
struct EvaluationTests {
    @Test("a finger satisfies a policy for fingers")
    func finger() async throws {
        let world = World()
        let task = world.start(.biometrics)
        await world.reader.touch(.match)
        let proof = try await task.value.get()
        #expect(proof.factors == [.biometry])
        #expect(proof.satisfied == [.biometryAny, .biometryCurrentSet, .userPresence])
        #expect(proof.operation == nil)
        #expect(proof.passcodeKey == nil)
        #expect(proof.context == ContextID(connection: 1, number: 1))
        let box = try #require(world.prompter.boxes.first)
        #expect(box.input == .touch)
        #expect(box.requester == "/usr/bin/app (process 100)")
        #expect(box.reason == "open the safe")
        #expect(world.prompter.visibleCount == 0)
        #expect(!world.reader.isClaimed)
        #expect(world.attempts.record.biometryFailures == 0)
        #expect(world.audit.count(.authenticationSucceeded) == 1)
    }

    @Test("a finger wins over a box that waits for the passcode")
    func fingerFirst() async {
        let world = World()
        let task = world.start(.deviceOwner)
        #expect(await world.prompter.box(1).input == .touchOrSecret)
        await world.reader.touch(.match)
        #expect(await task.value.factors == [.biometry])
        #expect(world.prompter.visibleCount == 0)
    }

    @Test("the passcode wins over a sensor that waits for a finger")
    func passcodeFirst() async throws {
        let world = World()
        let task = world.start(.deviceOwner)
        await world.reader.armed()
        world.prompter.will(.type(World.passcode))
        let proof = try await task.value.get()
        #expect(proof.factors == [.passcode])
        #expect(proof.satisfied == [.devicePasscode, .userPresence])
        #expect(proof.passcodeKey != nil)
        #expect(!world.reader.isArmed)
        #expect(!world.reader.isClaimed)
    }

    @Test("the sensor is disarmed before a passcode is tried, and a match on the way counts")
    func matchWhileStopping() async {
        let world = World()
        let task = world.start(.deviceOwner)
        await world.reader.armed()
        world.reader.lastWord(.match)
        world.prompter.will(.type("wrong"))
        #expect(await task.value.factors == [.biometry])
        #expect(!world.journal.entries.contains("open"))
    }

    @Test("one newline at the end is not part of the passcode")
    func newline() async {
        let world = World()
        world.prompter.will(.type(World.passcode + "\n"))
        #expect(await world.start(.deviceOwner).value.factors == [.passcode])
    }

    @Test("both factors are asked for one after the other where both are needed")
    func both() async throws {
        let world = World()
        let control = try AccessControl(
            accessibility: .whenUnlocked,
            flags: [.biometryCurrentSet, .devicePasscode, .and]
        )
        let task = world.start(world.evaluation(.accessControl(control, .useItem)))
        #expect(await world.prompter.box(1).input == .secret)
        world.prompter.will(.type(World.passcode))
        await world.reader.touch(.match)
        let proof = try await task.value.get()
        #expect(proof.factors == [.passcode, .biometry])
        #expect(proof.satisfied == [.devicePasscode, .biometryCurrentSet, .biometryAny, .userPresence])
        #expect(proof.operation == .useItem)
        #expect(world.prompter.boxes.map(\.input) == [.secret, .touch])
    }

    @Test("a locked keybag asks for the passcode before the finger")
    func lockedBiometry() async {
        let world = World(state: .locked)
        let task = world.start(.biometrics)
        let box = await world.prompter.box(1)
        #expect(box.input == .secret)
        #expect(box.heading.contains("first"))
        world.prompter.will(.type(World.passcode))
        await world.reader.touch(.match)
        #expect(await task.value.factors == [.passcode, .biometry])
    }

    @Test("a locked keybag takes the passcode alone where either is enough")
    func lockedEither() async {
        let world = World(state: .lockedAfterFirstUnlock)
        let task = world.start(.deviceOwner)
        #expect(await world.prompter.box(1).input == .secret)
        world.prompter.will(.type(World.passcode))
        #expect(await task.value.factors == [.passcode])
        #expect(!world.journal.entries.contains("claim"))
        #expect(await world.keybag.state() == .unlocked)
    }

    @Test("making an item or a key asks nobody", arguments: [AccessOperation.createItem, .createKey])
    func making(_ operation: AccessOperation) async throws {
        let world = World()
        let control = try AccessControl(accessibility: .whenUnlocked, flags: .userPresence)
        let proof = try await world.start(world.evaluation(.accessControl(control, operation))).value.get()
        #expect(proof.factors.isEmpty)
        #expect(proof.satisfied.isEmpty)
        #expect(world.prompter.boxes.isEmpty)
    }

    @Test("a proof for an access control is good for what was asked, not for more")
    func proofIsNarrow() async throws {
        let world = World()
        let mild = try AccessControl(accessibility: .whenUnlocked, flags: .userPresence)
        let strict = try AccessControl(accessibility: .whenUnlocked, flags: .biometryCurrentSet)
        let task = world.start(world.evaluation(.accessControl(mild, .useItem)))
        await world.reader.touch(.match)
        let proof = try await task.value.get()
        #expect(mild.decide(given: [proof], operation: .useItem) == .granted)
        #expect(mild.decide(given: [proof], operation: .useKeySign) == .needs(.biometryOrPasscode))
        #expect(strict.decide(given: [proof], operation: .useItem) == .needs(.biometry))
    }

    @Test("no companion ever satisfies anything")
    func companion() async throws {
        let world = World()
        #expect(await world.start(.companion).value.code == .companionNotAvailable)
        let control = try AccessControl(accessibility: .whenUnlocked, flags: .companion)
        let task = world.start(world.evaluation(.accessControl(control, .useItem)))
        #expect(await task.value.code == .companionNotAvailable)
        #expect(world.prompter.boxes.isEmpty)
    }

    @Test("without a keybag there is no passcode to ask for")
    func notSetUp() async {
        let world = World(state: .notSetUp)
        let error = await world.start(.deviceOwner).value.error
        #expect(error == AuthenticationError(.passcodeNotSet))
        #expect(error?.remedy == .setPasscode)
        #expect(world.prompter.boxes.isEmpty)
    }

    @Test("unlocking an unlocked keybag asks nothing; a locked one gives the passcode's proof")
    func unlocking() async throws {
        let world = World(state: .locked)
        world.prompter.will(.type(World.passcode))
        #expect(try await world.engine.unlock(World.request())?.factors == [.passcode])
        let second = try await world.engine.unlock(World.request())
        #expect(second == nil)
        #expect(world.prompter.boxes.count == 1)
    }

    @Test("the fallback button goes to the app for fingers alone, and its empty title hides it")
    func fallback() async {
        let world = World()
        var evaluation = world.evaluation(.biometrics)
        evaluation.request.fallbackTitle = ""
        world.prompter.will(.fallback)
        #expect(await world.start(evaluation).value.code == .userFallback)
        #expect(world.prompter.boxes.first?.fallbackTitle == "")
        evaluation.request.fallbackTitle = "Use password"
        world.prompter.will(.cancel)
        #expect(await world.start(evaluation).value.code == .userCancel)
        #expect(world.prompter.boxes.last?.fallbackTitle == "Use password")
    }
}
