import Foundation
import Testing
import Touchstone
import TouchstoneTesting

@Suite("Samples of the documentation", .timeLimit(.minutes(20)))
struct ArticleTests {
    @Test("the samples of Getting Started work")
    func gettingStarted() async throws {
        let world = try await World.withFinger()
        try await world.use {
            #expect(try await ArticleSamples().obstacle() == nil)
            try world.touches(3)
            #expect(try await ArticleSamples().overview("token") == "token")
            #expect(try await ArticleSamples().keepToken() == "s3cret")
            let tokens = SecretStore("com.example.tokens")
            #expect(try await ArticleSamples().token(in: tokens) == "s3cret")
            #expect(try await ArticleSamples().token(in: SecretStore("empty")) == nil)
            #expect(world.prompts == 3)
            try world.cancels()
            let error = await failure { () throws(TouchstoneError) in
                try await ArticleSamples().token(in: tokens)
            }
            #expect(error?.code == .userCancelled)

            let notes = SecretStore("com.example.notes")
            for name in ["first", "second"] { try await notes.write("the \(name)", for: name) }
            try world.touches()
            #expect(try await ArticleSamples().twoNotes() == ["the first", "the second"])
            #expect(world.prompts == 5)
            try world.touches()
            let signature = try await ArticleSamples().pay(Data("challenge".utf8))
            #expect(signature.rawRepresentation.count == 64)
            #expect(signature.assurance.method == (World.tellsWhichOfUnion ? .fingerprint : .unspecified))
        }
    }

    @Test("without a sensor the obstacle sample returns a message and advice")
    func obstacle() async throws {
        let world = try await World()
        try await world.use {
            let capability = try await Keychain.current.capability()
            let obstacle = try #require(capability.obstacle)
            #expect(try await ArticleSamples().obstacle() == "\(obstacle.message()) \(obstacle.advice())")
        }
    }

    @Test("the samples about access rules work")
    func accessRules() async throws {
        let world = try await World.withFinger()
        try await world.use {
            for store in ArticleSamples().weakerRules() {
                try await store.write("value", for: "key")
                #expect(try await store.status() == ["key": .present], "\(store.rule)")
            }
            // A chip with a test's assurance is not accepted as hardware.
            await #expect(throws: TouchstoneError(.hardwareTooWeak)) {
                try await ArticleSamples().hardwareKey()
            }

            try await SecretStore("com.example.notes", rule: .whenUnlocked).write("dear diary", for: "note")
            try await ArticleSamples().protect()
            #expect(world.prompts == 0, "what was readable without a prompt moves without one")
            try world.answers()
            try await ArticleSamples().convert()
            #expect(world.prompts == 1)
            let notes = SecretStore("com.example.notes-2", rule: .biometryOrPasscode)
            let note = ArticleSamples.Note(text: "dear diary", isPinned: false)
            #expect(try await notes.read("note") == note)
            for account in ["ada", "alan"] {
                try await SecretStore("com.example.mail." + account).write(account, for: "password")
            }
            let accounts = ["com.example.mail.ada", "com.example.mail.alan"]
            #expect(try await ArticleSamples().remove("ada") == accounts)
            #expect(try await ArticleSamples().remove("alan") == accounts.suffix(1))

            let tokens = SecretStore("tokens")
            try await tokens.write("before", for: "octocat")
            try await ArticleSamples().renew(tokens) { throw CancellationError() }
            try await world.enrol(["right-index-finger", "left-thumb"])
            try await ArticleSamples().renew(tokens) { "after" }
            #expect(try await tokens.status() == ["octocat": .present])
        }
    }

    @Test("the samples of the articles about moving work")
    func moving() async throws {
        let world = try await World.withFinger()
        try await world.use {
            let store = SecretStore("keys")
            let key = try await ArticleSamples().key(in: store)
            #expect(key.count == 32)
            try world.touches()
            #expect(try await ArticleSamples().key(in: store) == key)
            try world.cancels()
            let error = await failure { () throws(TouchstoneError) in
                try await ArticleSamples().key(in: store)
            }
            #expect(error?.code == .userCancelled)
            try world.touches()
            #expect(
                try await store.read("database", as: Data.self) == key,
                "a cancelled prompt makes no new key"
            )

            let vault = SecretStore("vault")
            #expect(try await ArticleSamples().rotate(vault, to: .init(access: "a", refresh: "r1")) == nil)
            try world.touches()
            #expect(try await ArticleSamples().rotate(vault, to: .init(access: "a", refresh: "r2")) == "r1")

            let notes = try await DeviceSealingKey.create("notes", rule: .biometryOrPasscode)
            let record = try await notes.seal(Data("note".utf8))
            try world.answers()
            let opened = await ArticleSamples().unlock(record)
            #expect(opened == "note")
            try world.cancels()
            #expect(await ArticleSamples().unlock(record) == "You cancelled. [10]")
        }
    }
}
