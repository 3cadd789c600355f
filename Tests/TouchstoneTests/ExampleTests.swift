import Foundation
import Security
import Testing
// No @testable: this is an app's view.
import Touchstone
import TouchstoneTesting

/// Code as apps write it.
enum Example {
    struct Tokens: Codable, Equatable {
        var access: String
        var refresh: String
    }

    static let vault = SecretStore("session", rule: .biometry.reusable(for: .seconds(60)))
    static let github = SecretStore("com.example.github-token")

    static func refreshToken() async throws -> String? {
        do {
            return try await vault.read("tokens", as: Tokens.self, with: "Sign in to Example").refresh
        } catch {
            switch error.code {
            case .notFound, .invalidated: return nil  // nothing to read any more: sign in with the password
            default: throw error  // cancelled, locked, damaged: still there, so never overwrite
            }
        }
    }

    static func rotate(to new: Tokens) async throws(TouchstoneError) -> String? {
        try await vault.update("tokens", as: Tokens.self) { old in
            defer { old = new }
            return old?.refresh
        }
    }

    static func openDiary(_ record: Data) async throws(TouchstoneError) -> String {
        String(
            decoding: try await DeviceSealingKey.find("diary").open(record, "Open your diary"),
            as: UTF8.self
        )
    }

    static func answer(_ challenge: Data) async throws -> (signature: Data, assurance: Assurance) {
        var prompt = PromptText("Pay 12.30 EUR to Alice", timeout: .seconds(30))
        prompt.title = "Example Bank"
        let signature = try await DeviceSigningKey.find("payments").sign(challenge, prompt)
        return (signature.derRepresentation, signature.assurance)
    }

    static func both() async throws -> (String, Data) {
        let proof = try await Keychain.current.authenticate("Show your notes")
        defer { proof.end() }
        return (
            try await github.read("octocat", with: .proof(proof)),
            try await vault.read("draft", with: .proof(proof))
        )
    }

    static func unlock(_ record: Data) async -> String {
        do {
            let state = try await Keychain.current.capability(for: [.strongBiometry, .passcode])
            if let obstacle = state.obstacle { return obstacle.advice(in: "en") }
            var prompt: PromptText = "Unlock"
            prompt.subtitle = "Your notes"
            prompt.cancelLabel = "Not now"
            return String(
                decoding: try await DeviceSealingKey.find("notes").open(record, prompt),
                as: UTF8.self
            )
        } catch {
            return "\(error.message(in: "en")) [\(error.androidCode ?? 0)]"
        }
    }
}

@Suite("Code as apps write it", .timeLimit(.minutes(20)))
struct ExampleTests {
    @Test("a token store, a diary, a payment and two reads with one prompt work")
    func run() async throws {
        let world = try await World.withFinger()
        try await world.use {
            #expect(try await Example.refreshToken() == nil)
            #expect(try await Example.rotate(to: .init(access: "a", refresh: "r1")) == nil)
            try world.touches()
            #expect(try await Example.refreshToken() == "r1")
            // The rule's minute is not over.
            #expect(try await Example.rotate(to: .init(access: "a", refresh: "r2")) == "r1")
            #expect(world.prompts == 1)

            let diary = try await DeviceSealingKey.create("diary").seal(Data("dear diary".utf8))
            _ = try await DeviceSigningKey.create("payments")
            try world.touches(2)
            #expect(try await Example.openDiary(diary) == "dear diary")
            #expect(try await Example.answer(Data("challenge".utf8)).assurance.method == .fingerprint)

            try await Example.github.write("s3cret", for: "octocat")
            try await Example.vault.write(Data([1, 2]), for: "draft")
            try world.touches()
            let (token, draft) = try await Example.both()
            #expect(token == "s3cret" && draft == Data([1, 2]))
            #expect(world.prompts == 4)

            #expect(await Example.unlock(diary) == "Nothing is stored under this name. [0]")
            let notes = try await DeviceSealingKey.create("notes", rule: .passcode).seal(Data("note".utf8))
            try world.answers()
            #expect(await Example.unlock(notes) == "note")
            try world.cancels()
            #expect(await Example.unlock(notes) == "You cancelled. [10]")
        }
    }

    @Test("an enrolled finger invalidates the token, and the app falls back to the password")
    func newFinger() async throws {
        let world = try await World.withFinger()
        try await world.use {
            _ = try await Example.rotate(to: .init(access: "a", refresh: "r1"))
            try world.cancels()
            await #expect(throws: TouchstoneError(.userCancelled)) { try await Example.refreshToken() }
            try await world.enrol(["right-index-finger", "left-thumb"])
            #expect(try await Example.refreshToken() == nil)
        }
    }

    @Test("deleteEverything deletes stores and keys, and nothing of other modules")
    func deleteEverything() async throws {
        let world = try await World()
        let other: [CFString: Any] = [
            kSecClass: kSecClassGenericPassword, kSecAttrService: "other", kSecAttrAccount: "me",
        ]
        try await world.use {
            try await Keychain.current.deleteEverything()
            let store = SecretStore("all", rule: .whenUnlocked)
            try await store.write("x", for: "key")
            _ = try await DeviceSigningKey.create("key", rule: .whenUnlocked)
            let item = other.merging([kSecValueData: Data("y".utf8)]) { old, _ in old }
            #expect(SecItemAdd(item as CFDictionary, nil) == errSecSuccess)
            try await Keychain.current.deleteEverything()
            #expect(try await store.status().isEmpty)
            await #expect(throws: TouchstoneError(.notFound)) { try await DeviceSigningKey.find("key") }
            // The name can be used with another rule.
            try await SecretStore("all", rule: .afterFirstUnlock).write("x", for: "key")
            #expect(SecItemCopyMatching(other as CFDictionary, nil) == errSecSuccess)
        }
    }

    @Test("a capability stream yields the current state and its changes until the listener ends")
    func capabilities() async throws {
        let world = try await World.withFinger()
        try await world.use {
            var seen: [Capability] = []
            for await now in Keychain.current.capabilities() {
                seen.append(now)
                if seen.count == 1 { try await world.enrol(["right-index-finger", "left-thumb"]) }
                if now.enrolmentState != seen[0].enrolmentState, now.sensor?.enrolledCount != 1 { break }
            }
            #expect(seen.count >= 2 && seen.first?.obstacle == nil && seen.last != seen.first)
            if World.tellsOfSensor { #expect(seen.map { $0.sensor?.enrolledCount } == [1, 2]) }
            for await _ in Keychain.current.capabilities(for: []) { Issue.record("a demand of nothing") }
        }
    }
}
