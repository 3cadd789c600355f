import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting

@testable import AuthenticationEngine

/// Prompts whose session is not the one that its seat shows; terminal 0 is one of login 1, terminal 1 one of login 2.
@Suite("Prompts of inactive sessions", .timeLimit(.minutes(20)))
struct SeatTests {
    private static let good = "orbit hazel trumpet velvet quarry"
    private static let (here, there) = ("/dev/pts/0", "/dev/pts/1")

    private func world(_ state: KeybagState = .unlocked) -> World {
        let world = World(state: state, seen: [Self.here, Self.there])
        world.prompter.put(Self.here, in: 1)
        world.prompter.put(Self.there, in: 2)
        return world
    }

    private static func request(_ pid: Int32 = 100, at terminal: String = here) -> PromptRequest {
        World.request(World.caller(pid), terminal: terminal)
    }

    private func expectInactive(_ error: AuthenticationError?) {
        #expect(error?.code == .systemCancel && error?.cause == .sessionInactive && error?.remedy == .retry)
    }

    /// A request that shows prompts.
    enum Asking: CaseIterable, Sendable {
        case finger, fingerOrPasscode, passcode, confirm, unlock, unlockByFinger, setUp, recoveryCodeShown,
            change
        case newPasscode, recover, recoveryCode, newRecoveryCode, startOver, lockout, migrate, password

        var state: KeybagState {
            switch self {
            case .unlock, .unlockByFinger, .recover: .locked
            case .setUp, .recoveryCodeShown: .notSetUp
            default: .unlocked
            }
        }

        /// What the person does before the prompt that is of interest.
        var before: [ScriptedPrompter.Deed] {
            switch self {
            case .recoveryCodeShown: [.type(SeatTests.good)]
            case .newPasscode: [.type(World.passcode)]
            default: []
            }
        }

        var takesFinger: Bool { [.finger, .fingerOrPasscode, .unlockByFinger].contains(self) }

        func perform(_ world: World) async throws(AuthenticationError) {
            let request = SeatTests.request()
            let engine = world.engine
            switch self {
            case .finger: _ = try await engine.evaluate(world.evaluation(.biometrics, request))
            case .fingerOrPasscode, .passcode:
                if self == .passcode { world.reader.enrol(.failure(FingerprintError(.noSuchDevice))) }
                _ = try await engine.evaluate(world.evaluation(.deviceOwner, request))
            case .confirm: _ = try await engine.confirm(request, heading: "Sure?")
            case .unlock: _ = try await engine.unlock(request)
            case .unlockByFinger:
                world.keybag.escrow()
                _ = try await engine.unlock(request)
            case .setUp, .recoveryCodeShown: try await engine.setUp(request)
            case .change, .newPasscode: try await engine.changePasscode(request)
            case .recover: try await engine.recover(request)
            case .recoveryCode: try await engine.checkRecoveryCode(request)
            case .newRecoveryCode: try await engine.changeRecoveryCode(request)
            case .startOver: try await engine.startOver(request)
            case .lockout:
                world.keybag.moveToHardware()
                try await engine.protectLockout(request)
            case .migrate:
                world.keybag.moveToHardware()
                try await engine.migrate(request)
            case .password: _ = try await engine.applicationPassword(.opening, request)
            }
        }
    }

    private func start(_ asking: Asking, _ world: World) -> Task<AuthenticationError?, Never> {
        Task {
            do throws(AuthenticationError) {
                try await asking.perform(world)
                return nil
            } catch {
                return error
            }
        }
    }

    @Test("an open prompt ends, its sensor is released, and no attempt counts", arguments: Asking.allCases)
    func open(_ asking: Asking) async {
        let world = world(asking.state)
        for deed in asking.before { world.prompter.will(deed) }
        let task = start(asking, world)
        _ = await world.prompter.box(asking.before.count + 1)
        if asking.takesFinger { await world.reader.armed() }
        world.seats.leave(2)
        #expect(world.prompter.visibleCount == 1)
        world.seats.leave(1)
        expectInactive(await task.value)
        #expect(world.prompter.visibleCount == 0)
        #expect(!world.reader.isArmed && !world.reader.isClaimed)
        #expect(world.attempts.record.biometryFailures == 0 && world.attempts.record.passcodeFailures == 0)
        #expect(await world.keybag.state() == asking.state)
        #expect(world.audit.count(.authenticationCancelled) == 1)
    }

    @Test("a new prompt is not shown, and no sensor is claimed for it", arguments: Asking.allCases)
    func closed(_ asking: Asking) async {
        let world = world(asking.state)
        world.seats.leave(1)
        expectInactive(await start(asking, world).value)
        #expect(world.prompter.boxes.isEmpty)
        #expect(world.journal.entries.isEmpty)
        #expect(world.seats.logins == [1])
    }

    @Test("a touch, or an answer, after the switch counts no more")
    func late() async {
        let world = world()
        let touched = start(.finger, world)
        await world.reader.armed()
        world.reader.lastWord(.match)
        world.seats.leave(1)
        expectInactive(await touched.value)

        let locked = self.world(.locked)
        locked.keybag.hold()
        locked.prompter.will(.type(World.passcode))
        let typed = start(.unlock, locked)
        await locked.journal.wait(for: "open")
        locked.seats.leave(1)
        await locked.engine.waitForInterruption()
        locked.keybag.answer()
        expectInactive(await typed.value)
        #expect(await locked.keybag.state() == .lockedAfterFirstUnlock)
    }

    @Test("the next request shows its prompt as soon as the session is active again")
    func back() async {
        let world = world()
        world.seats.leave(1)
        expectInactive(await start(.finger, world).value)
        world.seats.comeBack(1)
        let task = start(.finger, world)
        await world.reader.touch(.match)
        #expect(await task.value == nil)
    }

    @Test("a request that waits ends at its turn; the prompt of the active session is not touched")
    func waiting() async {
        let world = world()
        let first = world.start(world.evaluation(.biometrics, Self.request(1)))
        await world.reader.armed()
        let second = world.start(world.evaluation(.biometrics, Self.request(2, at: Self.there)))
        await world.engine.waits(for: 1)
        world.seats.leave(2)
        await world.reader.touch(.match)
        #expect(await first.value.factors == [.biometry])
        expectInactive(await second.value.error)
        #expect(world.prompter.boxes.count == 1)
    }

    @Test("a switch ends the prompts of its own turn only")
    func turns() async {
        let world = world()
        let first = world.start(world.evaluation(.biometrics, Self.request(1)))
        await world.reader.armed()
        let second = world.start(world.evaluation(.biometrics, Self.request(2, at: Self.there)))
        await world.engine.waits(for: 1)
        world.seats.leave(1)
        expectInactive(await first.value.error)
        await world.reader.touch(.match)
        #expect(await second.value.factors == [.biometry])
    }

    @Test("of requests that share one unlock, those of other sessions get a prompt of their own")
    func joined() async {
        let world = world(.locked)
        func unlock(_ request: PromptRequest) -> Task<AuthenticationError?, Never> {
            Task {
                do throws(AuthenticationError) {
                    _ = try await world.engine.unlock(request)
                    return nil
                } catch {
                    return error
                }
            }
        }
        let first = unlock(Self.request(1))
        _ = await world.prompter.box(1)
        let same = unlock(Self.request(2))
        await world.engine.joins(of: 1)
        let other = unlock(Self.request(3, at: Self.there))
        await world.engine.joins(of: 2)
        world.seats.leave(1)
        expectInactive(await first.value)
        _ = await world.prompter.box(2)
        world.prompter.will(.type(World.passcode))
        expectInactive(await same.value)
        #expect(await other.value == nil)
        #expect(await world.keybag.state() == .unlocked)
    }

    @Test("what needs no prompt is not touched")
    func noPrompt() async throws {
        let world = world()
        world.seats.leave(1)
        #expect(try await world.engine.unlock(Self.request()) == nil)
        #expect(world.seats.logins.isEmpty)
    }

    @Test("a request of an unknown login is judged as such")
    func unknown() async {
        let world = World()
        world.seats.leave(nil)
        expectInactive(await start(.finger, world).value)
        #expect(world.seats.logins == [nil])
    }
}

extension AuthenticationEngine {
    fileprivate func joins(of count: Int) async {
        while joinedCount(of: 1000) < count { await Task.yield() }
    }

    fileprivate func waitForInterruption() async {
        while interruption == nil { await Task.yield() }
    }
}
