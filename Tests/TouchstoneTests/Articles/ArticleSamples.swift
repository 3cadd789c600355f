import Foundation
// No @testable: this is an app's view.
import Touchstone

/// The samples of the articles of `Touchstone`, in code that compiles and runs.
struct ArticleSamples {
    struct Tokens: Codable {
        var access: String
        var refresh: String
    }

    // MARK: The module's page and "Getting started"

    func overview(_ token: String) async throws -> String {
        let github = SecretStore("com.example.github-token")
        try await github.write(token, for: "octocat")
        let stored: String = try await github.read("octocat", with: "Sign in")
        return stored
    }

    func obstacle() async throws -> String? {
        let capability = try await Keychain.current.capability()
        if let obstacle = capability.obstacle {
            return "\(obstacle.message()) \(obstacle.advice())"
        }
        return nil
    }

    func keepToken() async throws -> String {
        let tokens = SecretStore("com.example.tokens")
        try await tokens.write("s3cret", for: "octocat")
        let token: String = try await tokens.read("octocat", with: "Sign in")
        return token
    }

    func token(in tokens: SecretStore) async throws(TouchstoneError) -> String? {
        do {
            return try await tokens.read("octocat", with: "Sign in to Example")
        } catch .notFound, .invalidated {
            return nil  // sign in with the password, then write it
        } catch {
            throw error  // cancelled, locked, damaged: the token is there
        }
    }

    func twoNotes() async throws -> [String] {
        let proof = try await Keychain.current.authenticate("Show your notes")
        defer { proof.end() }
        let notes = SecretStore("com.example.notes")
        let first: String = try await notes.read("first", with: .proof(proof))
        let second: String = try await notes.read("second", with: .proof(proof))
        return [first, second]
    }

    func pay(_ challenge: Data) async throws -> DeviceSignature {
        let rule = AccessRule.biometryOrPasscode
        let key = try await DeviceSigningKey.create("payments", rule: rule)
        var prompt = PromptText("Pay 12.30 EUR to Alice", timeout: .seconds(30))
        prompt.title = "Example Bank"
        let signature = try await key.sign(challenge, prompt)
        return signature
    }

    // MARK: "Choosing an access rule"

    func weakerRules() -> [SecretStore] {
        let minute = AccessRule.biometry.reusable(for: .seconds(60))
        let session = SecretStore("session", rule: minute)
        let album = SecretStore("album", rule: .biometry.acceptingLaterEnrolments())
        let door = SecretStore("door", rule: .biometry.acceptingWeakBiometry())
        let lasting = AccessRule.biometryOrPasscode.acceptingLaterEnrolments()
        let diary = SecretStore("diary", rule: lasting.acceptingBackups())
        return [session, album, door, diary]
    }

    func hardwareKey() async throws -> DeviceSigningKey {
        let rule = AccessRule.biometry.requiring(.hardware)
        let key = try await DeviceSigningKey.create("payments", rule: rule)
        return key
    }

    func renew(_ tokens: SecretStore, _ signInWithPassword: () async throws -> String) async throws {
        if case .invalidated = try await tokens.status()["octocat"] {
            try await tokens.delete("octocat")
            try await tokens.write(try await signInWithPassword(), for: "octocat")
        }
    }

    func protect() async throws {
        let former = SecretStore("com.example.notes", rule: .whenUnlocked)
        let notes = SecretStore("com.example.notes", rule: .biometryOrPasscode)
        try await notes.migrate(from: former, with: "Protect your notes")
    }

    struct Note: Codable, Equatable {
        var text: String
        var isPinned: Bool
    }

    func convert() async throws {
        let texts = SecretStore("com.example.notes", rule: .biometryOrPasscode)
        let notes = SecretStore("com.example.notes-2", rule: texts.rule)
        try await notes.migrate(from: texts) { (text: String) in
            Note(text: text, isPinned: false)
        }
    }

    func remove(_ account: String) async throws -> [String] {
        let prefix = "com.example.mail."
        let names = try await Keychain.current.stores()
        let accounts = names.filter { $0.hasPrefix(prefix) }
        try await SecretStore(prefix + account).deleteAll()
        return accounts
    }

    // MARK: "Moving from KeychainAccess or Valet"

    func key(in store: SecretStore) async throws(TouchstoneError) -> Data {
        do {
            return try await store.read("database", with: "Open your notes")
        } catch {
            guard error.code == .notFound else { throw error }
            let key = Data((0..<32).map { _ in UInt8.random(in: 0...255) })
            try await store.write(key, for: "database")
            return key
        }
    }

    func rotate(_ vault: SecretStore, to fresh: Tokens) async throws -> String? {
        let former = try await vault.update("tokens", as: Tokens.self) { tokens in
            defer { tokens = fresh }
            return tokens?.refresh
        }
        return former
    }

    // MARK: "Moving from Android's BiometricPrompt"

    func unlock(_ record: Data) async -> String {
        do {
            let demand: Authenticators = [.strongBiometry, .passcode]
            let state = try await Keychain.current.capability(for: demand)
            if let obstacle = state.obstacle { return obstacle.advice() }
            var prompt: PromptText = "Unlock"
            prompt.subtitle = "Your notes"
            prompt.cancelLabel = "Not now"
            let key = try await DeviceSealingKey.find("notes")
            let note = try await key.open(record, prompt)
            return String(decoding: note, as: UTF8.self)
        } catch {
            return "\(error.message(in: "en")) [\(error.androidCode ?? 0)]"
        }
    }
}
