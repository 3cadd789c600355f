import Dispatch
import Foundation
import Synchronization
import Testing
import TouchstoneTesting

@testable import Touchstone

@Suite("Authenticating the user", .timeLimit(.minutes(20)))
struct AuthenticateTests {
    @Test("a fingerprint and a passcode each give a proof that names the method")
    func methods() async throws {
        let world = try await World.withFinger()
        try await world.use {
            let before = Date()
            try world.touches()
            let finger = try await Keychain.current.authenticate("Show your notes")
            #expect(finger.method == .fingerprint && finger.requested == .strongBiometry)
            #expect(finger.time >= before && finger.time <= Date())
            #expect(finger.assurance.level == .test && finger.assurance.hardware == .test)
            #expect(finger.assurance.facts.isEmpty && finger.assurance.method == .fingerprint)
            #expect(world.prompts == 1)

            let passcode = try await Keychain.current.authenticate("Show your notes", using: .passcode)
            #expect(passcode.method == .passcode && passcode.assurance.facts == [.passcodeUsed])
            #expect(passcode.context != finger.context)

            let either = try await Keychain.current.authenticate(
                "Show your notes",
                using: [.strongBiometry, .passcode]
            )
            #expect(either.method == (World.tellsWhichOfUnion ? .passcode : .unspecified))
            #expect(world.prompts == 3)
        }
    }

    @Test("cancelling and being prompted too often have different codes")
    func cancels() async throws {
        let world = try await World()
        try world.cancels(4)
        await world.use {
            for _ in 0..<3 {
                await #expect(throws: TouchstoneError(.userCancelled)) {
                    try await Keychain.current.authenticate("a test", using: .passcode)
                }
            }
            let error = await failure { () throws(TouchstoneError) in
                try await Keychain.current.authenticate("a test", using: .passcode)
            }
            #expect(error?.code == World.codeOfThrottling, "\(String(describing: error))")
            #expect(World.codeOfThrottling != .throttled || error?.nextStep == .wait)
        }
    }

    @Test("an unanswered prompt ends with its timeout")
    func timeout() async throws {
        let world = try await World.withFinger()
        try await world.use {
            for demand: Authenticators in [.passcode, .strongBiometry] {
                try world.ignores()
                let before = ContinuousClock.now
                let error = await failure { () throws(TouchstoneError) in
                    try await Keychain.current.authenticate(
                        PromptText("a test", timeout: .milliseconds(1500)),
                        using: demand
                    )
                }
                #expect(error?.code == .timedOut, "\(String(describing: error))")
                #expect(ContinuousClock.now - before >= .milliseconds(1500))
            }
            // The prompt is gone: the next one is shown.
            try world.answers()
            _ = try await Keychain.current.authenticate("a test", using: .passcode)
        }
    }

    @Test("cancelling the task removes the prompt, and a task cancelled before shows none")
    func cancelledTask() async throws {
        let world = try await World.withFinger()
        try await world.use {
            for (round, demand) in [Authenticators.passcode, .strongBiometry].enumerated() {
                try world.ignores()
                let task = Task {
                    await failure { () throws(TouchstoneError) in
                        try await Keychain.current.authenticate("a test", using: demand)
                    }
                }
                try await world.waitForPrompt(round + 1)
                task.cancel()
                #expect(await task.value?.code == .taskCancelled)
            }
            let shown = world.prompts
            let late = Task {
                while !Task.isCancelled { await Task.yield() }
                return await failure { () throws(TouchstoneError) in
                    try await Keychain.current.authenticate("a test", using: .passcode)
                }
            }
            late.cancel()
            #expect(await late.value?.code == .taskCancelled)
            #expect(world.prompts == shown)
            try world.answers()
            _ = try await Keychain.current.authenticate("a test", using: .passcode)
        }
    }

    @Test("texts and times beyond their limits are refused, and the limit is named")
    func limits() async throws {
        let world = try await World()
        await world.use {
            func prompt(_ change: (inout PromptText) -> Void) -> PromptText {
                var prompt = PromptText("x")
                change(&prompt)
                return prompt
            }
            func text(_ count: Int) -> String { String(repeating: "t", count: count) }
            let wrong: [(PromptText, String)] = [
                ("", "reason: at least 1 character"),
                (PromptText(text(201)), "reason: at most 200 characters"),
                (prompt { $0.title = text(61) }, "title: at most 60 characters"),
                (prompt { $0.subtitle = text(61) }, "subtitle: at most 60 characters"),
                (prompt { $0.items = Array(repeating: "i", count: 9) }, "items: at most 8"),
                (prompt { $0.items = ["i", text(81)] }, "item: at most 80 characters"),
                (prompt { $0.cancelLabel = text(41) }, "cancel label: at most 40 characters"),
                (prompt { $0.cancelLabel = "a\0b" }, "cancel label: no byte 0"),
                (prompt { $0.fallbacks = ["1", "2", "3", "4", "5"] }, "fallbacks: at most 4"),
                (prompt { $0.fallbacks = ["1", ""] }, "fallback: at least 1 character"),
                (prompt { $0.fallbacks = [text(41)] }, "fallback: at most 40 characters"),
                (
                    prompt { $0.items = Array(repeating: text(60), count: 8) },
                    "title, subtitle, reason and items: at most 480 bytes together"
                ),
                (
                    PromptText(stringLiteral: String(repeating: "%", count: 161)),
                    "title, subtitle, reason and items: at most 480 bytes together"
                ),
                (PromptText("x", timeout: .zero), "timeout: more than 0 s, at most 300 s"),
                (PromptText("x", timeout: .seconds(-1)), "timeout: more than 0 s, at most 300 s"),
                (PromptText("x", timeout: .milliseconds(300_001)), "timeout: more than 0 s, at most 300 s"),
            ]
            for (prompt, limit) in wrong {
                let error = await failure { () throws(TouchstoneError) in
                    try await Keychain.current.authenticate(prompt, using: .passcode)
                }
                #expect(error?.code == .limitExceeded && error?.details == [limit])
            }
            #expect(world.prompts == 0)
        }
    }

    @Test("texts at their limits are accepted")
    func atTheLimits() throws {
        var prompt = PromptText(String(repeating: "r", count: 120), timeout: .seconds(300))
        prompt.title = String(repeating: "t", count: 60)
        prompt.subtitle = String(repeating: "s", count: 60)
        prompt.items = Array(repeating: String(repeating: "i", count: 30), count: 8)
        prompt.cancelLabel = String(repeating: "c", count: 40)
        prompt.fallbacks = Array(repeating: String(repeating: "f", count: 40), count: 4)
        try prompt.check()
        prompt.items[0] += "i"
        #expect(throws: TouchstoneError(.limitExceeded)) { try prompt.check() }
    }

    @Test("a prompt's parts are joined into one line")
    func line() {
        var prompt: PromptText = "Pay \(3) EUR"
        #expect(prompt.line == "Pay 3 EUR")
        prompt.title = "Bank"
        prompt.subtitle = "Account 1"
        prompt.items = ["apples", "pears"]
        #expect(prompt.line == "Bank: Account 1: Pay 3 EUR (apples; pears)")
    }

    @Test("the assurance level follows from the facts")
    func assurance() {
        func level(_ facts: Set<Assurance.Fact>, _ hardware: HardwareLevel) -> Assurance.Level {
            Assurance(facts: facts, method: nil, hardware: hardware).level
        }
        #expect(level([.keyBound, .perUse, .currentSet, .strongSensor, .passcodeUsed], .test) == .test)
        #expect(level([.keyBound, .perUse, .currentSet, .strongSensor], .hardware) == .high)
        #expect(level([.keyBound, .perUse, .passcodeUsed], .hardware) == .high)
        #expect(level([.keyBound, .perUse, .currentSet, .strongSensor], .weakTPM) == .substantial)
        #expect(level([.keyBound, .perUse, .currentSet], .hardware) == .substantial)
        #expect(level([.keyBound, .currentSet, .strongSensor, .passcodeUsed], .hardware) == .low)
        #expect(level([.keyBound, .perUse], .hardware) == .low)
        #expect(level([.perUse, .passcodeUsed], .hardware) == .low)
        #expect(level([], .software) == .low)
    }
}

@Suite("Waiting calls", .timeLimit(.minutes(20)))
struct WaitingTests {
    /// A task executor with a single thread.
    private final class OneThread: TaskExecutor {
        private let queue = DispatchQueue(label: "one thread")

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }
    }

    @Test("prompts, look-ups and timeouts do not block their executor's only thread")
    func oneThread() async throws {
        let world = try await World.withFinger()
        let executor = OneThread()
        try world.ignores()
        try await world.use {
            let keychain = Keychain.current
            try await withTaskExecutorPreference(executor) {
                let asked = Task(executorPreference: executor) {
                    await failure { () throws(TouchstoneError) in
                        try await keychain.authenticate(
                            PromptText("a test", timeout: .seconds(300)),
                            using: .passcode
                        )
                    }
                }
                // Each of these needs the thread while the first one waits for the user.
                try await world.waitForPrompt(1)
                for _ in 0..<3 { #expect(try await keychain.capability().sensor != nil) }
                var capabilities = keychain.capabilities().makeAsyncIterator()
                #expect(await capabilities.next()?.sensor != nil)
                let store = SecretStore("one thread", rule: .whenUnlocked, in: keychain)
                try await store.write("x", for: "k")
                #expect(try await store.read("k", as: String.self) == "x")
                let key = try await DeviceSigningKey.create("one thread", rule: .whenUnlocked, in: keychain)
                _ = try await key.sign(Data())
                _ = try await key.makeSuccessor()
                let others = await withTaskGroup(of: TouchstoneError?.self) { group in
                    for _ in 0..<4 {
                        group.addTask(executorPreference: executor) {
                            await failure { () throws(TouchstoneError) in
                                try await keychain.authenticate(
                                    PromptText("a test", timeout: .milliseconds(300)),
                                    using: .passcode
                                )
                            }
                        }
                    }
                    return await group.reduce(into: []) { $0.append($1) }
                }
                #expect(others.map { $0?.code } == Array(repeating: .timedOut, count: 4))
                // It waited all the time.
                asked.cancel()
                #expect(await asked.value?.code == .taskCancelled)
            }
        }
    }

    @Test("many simultaneous calls share the waiting threads, and all are served")
    func crowd() async {
        let threads = WaitingThreads()
        final class Counts: Sendable {
            let now = Atomic(0)
            let most = Atomic(0)
        }
        let counts = Counts()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<500 {
                group.addTask {
                    await withCheckedContinuation { continuation in
                        let number = threads.run {
                            let count = counts.now.add(1, ordering: .relaxed).newValue
                            counts.most.max(count, ordering: .relaxed)
                            _ = DispatchSemaphore(value: 0).wait(timeout: .now() + .milliseconds(5))
                            counts.now.subtract(1, ordering: .relaxed)
                            continuation.resume()
                        }
                        #expect(number == 0)
                    }
                }
            }
        }
        let seen = counts.most.load(ordering: .relaxed)
        #expect(seen > 1 && seen <= WaitingThreads.most, "\(seen)")
    }

    @Test("a cancelled timer releases its closure, and a timer that is not cancelled fires once")
    func timers() async throws {
        final class Held: Sendable {}
        weak var weakly: Held?
        do {
            let held = Held()
            weakly = held
            let cancel = Timers.after(.seconds(3600)) { _ = held }
            cancel()
        }
        try await Deadline.wait(for: "the plan") { weakly == nil ? true : nil }
        await withCheckedContinuation { continuation in
            _ = Timers.after(.milliseconds(20)) { continuation.resume() }
        }
    }

    @Test("a thread that has finished its call is reused")
    func reuse() async {
        let threads = WaitingThreads()
        var seen: Set<UInt> = []
        for _ in 0..<50 {
            let thread = await withCheckedContinuation { continuation in
                #expect(threads.run { continuation.resume(returning: UInt(pthread_self())) } == 0)
            }
            seen.insert(thread)
            // The thread becomes idle shortly after its result.
            try? await Task.sleep(for: .milliseconds(2))
        }
        #expect(seen.count < 25)
    }
}
