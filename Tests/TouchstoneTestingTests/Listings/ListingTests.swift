import Foundation
import Testing
import TouchstoneTesting

/// The listings that guides publish, in their own order of calls, in each situation that an app can start in.
///
/// Each line is a call and its result: numbers are those of `LAError` or `OSStatus`, words the codes of `TouchstoneError`. The person
/// touches with the enrolled finger, or types the passcode where no finger is taken.
@Suite("Published listings in every situation", .timeLimit(.minutes(20)))
struct ListingTests {
    private func check(
        _ situation: Situation,
        _ expected: [Situation: String],
        after firstRun: () async throws -> Void,
        _ run: () async -> [String]
    ) async throws {
        let keychain = try await situation.keychain(after: firstRun)
        let said = await keychain.use(run).joined(separator: ", ")
        #expect(said == expected[situation])
    }

    @Test("a biometric manager for iOS", arguments: Situation.allCases)
    func iOSManager(situation: Situation) async throws {
        let manager = IOSManager()
        try await check(situation, Self.iosExpected, after: { _ = manager.createKey() }) {
            await manager.run()
        }
    }

    @Test("OWASP's samples for iOS", arguments: Situation.allCases)
    func owasp(situation: Situation) async throws {
        let sample = OWASPSample()
        try await check(situation, Self.owaspExpected, after: { _ = sample.store() }) { await sample.run() }
    }

    @Test("a token login for iOS", arguments: Situation.allCases)
    func token(situation: Situation) async throws {
        let listing = TokenListing()
        try await check(situation, Self.tokenExpected, after: { _ = listing.save("old") }) {
            await listing.run()
        }
    }

    @Test("a biometric manager for Android, moved", arguments: Situation.allCases)
    func androidManager(situation: Situation) async throws {
        let manager = AndroidManager()
        var kept: Data?
        try await check(situation, Self.androidExpected, after: { kept = await manager.firstRun() }) {
            await manager.run(kept)
        }
    }

    @Test("a storage plug-in, moved", arguments: Situation.allCases)
    func storagePlugin(situation: Situation) async throws {
        let plugin = StoragePlugin()
        try await check(situation, Self.storageExpected, after: { _ = await plugin.write("old") }) {
            await plugin.run()
        }
    }
}
