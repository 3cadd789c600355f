import KeychainModel
import Testing
import TouchstoneTesting

@testable import AuthenticationEngine

@Suite("An enrolled set whose templates are not reported now", .timeLimit(.minutes(20)))
struct UntoldSetTests {
    private static func seen(
        _ fingers: [String] = ["left-index-finger"],
        _ templates: Enrolment.Templates = .untold,
        completions: UInt64 = 0
    ) -> Enrolment {
        Enrolment(
            device: "Scripted sensor",
            fingers: fingers,
            templates: templates,
            completions: completions
        )
    }

    private func control(_ flags: AccessControlFlags) throws -> AccessControl {
        try AccessControl(accessibility: .whenUnlocked, flags: flags)
    }

    private func world(_ enrolment: Enrolment = seen()) async -> World {
        let world = World()
        world.reader.enrol(.success(Self.seen(["left-index-finger"], .digest([1]))))
        _ = await world.engine.status()
        world.reader.enrol(.success(enrolment))
        return world
    }

    @Test("other biometric items open, and what is bound to the set is refused without a prompt")
    func demands() async throws {
        let world = await world()
        let bound = try control(.biometryCurrentSet)
        let refused = await world.start(world.evaluation(.accessControl(bound, .useItem))).value.error
        #expect(refused?.code == .biometryNotAvailable && refused?.cause == .brokerAway)
        #expect(world.prompter.boxes.isEmpty)
        for target in [
            Evaluation.Target.accessControl(try control(.biometryAny), .useItem), .policy(.biometrics),
        ] {
            let any = world.start(world.evaluation(target))
            await world.reader.touch(.match)
            #expect(await any.value.factors == [.biometry])
        }
        #expect(await world.engine.availability(of: .biometrics).domainState == nil)
        #expect(await world.engine.availability(of: .biometrics).error == nil)
        #expect(await world.engine.status().binding == .untold)
        await #expect(throws: KeychainError(.authFailed)) { try await world.engine.observeCurrentSet() }
        #expect(world.audit.count(.enrolmentChanged) == 0)
        // Reported again and unchanged.
        world.reader.enrol(.success(Self.seen(["left-index-finger"], .digest([1]))))
        let again = world.start(world.evaluation(.accessControl(bound, .useItem)))
        await world.reader.touch(.match)
        #expect(await again.value.factors == [.biometry])
        try await world.engine.observeCurrentSet()
        #expect(world.audit.count(.enrolmentChanged) == 0)
    }

    @Test("an item with a passcode alternative gets a passcode prompt that says why")
    func either() async throws {
        let world = await world()
        let either = try control([.biometryCurrentSet, .or, .devicePasscode])
        let task = world.start(world.evaluation(.accessControl(either, .useItem)))
        let box = await world.prompter.box(1)
        #expect(box.input == .secret && box.error == "The enrolled fingers cannot be checked now.")
        world.prompter.will(.type(World.passcode))
        #expect(await task.value.factors == [.passcode])
    }

    @Test(
        "a possibly changed enrolment requires the passcode once, and no change is audited",
        arguments: [
            seen(["left-index-finger", "left-thumb"]), seen(["left-thumb"]), seen(completions: 1),
        ]
    )
    func doubt(enrolment: Enrolment) async throws {
        let world = await world(enrolment)
        let refused = await world.start(.biometrics).value.error
        #expect(refused?.code == .biometryLockout && refused?.cause == .enrolmentChanged)
        let either = world.start(.deviceOwner)
        #expect(await world.prompter.box(1).input == .secret)
        world.prompter.will(.type(World.passcode))
        #expect(await either.value.factors == [.passcode])
        let finger = world.start(.biometrics)
        await world.reader.touch(.match)
        #expect(await finger.value.factors == [.biometry])
        #expect(world.audit.count(.enrolmentChanged) == 0)
        // The change is detected and audited once the templates are reported.
        world.reader.enrol(
            .success(Self.seen(enrolment.fingers, .digest([2]), completions: enrolment.completions))
        )
        #expect(await world.start(.biometrics).value.error?.cause == .enrolmentChanged)
        #expect(world.audit.count(.enrolmentChanged) == 1)
    }

    @Test("a set without fingers is known to be empty")
    func empty() async {
        let world = await world(Self.seen([]))
        #expect(await world.start(.biometrics).value.code == .biometryNotEnrolled)
        #expect(world.audit.count(.enrolmentChanged) == 1)
    }
}
