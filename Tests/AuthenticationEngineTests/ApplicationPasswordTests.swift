import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting

@testable import AuthenticationEngine

@Suite("Prompts for an application password", .timeLimit(.minutes(20)))
struct ApplicationPasswordTests {
    private static let purposes = [ApplicationPasswordPurpose.opening, .openingAgain, .sealing]

    private func ask(
        _ world: World,
        _ purpose: ApplicationPasswordPurpose = .opening,
        _ request: PromptRequest = World.request()
    ) async throws(AuthenticationError) -> String {
        let secret = try await world.engine.applicationPassword(purpose, request)
        return secret.withOctets { octets in
            String(decoding: octets.indices.map { octets[$0] }, as: UTF8.self)
        }
    }

    @Test(
        "the prompt says which password it is, in words that fit, and one newline is no part of it",
        arguments: purposes
    )
    func text(purpose: ApplicationPasswordPurpose) async throws {
        let world = World()
        world.prompter.will(.type("sesame\n"))
        #expect(try await ask(world, purpose) == "sesame")
        let box = await world.prompter.box(1)
        #expect(box.input == (purpose == .sealing ? .newSecret : .secret))
        #expect(box.heading.contains("application password") && box.heading.utf8.count <= 160)
        #expect((box.error != nil) == (purpose == .openingAgain))
        #expect(box.fallbackTitles == [] && box.reason == "open the safe")
    }

    @Test(
        "counts as no attempt of the passcode, opens nothing and is no proof",
        arguments: [KeybagState.locked, .unlocked]
    )
    func countsNothing(state: KeybagState) async throws {
        let world = World(state: state, record: AttemptRecord(passcodeFailures: 3))
        world.prompter.will(.type(World.passcode))
        _ = try await ask(world)
        #expect(world.attempts.record.passcodeFailures == 3)
        #expect(world.keybag.passcode == World.passcode)
        #expect(await world.keybag.state() == state)
        #expect(world.journal.entries == ["box", "box gone"])
    }

    @Test("fails without leave to ask and without a place, and ends as any other prompt", arguments: 0..<5)
    func failures(_ number: Int) async {
        let world = World()
        var request = World.request()
        let expected: AuthenticationError.Code
        switch number {
        case 0: (request.interactionAllowed, expected) = (false, .notInteractive)
        case 1:
            world.prompter.obstruct(PromptError(.notInteractive))
            expected = .notInteractive
        case 2:
            world.prompter.will(.waitTooLong)
            expected = .systemCancel
        case 3:
            world.prompter.will(.fallback())
            expected = .userCancel
        default:
            world.prompter.will(.fail(PromptError(.prompterFailed)))
            expected = AuthenticationError(PromptError(.prompterFailed)).code
        }
        let error = await #expect(throws: AuthenticationError.self) {
            try await ask(world, .sealing, request)
        }
        #expect(error?.code == expected)
    }

    @Test("a lock dismisses the prompt, and so does a cancelled call", arguments: [true, false])
    func dismissed(byLock: Bool) async throws {
        let world = World()
        let task = Task { try await ask(world) }
        _ = await world.prompter.box(1)
        if byLock { await world.engine.lock() } else { task.cancel() }
        let error = await #expect(throws: AuthenticationError.self) { try await task.value }
        #expect(error?.code == (byLock ? .systemCancel : .appCancel))
        #expect(world.prompter.visibleCount == 0)
    }

    @Test("waits for its turn: only one prompt is shown at a time")
    func turn() async throws {
        let world = World()
        let first = Task { try await ask(world) }
        _ = await world.prompter.box(1)
        let second = Task { try await ask(world, .sealing) }
        while await world.engine.waitingCount == 0 { await Task.yield() }
        world.prompter.will(.type("one"), .type("two"))
        #expect(try await first.value == "one")
        #expect(try await second.value == "two")
        #expect(world.prompter.mostVisible == 1)
    }
}
