import Testing
import TouchstoneTesting

@testable import Touchstone

@Suite("The last authentication", .timeLimit(.minutes(20)))
struct LastAuthenticationTests {
    @Test("it is told by kind and without a prompt, across locks")
    func told() async throws {
        guard World.tellsLastAuthentication else { return try await expectUnsupported() }
        let world = try await World.withFinger()
        try await world.use {
            let keychain = Keychain.current
            #expect(try await keychain.lastAuthentication() == nil)
            let start = ContinuousClock.now
            try world.touches()
            _ = try await keychain.authenticate("Show your notes")
            let finger = try #require(try await keychain.lastAuthentication())
            #expect(finger.method == .fingerprint)
            #expect(finger.time > start - .milliseconds(2) && finger.time < .now)
            #expect(try await keychain.lastAuthentication(using: .strongBiometry)?.method == .fingerprint)
            #expect(try await keychain.lastAuthentication(using: .passcode) == nil)

            _ = try await keychain.authenticate("Show your notes", using: .passcode)
            let passcode = try #require(try await keychain.lastAuthentication())
            #expect(passcode.method == .passcode && passcode.time > finger.time)
            let still = try #require(try await keychain.lastAuthentication(using: .weakBiometry))
            #expect(still.method == .fingerprint && still.time < passcode.time)

            try world.lock()
            #expect(try await keychain.lastAuthentication()?.method == .passcode)
            #expect(world.prompts == 2)
            await #expect(throws: TouchstoneError(.unsupported)) {
                try await keychain.lastAuthentication(using: [])
            }
        }
    }

    @Test("a store's prompt counts, and a cancelled one does not")
    func stores() async throws {
        guard World.tellsLastAuthentication else { return try await expectUnsupported() }
        let world = try await World.withFinger()
        try await world.use {
            let store = SecretStore("notes", rule: .passcode)
            try await store.write("text", for: "note")
            try world.cancels()
            await #expect(throws: TouchstoneError(.userCancelled)) { try await store.read("note") as String }
            #expect(try await Keychain.current.lastAuthentication() == nil)
            try world.answers()
            #expect(try await store.read("note") == "text")
            #expect(try await Keychain.current.lastAuthentication()?.method == .passcode)
        }
    }

    /// Where the system does not say it.
    private func expectUnsupported() async throws {
        let world = try await World.withFinger()
        let error = await world.use {
            await failure { () throws(TouchstoneError) in try await Keychain.current.lastAuthentication() }
        }
        #expect(error?.code == .unsupported)
    }
}
