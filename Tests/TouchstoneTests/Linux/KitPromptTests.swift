import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting

@testable import Touchstone

/// Prompts with drawn fingers and the kit's person.
@Suite("What an app says in a prompt, and what it is told of it", .timeLimit(.minutes(20)))
struct KitPromptTests {
    @Test("the limits are those of the wire and of the prompts that are drawn")
    func limits() {
        #expect(PromptText.mostItems == PromptDetails.mostItems)
        #expect(PromptText.mostFallbacks == PromptDetails.mostFallbacks)
        #expect(PromptText.longestTitle == PromptDetails.longestTitle)
        #expect(PromptText.longestReason == PromptDetails.longestReason)
        #expect(PromptText.longestItem == PromptDetails.longestItem)
        #expect(PromptText.longestButton == PromptDetails.longestButton)
    }

    @Test("the person sees each text on its line, and takes one of several fallbacks")
    func texts() async throws {
        let keychain = try await TemporaryKeychain(enrolled: [.first])
        try await keychain.use {
            var prompt: PromptText = "Pay 12.30 EUR to \"Alice\""
            prompt.title = "Touchstone: type your passcode"
            prompt.subtitle = "Giro 12"
            prompt.items = ["to: Alice", "Requested by root", "- 3\nItem"]
            prompt.fallbacks = ["Card", "Code", "Call"]
            keychain.person(.choosesFallback(2))
            let error = await failure { () throws(TouchstoneError) in
                try await Keychain.current.authenticate(prompt)
            }
            #expect(error == .fallbackChosen && error?.fallbackIndex == 2)
            let shown = try #require(keychain.prompts.last)
            #expect(shown.reason == prompt.reason && shown.title == prompt.title)
            #expect(shown.subtitle == prompt.subtitle)
            #expect(shown.items == ["to: Alice", "Requested by root", "- 3 Item"])
            #expect(!shown.program.contains("root"))
            #expect(keychain.prompts.count == 1)
        }
    }

    @Test("another finger's misses are told up to the lockout that they cause, and to nobody else")
    func lockout() async throws {
        let keychain = try await TemporaryKeychain(enrolled: [.first])
        let other = try await TemporaryKeychain(enrolled: [.first])
        let others = Guarded<[TouchMiss]>([])
        let listening = Task {
            for await miss in other.keychain.misses() { others.withLock { $0.append(miss) } }
        }
        await keychain.use {
            let misses = Guarded<[TouchMiss]>([])
            keychain.person(.touches(.second))
            let error = await failure { () throws(TouchstoneError) in
                try await Keychain.current.authenticate(
                    "a test",
                    onMiss: TouchMiss.Handler { miss in
                        misses.withLock { $0.append(miss) }
                    }
                )
            }
            #expect(error == .lockedOutUntilPasscode, "\(String(describing: error))")
            let told = misses.withLock(\.self)
            #expect(told.filter { $0.reason == .noMatch }.count == 5, "\(told)")
            #expect(told.map(\.count) == Array(1..<told.count + 1))
        }
        listening.cancel()
        await listening.value
        #expect(others.withLock(\.self).isEmpty)
    }

    @Test("of two requests that wait for prompts, each is told the misses of its own")
    func twoRequests() async throws {
        let keychain = try await TemporaryKeychain(enrolled: [.first])
        try await keychain.use {
            let (first, second) = (Guarded<[TouchMiss]>([]), Guarded<[TouchMiss]>([]))
            keychain.person(.touches(.second), .touches(.first))
            let missing = Task {
                await failure { () throws(TouchstoneError) in
                    try await Keychain.current.authenticate(
                        "first",
                        onMiss: TouchMiss.Handler { miss in
                            first.withLock { $0.append(miss) }
                        }
                    )
                }
            }
            try await Deadline.wait(for: "a miss") { first.withLock(\.isEmpty) ? nil : true }
            // Cancelled after some misses: the rest is nobody's.
            missing.cancel()
            #expect(await missing.value == .taskCancelled)
            let count = first.withLock(\.count)
            _ = try await Keychain.current.authenticate(
                "second",
                onMiss: TouchMiss.Handler { miss in
                    second.withLock { $0.append(miss) }
                }
            )
            #expect(first.withLock(\.count) == count && count > 0)
            // Its own misses, if any, are counted from 1.
            let others = second.withLock(\.self)
            #expect(others.map(\.count) == Array(1..<others.count + 1))
        }
    }
}
