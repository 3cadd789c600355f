import KeychainModel
import Testing
import TouchstoneTesting

@testable import AuthenticationEngine

@Suite("Evaluations", .timeLimit(.minutes(20)))
struct EvaluationTests {
    @Test("a fingerprint satisfies a biometrics policy")
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

    @Test("a fingerprint succeeds while the prompt waits for the passcode")
    func fingerFirst() async {
        let world = World()
        let task = world.start(.deviceOwner)
        #expect(await world.prompter.box(1).input == .touchOrSecret)
        await world.reader.touch(.match)
        #expect(await task.value.factors == [.biometry])
        #expect(world.prompter.visibleCount == 0)
    }

    @Test("the passcode succeeds while the sensor waits for a touch")
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

    @Test(
        "with an fprintd that does not reply the passcode is taken, and a finger once it replies",
        arguments: [true, false]
    )
    func silentService(repliesLater: Bool) async {
        let world = World()
        world.reader.keepSilent(true)
        let task = world.start(.deviceOwner)
        await world.clock.sleep(of: world.configuration.lookPatience)
        world.clock.advance(by: world.configuration.lookPatience)
        #expect(await world.prompter.box(1).input == .touchOrSecret)
        if repliesLater {
            world.reader.keepSilent(false)
            await world.reader.touch(.match)
            #expect(await task.value.factors == [.biometry])
        } else {
            world.prompter.will(.type(World.passcode))
            #expect(await task.value.factors == [.passcode])
            world.reader.keepSilent(false)
        }
        #expect(world.prompter.visibleCount == 0)
        #expect(!world.reader.isClaimed)
    }

    @Test("the sensor is disarmed before a passcode is tried, and a match in between counts")
    func matchWhileStopping() async {
        let world = World()
        let task = world.start(.deviceOwner)
        await world.reader.armed()
        world.reader.lastWord(.match)
        world.prompter.will(.type("wrong"))
        #expect(await task.value.factors == [.biometry])
        #expect(!world.journal.entries.contains("open"))
    }

    @Test("one trailing newline is not part of the passcode")
    func newline() async {
        let world = World()
        world.prompter.will(.type(World.passcode + "\n"))
        #expect(await world.start(.deviceOwner).value.factors == [.passcode])
    }

    @Test("two required factors are requested one after the other")
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

    @Test("a locked keybag requires the passcode before the fingerprint")
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

    @Test("a locked keybag accepts only the passcode where either factor suffices")
    func lockedEither() async {
        let world = World(state: .lockedAfterFirstUnlock)
        let task = world.start(.deviceOwner)
        #expect(await world.prompter.box(1).input == .secret)
        world.prompter.will(.type(World.passcode))
        #expect(await task.value.factors == [.passcode])
        #expect(!world.journal.entries.contains("claim"))
        #expect(await world.keybag.state() == .unlocked)
    }

    @Test("creating an item or a key needs no prompt", arguments: [AccessOperation.createItem, .createKey])
    func making(_ operation: AccessOperation) async throws {
        let world = World()
        let control = try AccessControl(accessibility: .whenUnlocked, flags: .userPresence)
        let proof = try await world.start(world.evaluation(.accessControl(control, operation))).value.get()
        #expect(proof.factors.isEmpty)
        #expect(proof.satisfied.isEmpty)
        #expect(world.prompter.boxes.isEmpty)
    }

    @Test("a proof for an access control is valid only for that operation and for no stricter control")
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

    @Test("no companion is available")
    func companion() async throws {
        let world = World()
        #expect(await world.start(.companion).value.code == .companionNotAvailable)
        let control = try AccessControl(accessibility: .whenUnlocked, flags: .companion)
        let task = world.start(world.evaluation(.accessControl(control, .useItem)))
        #expect(await task.value.code == .companionNotAvailable)
        #expect(world.prompter.boxes.isEmpty)
    }

    @Test("without a keybag an evaluation fails with passcodeNotSet")
    func notSetUp() async {
        let world = World(state: .notSetUp)
        let error = await world.start(.deviceOwner).value.error
        #expect(error == AuthenticationError(.passcodeNotSet))
        #expect(error?.remedy == .setPasscode)
        #expect(world.prompter.boxes.isEmpty)
    }

    @Test("unlocking an unlocked keybag needs no prompt; unlocking a locked one yields a passcode proof")
    func unlocking() async throws {
        let world = World(state: .locked)
        world.prompter.will(.type(World.passcode))
        #expect(try await world.engine.unlock(World.request())?.factors == [.passcode])
        let second = try await world.engine.unlock(World.request())
        #expect(second == nil)
        #expect(world.prompter.boxes.count == 1)
    }

    @Test("the fallback button of a biometrics prompt is reported to the app, and an empty title hides it")
    func fallback() async {
        let world = World()
        var evaluation = world.evaluation(.biometrics)
        evaluation.request.fallbackTitles = []
        world.prompter.will(.fallback())
        #expect(await world.start(evaluation).value.code == .userFallback)
        #expect(world.prompter.boxes.first?.fallbackTitles == [])
        evaluation.request.fallbackTitles = ["Use password"]
        world.prompter.will(.cancel)
        #expect(await world.start(evaluation).value.code == .userCancel)
        #expect(world.prompter.boxes.last?.fallbackTitles == ["Use password"])
    }

    @Test("the number of the chosen fallback is reported, and none for the default button")
    func namedFallbacks() async {
        for (titles, index, told): ([String]?, Int, Int?) in [
            (["Card", "Code"], 1, 1), (["Card"], 0, 0), (nil, 0, nil),
        ] {
            let world = World()
            var evaluation = world.evaluation(.biometrics)
            evaluation.request.fallbackTitles = titles
            evaluation.request.details = PromptDetails(title: "Bank", items: ["12 EUR"])
            world.prompter.will(.fallback(index))
            let error = await world.start(evaluation).value.error
            #expect(error?.code == .userFallback && error?.fallback == told)
            #expect(world.prompter.boxes.first?.details == evaluation.request.details)
        }
    }
}
