import KeychainModel
import Testing
import TouchstoneTesting

@testable import AuthenticationEngine

@Suite("Creating, changing and recovering a keybag", .timeLimit(.minutes(20)))
struct KeybagFlowTests {
    private static let good = "orbit hazel trumpet velvet quarry"

    private func failure(_ body: () async throws(AuthenticationError) -> Void) async -> AuthenticationError? {
        do throws(AuthenticationError) {
            try await body()
            return nil
        } catch {
            return error
        }
    }

    @Test("set-up requires a strong passcode and the recovery code typed back")
    func setUp() async throws {
        let world = World(state: .notSetUp, record: AttemptRecord(passcodeFailures: 10))
        world.prompter.will(.type("password"), .type("password1234"), .type(Self.good), .confirm, .typeShown)
        try await world.engine.setUp(World.request())
        #expect(world.keybag.passcode == Self.good)
        #expect(
            world.prompter.boxes.map(\.input) == [.newSecret, .newSecret, .newSecret, .confirmation, .secret]
        )
        #expect(world.prompter.boxes[0].heading.contains(": at least 12 characters, or five words, because"))
        #expect(world.prompter.boxes[1].error?.contains("at least 12 characters") == true)
        #expect(world.prompter.boxes[2].error?.contains("common words") == true)
        #expect(world.prompter.shownSecret == "0123-4567-89AB-CDEF-GHJK-MNPQ-RSTV")
        let now = world.clock.now()
        #expect(world.attempts.record == AttemptRecord(lastPasscodeSuccess: now, lastUse: now))
    }

    @Test("the code may be typed back in lower case, without dashes, and with O and I for digits")
    func crockford() async throws {
        let world = World(state: .notSetUp)
        world.prompter.will(.type(Self.good), .confirm, .type("o i23 4567 89ab cdef ghjk mnpqrstv"))
        try await world.engine.setUp(World.request())
        #expect(await world.keybag.state() == .unlocked)
    }

    @Test("a code mistyped three times creates no keybag, and it is shown again each time")
    func mistyped() async {
        let world = World(state: .notSetUp)
        world.prompter.will(
            .type(Self.good),
            .confirm,
            .type("no"),
            .confirm,
            .type("no"),
            .confirm,
            .type("no")
        )
        let error = await failure { () async throws(AuthenticationError) in
            try await world.engine.setUp(World.request())
        }
        #expect(error?.cause == .recoveryCode)
        #expect(world.prompter.boxes.count { $0.input == .confirmation } == 3)
        #expect(await world.keybag.state() == .notSetUp)
    }

    @Test("a second set-up is refused")
    func twice() async {
        let world = World()
        let error = await failure { () async throws(AuthenticationError) in
            try await world.engine.setUp(World.request())
        }
        #expect(error?.cause == .alreadySetUp)
        #expect(world.prompter.boxes.isEmpty)
    }

    @Test("cancelling set-up at any prompt changes nothing", arguments: 0..<3)
    func cancelSetUp(_ step: Int) async {
        let world = World(state: .notSetUp)
        let deeds: [ScriptedPrompter.Deed] = [.type(Self.good), .confirm]
        for deed in deeds.prefix(step) { world.prompter.will(deed) }
        world.prompter.will(.cancel)
        let error = await failure { () async throws(AuthenticationError) in
            try await world.engine.setUp(World.request())
        }
        #expect(error?.code == .userCancel)
        #expect(await world.keybag.state() == .notSetUp)
        #expect(!world.journal.entries.contains("set up"))
    }

    @Test(
        "starting over needs two words and no factor, whatever the keybag's state",
        arguments: KeybagState.allCases
    )
    func startOver(_ state: KeybagState) async throws {
        let world = World(state: state)
        world.prompter.will(.type("yes"), .type("start over"))
        try await world.engine.startOver(World.request())
        #expect(world.journal.entries.contains("start over"))
        #expect(
            !world.journal.entries.contains { $0.hasPrefix("save") },
            "nothing is counted for a keychain that is gone"
        )
        #expect(await world.keybag.state() == .notSetUp)
        #expect(world.prompter.boxes.map(\.input) == [.secret, .secret])
        #expect(world.prompter.boxes[1].error == "These were other words.")
    }

    @Test("starting over is not done after other words or a cancelled prompt", arguments: [true, false])
    func startOverRefused(cancels: Bool) async {
        let world = World()
        if cancels {
            world.prompter.will(.cancel)
        } else {
            world.prompter.will(.type("Start over"), .type("startover"), .type(""))
        }
        let error = await failure { () async throws(AuthenticationError) in
            try await world.engine.startOver(World.request())
        }
        #expect(error?.code == (cancels ? .userCancel : .authenticationFailed))
        #expect(!world.journal.entries.contains("start over"))
    }

    @Test("changing the passcode requires the old one, and attempts are counted")
    func change() async throws {
        let world = World()
        world.prompter.will(.type("wrong"), .type(World.passcode), .type(Self.good))
        try await world.engine.changePasscode(World.request())
        #expect(world.keybag.passcode == Self.good)
        #expect(world.journal.entries.contains("save 0 1"))
        #expect(world.prompter.boxes.map(\.input) == [.secret, .secret, .newSecret])
    }

    @Test("cancelling a change keeps the old passcode", arguments: 0..<2)
    func cancelChange(_ step: Int) async {
        let world = World()
        if step == 1 { world.prompter.will(.type(World.passcode)) }
        world.prompter.will(.cancel)
        let error = await failure { () async throws(AuthenticationError) in
            try await world.engine.changePasscode(World.request())
        }
        #expect(error?.code == .userCancel)
        #expect(world.keybag.passcode == World.passcode)
    }

    @Test("the recovery code opens a closed keybag and sets a new passcode")
    func recover() async throws {
        let world = World(state: .locked, record: AttemptRecord(passcodeFailures: 10))
        world.prompter.will(
            .type("nonsense"),
            .type(String(repeating: "2", count: 28)),
            .type("0123456789abcdefghjkmnpqrstv"),
            .type(Self.good)
        )
        try await world.engine.recover(World.request())
        #expect(world.keybag.passcode == Self.good)
        #expect(world.attempts.record.passcodeFailures == 0)
        #expect(world.prompter.boxes[1].error?.hasPrefix("That is no recovery code.") == true)
        #expect(world.prompter.boxes[2].error == "That is not the recovery code of this keychain.")
        #expect(world.prompter.boxes[1].fieldLabel == "Recovery code:")
    }

    @Test("a new recovery code needs the passcode, is shown, and counts once it was typed back")
    func newCode() async throws {
        let world = World()
        world.prompter.will(
            .type("wrong"),
            .type(World.passcode),
            .confirm,
            .type("another"),
            .confirm,
            .typeShown
        )
        try await world.engine.changeRecoveryCode(World.request())
        #expect(world.journal.entries.contains("new code"))
        #expect(world.journal.entries.contains("save 0 1"), "wrong passcodes are counted")
        let boxes = world.prompter.boxes
        #expect(boxes.map(\.input) == [.secret, .secret, .confirmation, .secret, .confirmation, .secret])
        #expect(boxes[4].error == "That was another code. Compare what you wrote down.")
        #expect(boxes[2].heading.hasPrefix("Write down this new recovery code."))
    }

    @Test(
        "a new recovery code is not set when a step is cancelled, or it is typed back wrongly",
        arguments: 0..<4
    )
    func newCodeRefused(_ step: Int) async {
        let world = World()
        switch step {
        case 0: world.prompter.will(.cancel)
        case 1: world.prompter.will(.type(World.passcode), .cancel)
        case 2: world.prompter.will(.type(World.passcode), .confirm, .cancel)
        default:
            world.prompter.will(
                .type(World.passcode),
                .confirm,
                .type("a"),
                .confirm,
                .type("b"),
                .confirm,
                .type("c")
            )
        }
        let error = await failure { () async throws(AuthenticationError) in
            try await world.engine.changeRecoveryCode(World.request())
        }
        #expect(error?.code == (step == 3 ? .authenticationFailed : .userCancel))
        #expect(!world.journal.entries.contains("new code"))
    }

    @Test(
        "checking the recovery code changes nothing, and ends after three wrong ones",
        arguments: [true, false]
    )
    func checkCode(isRight: Bool) async {
        let world = World(state: .locked, record: AttemptRecord(passcodeFailures: 4))
        world.prompter.will(
            .type("nonsense"),
            .type(String(repeating: "2", count: 28)),
            .type(isRight ? "0123456789abcdefghjkmnpqrstv" : "again")
        )
        let error = await failure { () async throws(AuthenticationError) in
            try await world.engine.checkRecoveryCode(World.request())
        }
        #expect(error?.cause == (isRight ? nil : .recoveryCode))
        #expect(world.prompter.boxes.count == 3)
        #expect(world.prompter.boxes[2].error == "That is not the recovery code of this keychain.")
        #expect(await world.keybag.state() == .locked)
        #expect(world.attempts.record.passcodeFailures == 4)
        #expect(world.keybag.passcode == World.passcode)
    }

    @Test("a damaged keybag's recovery code is asked for, and nothing is if no keybag can be read")
    func recoverDamaged() async throws {
        let world = World(state: .damaged, record: AttemptRecord())
        world.prompter.will(.type("0123456789abcdefghjkmnpqrstv"), .type(Self.good))
        try await world.engine.recover(World.request())
        #expect(world.keybag.passcode == Self.good)
        let lost = World(state: .damaged)
        lost.keybag.lose()
        let error = await failure { () async throws(AuthenticationError) in
            try await lost.engine.recover(World.request())
        }
        #expect(error?.cause == .damaged)
        #expect(lost.prompter.boxes.isEmpty)
    }

    @Test("three wrong codes, or a missing keybag, change nothing")
    func recoverRefused() async {
        let world = World(state: .locked)
        world.prompter.will(.type("a"), .type("b"), .type("c"))
        var error = await failure { () async throws(AuthenticationError) in
            try await world.engine.recover(World.request())
        }
        #expect(error?.cause == .recoveryCode)
        #expect(world.keybag.passcode == World.passcode)
        world.keybag.become(.notSetUp)
        error = await failure { () async throws(AuthenticationError) in
            try await world.engine.recover(World.request())
        }
        #expect(error?.code == .passcodeNotSet)
    }

    @Test("cancelling, locking and timeouts end a flow with their own error and change nothing")
    func ended() async {
        let cancelled = World(state: .notSetUp)
        let task = Task {
            await failure { () async throws(AuthenticationError) in
                try await cancelled.engine.setUp(World.request())
            }
        }
        _ = await cancelled.prompter.box(1)
        task.cancel()
        #expect(await task.value?.code == .appCancel)
        #expect(cancelled.prompter.visibleCount == 0)

        let locked = World()
        locked.prompter.will(.type(World.passcode))
        let change = Task {
            await failure { () async throws(AuthenticationError) in
                try await locked.engine.changePasscode(World.request())
            }
        }
        _ = await locked.prompter.box(2)
        await locked.engine.lock()
        #expect(await change.value?.cause == .locked)
        #expect(locked.keybag.passcode == World.passcode)

        let late = World(state: .notSetUp)
        late.prompter.will(.waitTooLong)
        let error = await failure { () async throws(AuthenticationError) in
            try await late.engine.setUp(World.request())
        }
        #expect(error?.cause == .timeout)
    }
}
