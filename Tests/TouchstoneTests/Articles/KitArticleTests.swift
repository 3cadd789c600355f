import Testing
import Touchstone
import TouchstoneTesting

/// The app's own token, which only a finger opens.
private let github = SecretStore("com.example.github-token")

/// The tests of the article "Testing an app", which `ArticleTests` compares with it.
@Suite("The test kit article's tests", .timeLimit(.minutes(10)))
struct KitArticleTests {
    @Test func aTokenComesBack() async throws {
        let keychain = try await TemporaryKeychain()
        try await keychain.use {
            try await github.write("s3cret", for: "octocat")
            #expect(try await github.read("octocat") == "s3cret")
        }
    }

    @Test func aNewFingerEndsTheToken() async throws {
        let keychain = try await TemporaryKeychain(chip: .prepared())
        try await keychain.use {
            try await github.write("s3cret", for: "octocat")
            keychain.person(.cancels)
            await #expect(throws: TouchstoneError(.userCancelled)) {
                try await github.read("octocat", as: String.self)
            }
            #expect(keychain.prompts.count == 1)
            try await keychain.enrol(.second)
            await #expect(throws: TouchstoneError(.invalidated)) {
                try await github.read("octocat", as: String.self)
            }
        }
    }

    @Test func aSensorIsUnplugged() async throws {
        let keychain = try await TemporaryKeychain()
        try await keychain.use {
            try await github.write("s3cret", for: "octocat")
            try await keychain.cause(.unplug)
            let capability = try await Keychain.current.capability()
            #expect(capability.obstacle == TouchstoneError(.disconnected))
            #expect(try await github.status() == ["octocat": .present])
        }
    }
}
