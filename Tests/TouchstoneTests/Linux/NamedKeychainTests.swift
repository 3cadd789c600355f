import KeychainClient
import KeychainModel
import Testing
import TouchstoneTesting

@testable import Touchstone

// Several named keychains in one process; Apple's systems have only one.

extension AuthenticateTests {
    @Test("a named keychain is used regardless of the task's keychain")
    func named() async throws {
        let (one, other) = (try await World(), try await World())
        try await one.use {
            _ = try await other.named.authenticate("a test", using: .passcode)
        }
        #expect(one.prompts == 0 && other.prompts == 1)
    }
}

extension CapabilityTests {
    @Test("a missing place for prompts is an obstacle")
    func nowhere() async throws {
        let world = try await World()
        let keychain = Keychain(world.keychain.client, promptsAt: PromptOrigin())
        let now = try await keychain.capability(for: .passcode)
        #expect(now.obstacle?.code == .noPromptPlace && now.obstacle?.nextStep == .askForHelp)
        await #expect(throws: TouchstoneError(.noPromptPlace)) {
            try await keychain.authenticate("a test", using: .passcode)
        }
    }
}

extension StoreSharingTests {
    @Test("no update is lost, between tasks and between programs")
    func updates() async throws {
        let world = try await World()
        // A second connection, as another program has.
        let other = Keychain(
            RemoteKeychain(layout: world.keychain.layout, daemon: .none),
            promptsAt: world.keychain.prompt().origin
        )
        let stores = [world.named, other].map { SecretStore("count", rule: .whenUnlocked, in: $0) }
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

extension KitArticleTests {
    @Test(
        "a store with an explicit keychain uses it in any task, and no task reaches the user's own keychain"
    )
    func detached() async throws {
        let keychain = try await TemporaryKeychain(reader: nil)
        let own = SecretStore("own", rule: .whenUnlocked, in: keychain.keychain)
        try await Task.detached { try await own.write("s3cret", for: "key") }.value
        let read: String = try await keychain.use {
            try await SecretStore("own", rule: .whenUnlocked).read("key")
        }
        #expect(read == "s3cret")
        let error = await failure { () throws(TouchstoneError) in
            try await SecretStore("own", rule: .whenUnlocked).read("key", as: String.self)
        }
        #expect(error?.code == .serviceMissing && error?.part == "touchstone")
        #expect(error?.details == ["make the call inside TemporaryKeychain.use"])
        let obstacle = try await Keychain.current.capability().obstacle
        #expect(obstacle?.code == .serviceMissing)
    }
}
