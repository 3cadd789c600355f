import Foundation
import Testing
import Touchstone
import TouchstoneTesting

/// The daemon's clock ends what one prompt authorises, also for a process whose own clock is not believed: here it stands still,
/// as in an app that something took over.
@Suite("Times that the daemon keeps", .timeLimit(.minutes(10)))
struct DaemonClockTests {
    private let message = Data("challenge".utf8)

    @Test("a store's and a key's time end by the daemon's clock, and not before")
    func reusable() async throws {
        let clock = ManualClock()
        let keychain = try await TemporaryKeychain(clock: clock)
        try await keychain.use {
            let rule = AccessRule.biometry.reusable(for: .seconds(300))
            let store = SecretStore("minutes", rule: rule)
            try await store.write("s3cret", for: "octocat")
            let key = try await DeviceSigningKey.create("minutes", rule: rule)
            var prompts = keychain.prompts.count
            for _ in 0..<2 {
                #expect(try await store.read("octocat") == "s3cret")
                _ = try await key.sign(message)
                #expect(keychain.prompts.count == prompts + 2)
                clock.advance(by: .seconds(240))
                #expect(try await store.read("octocat") == "s3cret")
                _ = try await key.sign(message)
                #expect(keychain.prompts.count == prompts + 2)
                clock.advance(by: .seconds(60))
                prompts += 2
            }
        }
    }

    @Test("a proof ends by the daemon's clock")
    func proof() async throws {
        let clock = ManualClock()
        let keychain = try await TemporaryKeychain(clock: clock)
        try await keychain.use {
            let store = SecretStore("notes", rule: .biometry)
            try await store.write("s3cret", for: "octocat")
            let proof = try await Keychain.current.authenticate("Read your notes", using: .strongBiometry)
            let prompts = keychain.prompts.count
            #expect(try await store.read("octocat", with: .proof(proof)) == "s3cret")
            clock.advance(by: .seconds(301))
            await #expect(throws: TouchstoneError(.proofEnded)) {
                try await store.read("octocat", as: String.self, with: .proof(proof))
            }
            #expect(keychain.prompts.count == prompts)
        }
    }
}
