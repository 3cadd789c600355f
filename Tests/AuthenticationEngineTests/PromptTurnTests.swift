import KeychainModel
import Testing
import TouchstoneTesting

@testable import AuthenticationEngine

@Suite("Prompts", .timeLimit(.minutes(20)))
struct PromptTurnTests {
    @Test("a touch counts only after the prompt was visible for 500 ms")
    func settling() async {
        let world = World(settlingTime: .milliseconds(500))
        let task = world.start(.biometrics)
        await world.clock.sleep(of: .milliseconds(500))
        #expect(!world.reader.touchNow(.match))
        world.clock.advance(by: .milliseconds(499))
        #expect(!world.reader.touchNow(.match))
        #expect(!world.journal.entries.contains("arm"))
        world.clock.advance(by: .milliseconds(1))
        await world.reader.armed()
        #expect(world.reader.touchNow(.match))
        #expect(await task.value.factors == [.biometry])
    }

    @Test("a second request waits until the first prompt is gone")
    func queue() async {
        let world = World()
        let first = world.start(world.evaluation(.biometrics, World.request(World.caller(1))))
        await world.reader.armed()
        let second = world.start(world.evaluation(.biometrics, World.request(World.caller(2))))
        await world.engine.waits(for: 1)
        await world.reader.touch(.match)
        #expect(await first.value.factors == [.biometry])
        #expect(await world.prompter.box(2).requester == "/usr/bin/app (process 2)")
        await world.reader.touch(.noMatch)
        await world.reader.touch(.match)
        #expect(await second.value.factors == [.biometry])
        #expect(world.prompter.mostVisible == 1)
    }

    @Test("of a thousand requests one is shown and eight wait; three cancellations silence the program")
    func storm() async {
        let world = World()
        let first = world.start(.biometrics)
        await world.reader.armed()
        var refused = 0
        await withTaskGroup { group in
            for number in 0..<1000 {
                let caller = World.caller(Int32(number) + 10)
                group.addTask {
                    await world.start(world.evaluation(.biometrics, World.request(caller))).value
                }
            }
            for await result in group {
                if result.error?.cause == .tooManyPrompts { refused += 1 }
                if refused == 992 {
                    // Eight are left, and the user cancels.
                    world.prompter.will(.cancel, .cancel, .cancel)
                    refused += 1
                }
            }
        }
        #expect(refused == 993)
        #expect(await first.value.code == .userCancel)
        #expect(world.prompter.mostVisible == 1)
        #expect(world.prompter.boxes.count == 3)
    }

    @Test("a user with many requests does not keep another user waiting")
    func users() async {
        let world = World()
        let mine = World.request(World.caller(1, uid: 1))
        let first = world.start(world.evaluation(.biometrics, mine))
        await world.reader.armed()
        let second = world.start(world.evaluation(.biometrics, mine))
        await world.engine.waits(for: 1)
        let other = world.start(world.evaluation(.biometrics, World.request(World.caller(2, uid: 2))))
        await world.engine.waits(for: 2)
        await world.reader.touch(.match)
        _ = await first.value
        #expect(await world.prompter.box(2).requester == "/usr/bin/app (process 2)")
        await world.reader.touch(.match)
        #expect(await other.value.factors == [.biometry])
        await world.reader.touch(.match)
        #expect(await second.value.factors == [.biometry])
    }

    @Test("a request that gives up waiting is never shown")
    func givingUp() async {
        let world = World()
        let first = world.start(.biometrics)
        await world.reader.armed()
        let second = world.start(.biometrics)
        await world.engine.waits(for: 1)
        second.cancel()
        #expect(await second.value.code == .appCancel)
        await world.reader.touch(.match)
        #expect(await first.value.factors == [.biometry])
        #expect(world.prompter.boxes.count == 1)
    }

    @Test("a seventh fruitless prompt within a minute is refused and costs no passcode attempt")
    func rate() async {
        let world = World(state: .locked)
        for _ in 1...6 {
            world.prompter.will(.waitTooLong)
            #expect(await world.start(.deviceOwner).value.error?.cause == .timeout)
        }
        let error = await world.start(.deviceOwner).value.error
        #expect(error?.code == .systemCancel)
        #expect(error?.cause == .promptRate)
        #expect(error?.remedy == .wait(seconds: 60))
        #expect(world.prompter.boxes.count == 6)
        #expect(world.attempts.record.passcodeFailures == 0)
        world.clock.advance(by: .seconds(60))
        world.prompter.will(.type(World.passcode))
        #expect(await world.start(.deviceOwner).value.factors == [.passcode])
    }

    @Test("three cancelled prompts in a row silence only that program, for a minute")
    func silence() async {
        let world = World(state: .locked)
        for _ in 1...3 {
            world.prompter.will(.cancel)
            #expect(await world.start(.deviceOwner).value.code == .userCancel)
        }
        // Another process of the same program counts as the same caller.
        let again = await world.start(world.evaluation(.deviceOwner, World.request(World.caller(101)))).value
        #expect(again.code == .systemCancel)
        #expect(again.error?.cause == .callerSilenced)
        #expect(again.error?.remedy == .wait(seconds: 60))
        #expect(world.prompter.boxes.count == 3)
        let other = World.request(World.caller(102, program: "/usr/bin/other"))
        world.prompter.will(.type(World.passcode))
        #expect(await world.start(world.evaluation(.deviceOwner, other)).value.factors == [.passcode])
        #expect(await world.start(.deviceOwner).value.error?.cause == .callerSilenced)
        world.clock.advance(by: .seconds(60))
        world.prompter.will(.type(World.passcode))
        #expect(await world.start(.deviceOwner).value.factors == [.passcode])
    }

    @Test("a success between cancelled prompts resets the count")
    func notSilenced() async {
        let world = World(state: .locked)
        for _ in 1...3 {
            world.prompter.will(.cancel)
            #expect(await world.start(.deviceOwner).value.code == .userCancel)
            world.prompter.will(.type(World.passcode))
            #expect(await world.start(.deviceOwner).value.factors == [.passcode])
        }
    }

    @Test("if no prompt can be shown, the evaluation fails and no weaker check is used")
    func notInteractive() async {
        for code in [PromptError.Code.notInteractive, .prompterMissing] {
            let world = World()
            world.prompter.obstruct(PromptError(code))
            for policy in [AuthenticationPolicy.biometrics, .deviceOwner] {
                #expect(await world.start(policy).value.code == .notInteractive)
            }
            #expect(!world.journal.entries.contains("claim"))
        }
    }

    @Test("a request that allows no interaction gets no prompt")
    func interactionNotAllowed() async {
        let world = World()
        let request = World.request(interactionAllowed: false)
        #expect(await world.start(world.evaluation(.deviceOwner, request)).value.code == .notInteractive)
        #expect(world.prompter.boxes.isEmpty)
    }
}

/// Requests that share one unlock prompt.
@Suite("Joined unlock requests", .timeLimit(.minutes(20)))
struct JoinedUnlockTests {
    private typealias Unlocking = Task<Result<Set<AuthenticationFactor>?, AuthenticationError>, Never>

    private func unlock(_ world: World, _ pid: Int32, terminal: String = "/dev/pts/0") -> Unlocking {
        Task {
            let request = World.request(World.caller(pid), terminal: terminal)
            do throws(AuthenticationError) {
                return .success(try await world.engine.unlock(request)?.factors)
            } catch {
                return .failure(error)
            }
        }
    }

    private func join(_ world: World, _ count: Int) async {
        while await world.engine.joinedCount(of: 1000) < count { await Task.yield() }
    }

    @Test("of 64 programs that unlock at once one prompts, and all proceed")
    func all() async throws {
        let world = World(state: .locked)
        let tasks = (1...64).map { unlock(world, Int32($0)) }
        await join(world, 63)
        _ = await world.prompter.box(1)
        world.prompter.will(.type("wrong"), .type(World.passcode))
        var proofs = 0
        for task in tasks where try await task.value.get() != nil { proofs += 1 }
        // Only the prompting request gets the proof: the passcode was entered for that call alone.
        #expect(proofs == 1)
        #expect(world.prompter.boxes.count == 2)
        #expect(world.prompter.boxes.last?.othersWaiting == 63)
        #expect(await world.engine.joinedCount(of: 1000) == 0)
        world.keybag.become(.locked)
        world.prompter.will(.type(World.passcode))
        #expect(try await unlock(world, 1).value.get() == [.passcode])
    }

    @Test("cancelling or closing the keybag ends all joined requests")
    func cancelled() async {
        let world = World(state: .locked)
        let tasks = (1...5).map { unlock(world, Int32($0)) }
        await join(world, 4)
        _ = await world.prompter.box(1)
        world.prompter.will(.cancel)
        for task in tasks { #expect(await task.value.failure?.code == .userCancel) }
        #expect(world.prompter.boxes.count == 1)
    }

    @Test("if the prompting request is killed or its prompt fails, the next one prompts")
    func left() async throws {
        let world = World(state: .locked)
        let first = unlock(world, 1, terminal: "/dev/pts/1")
        _ = await world.prompter.box(1)
        let others = [unlock(world, 2, terminal: "/dev/pts/2"), unlock(world, 3, terminal: "/dev/pts/3")]
        await join(world, 2)
        first.cancel()
        #expect(await first.value.failure?.code == .appCancel)
        _ = await world.prompter.box(2)
        world.prompter.will(.fail(PromptError(.notInteractive)))
        _ = await world.prompter.box(3)
        world.prompter.will(.type(World.passcode))
        let results = [await others[0].value, await others[1].value]
        #expect(results.count { (try? $0.get()) == [.passcode] } == 1)
        #expect(results.count { $0.failure?.code == .notInteractive } == 1)
    }

    @Test("a joined request that gives up does not affect the others")
    func givingUp() async throws {
        let world = World(state: .locked)
        let first = unlock(world, 1)
        _ = await world.prompter.box(1)
        let second = unlock(world, 2)
        await join(world, 1)
        second.cancel()
        #expect(await second.value.failure?.code == .appCancel)
        world.prompter.will(.type(World.passcode))
        #expect(try await first.value.get() == [.passcode])
    }

    @Test("another user gets a separate prompt, and evaluations are never joined")
    func separate() async throws {
        let world = World(state: .locked)
        let mine = unlock(world, 1)
        _ = await world.prompter.box(1)
        let evaluation = world.start(world.evaluation(.deviceOwner, World.request(World.caller(2))))
        await world.engine.waits(for: 1)
        world.prompter.will(.type(World.passcode), .type(World.passcode))
        #expect(try await mine.value.get() == [.passcode])
        #expect(await evaluation.value.factors == [.passcode])
        #expect(world.prompter.boxes.count == 2)
    }

    @Test("a request waiting for a prompt on another terminal is told so until the wait ends")
    func told() async throws {
        let world = World(state: .locked)
        let first = unlock(world, 1, terminal: "/dev/pts/1")
        _ = await world.prompter.box(1)
        let joined = unlock(world, 2, terminal: "/dev/pts/2")
        await join(world, 1)
        let evaluation = world.start(
            world.evaluation(.deviceOwner, World.request(World.caller(3), terminal: "/dev/pts/3"))
        )
        await world.engine.waits(for: 1)
        #expect(world.prompter.waits == ["/dev/pts/2 for /dev/pts/1", "/dev/pts/3 for /dev/pts/1"])
        world.prompter.will(.type(World.passcode))
        _ = try await (first.value.get(), joined.value.get())
        _ = await world.prompter.box(2)
        #expect(world.prompter.waits.isEmpty)
        world.prompter.will(.type(World.passcode))
        #expect(await evaluation.value.factors == [.passcode])
    }
}

extension Result {
    fileprivate var failure: Failure? {
        guard case .failure(let error) = self else { return nil }
        return error
    }
}
