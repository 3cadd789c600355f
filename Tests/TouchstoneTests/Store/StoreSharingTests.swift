import Foundation
import Testing
import TouchstoneTesting

@testable import Touchstone

@Suite("Sharing a store", .timeLimit(.minutes(20)))
struct StoreSharingTests {
    @Test("no update is lost between tasks")
    func tasks() async throws {
        let world = try await World()
        try await world.use {
            let stores = (0..<2).map { _ in SecretStore("count", rule: .whenUnlocked) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<8 {
                    group.addTask {
                        for _ in 0..<10 {
                            try await stores[number % 2].update("n", as: Int.self) { $0 = ($0 ?? 0) + 1 }
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await stores[0].read("n") == 80)
        }
    }

    @Test("a write succeeds while others write and delete the same value, and the value is one of theirs")
    func deletions() async throws {
        let world = try await World()
        try await world.use {
            let store = SecretStore("shared", rule: .whenUnlocked)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<8 {
                    group.addTask {
                        for round in 0..<10 {
                            try await store.write("\(number) \(round)", for: "n")
                            if number % 2 == 0 { try await store.delete("n") }
                        }
                    }
                }
                try await group.waitForAll()
            }
            try await store.write("last", for: "n")
            #expect(try await store.read("n") == "last")
        }
    }

    @Test("an update that conflicts with another program's write is repeated without a second prompt")
    func conflict() async throws {
        let world = try await World()
        try await world.use {
            let store = SecretStore("pair", rule: .passcode)
            try await store.write("old", for: "key")
            let before = world.prompts
            var seen: [String?] = []
            let result = try await store.update("key", as: String.self) { value in
                seen.append(value)
                // Another program, with its own prompt.
                if seen.count == 1 { Self.replace("key", of: "pair", with: "theirs", in: world) }
                value = "\(value ?? "") + mine"
                return seen.count
            }
            #expect(result == 2 && seen == ["old", "theirs"])
            #expect(world.prompts == before + 2, "one of each program")
            #expect(try await store.read("key") == "theirs + mine")

            seen = []
            try await store.update("new", as: String.self) { value in
                seen.append(value)
                if seen.count == 1 { Self.add("new", of: "pair", "theirs", in: world) }
                value = nil
            }
            #expect(seen == [nil], "nothing to delete is nothing to do")
            #expect(try await store.delete("new") == .deleted)
            seen = []
            try await store.update("new", as: String.self) { value in
                seen.append(value)
                if seen.count == 1 { Self.add("new", of: "pair", "theirs", in: world) }
                value = "mine"
            }
            #expect(seen == [nil, "theirs"])
            seen = []
            try await store.update("new", as: String.self) { value in
                seen.append(value)
                if seen.count == 1 { Self.replace("new", of: "pair", with: "later", in: world) }
                value = nil
            }
            #expect(seen == ["mine", "later"], "what was written meanwhile is seen before it is deleted")
            #expect(try await store.status() == ["key": .present])
        }
    }

    /// Writes as another program would, within a synchronous body.
    private static func replace(_ key: String, of store: String, with text: String, in world: World) {
        world.otherProgram(SecretStore(store, rule: .passcode)) { calls throws(TouchstoneError) in
            try calls.replace(Data(text.utf8), key, version: nil)
        }
    }

    private static func add(_ key: String, of store: String, _ text: String, in world: World) {
        world.otherProgram(SecretStore(store, rule: .passcode)) { calls throws(TouchstoneError) in
            #expect(try calls.add(Data(text.utf8), key))
        }
    }

    @Test("one proof serves several reads until it ends")
    func proof() async throws {
        let world = try await World.withFinger()
        let (first, second) = (SecretStore("first"), SecretStore("second", rule: .biometryOrPasscode))
        let passcode = SecretStore("third", rule: .passcode)
        try await world.use {
            for store in [first, second, passcode] { try await store.write("x", for: "key") }
            try world.touches()
            let proof = try await Keychain.current.authenticate("Show your notes")
            for store in [first, second] {
                #expect(try await store.read("key", with: .proof(proof)) == "x")
                try await store.write("y", for: "key", with: .proof(proof))
                try await store.update("key", as: String.self, with: .proof(proof)) { $0?.append("!") }
                #expect(try await store.read("key", with: .proof(proof)) == "y!")
            }
            #expect(world.prompts == 1)
            // A fingerprint is not the passcode.
            await #expect(throws: TouchstoneError(.interactionNeeded)) {
                try await passcode.read("key", as: String.self, with: .proof(proof))
            }
            proof.end()
            proof.end()
            await #expect(throws: TouchstoneError(.proofEnded)) {
                try await first.read("key", as: String.self, with: .proof(proof))
            }
            let code = try await Keychain.current.authenticate("a test", using: .passcode)
            #expect(try await passcode.read("key", with: .proof(code)) == "x")
            #expect(try await second.read("key", with: .proof(code)) == "y!")
            await #expect(throws: TouchstoneError(.interactionNeeded)) {
                try await first.read("key", as: String.self, with: .proof(code))
            }
            // A lock ends it.
            try world.lock()
            try world.keychain.unlock()
            await #expect(throws: TouchstoneError(.proofEnded)) {
                try await passcode.read("key", as: String.self, with: .proof(code))
            }
            // A proof of another keychain is refused too.
            let stranger = try await World()
            try await stranger.use {
                try await passcode.write("x", for: "key")
                await #expect(throws: TouchstoneError(.proofEnded)) {
                    try await passcode.read("key", as: String.self, with: .proof(code))
                }
            }
        }
    }

    @Test("a prompt is reused for the time in the rule, and not after a lock")
    func reuse() async throws {
        let world = try await World()
        let store = SecretStore("reuse", rule: .passcode.reusable(for: .seconds(300)))
        try await world.use {
            try await store.write("x", for: "key")
            await #expect(throws: TouchstoneError(.notFound)) { try await store.read("other", as: Data.self) }
            #expect(world.prompts == 0)
            for _ in 0..<3 { #expect(try await store.read("key") == "x") }
            try await store.write("y", for: "key")
            #expect(world.prompts == 1)
            try world.lock()
            try world.keychain.unlock()
            let before = world.prompts
            #expect(try await store.read("key") == "y")
            #expect(world.prompts == before + 1)
            let strict = SecretStore("strict", rule: .passcode)
            try await strict.write("x", for: "key")
            #expect(try await strict.read("key") == "x")
            #expect(world.prompts == before + 2, "no prompt of before counts for a rule that does not say so")
        }
    }

    @Test("a cancelled task and a timeout leave a secret unchanged")
    func cancelled() async throws {
        let world = try await World()
        let store = SecretStore("cancel", rule: .passcode)
        try await world.use {
            try await store.write("x", for: "key")
            try world.ignores()
            let task = Task {
                await failure { () throws(TouchstoneError) in try await store.write("y", for: "key") }
            }
            try await world.waitForPrompt(1)
            task.cancel()
            #expect(await task.value?.code == .taskCancelled)
            try world.ignores()
            await #expect(throws: TouchstoneError(.timedOut)) {
                try await store.update(
                    "key",
                    as: String.self,
                    with: .prompt(PromptText("a test", timeout: .milliseconds(700)))
                ) { $0 = "y" }
            }
            try world.answers()
            #expect(try await store.read("key") == "x")
        }
    }
}
