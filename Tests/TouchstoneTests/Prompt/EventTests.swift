import Foundation
import SecretMemory
import Testing
import TouchstoneTesting

@testable import Touchstone

@Suite("Security events of items and prompts", .timeLimit(.minutes(20)))
struct EventTests {
    @Test("security events cover this process's items and prompts and the keychain, and contain no secret")
    func events() async throws {
        let world = try await World.withFinger()
        try await world.use {
            let seen = Guarded<[SecurityEvent]>([])
            let stream = Keychain.current.securityEvents()
            let task = Task {
                for await event in stream { seen.withLock { $0.append(event) } }
            }
            try await world.waitUntilHeard()
            let secret = "marzipan-\(UInt64.random(in: 0 ... .max))"
            let store = SecretStore("events")
            try await store.write(secret, for: "octocat")
            try world.touches()
            #expect(try await store.read("octocat", as: String.self) == secret)
            try world.cancels()
            await #expect(throws: TouchstoneError(.userCancelled)) {
                try await store.read("octocat", as: String.self)
            }
            try world.keychain.tellPerson([])
            let key = try await DeviceSigningKey.create("payments", rule: .passcode)
            _ = try await key.sign(Data(secret.utf8), "Pay \(secret)")
            try await key.delete()
            try await world.enrol(["left-thumb"])
            _ = try await Keychain.current.authenticate("a test", using: .passcode)
            await #expect(throws: TouchstoneError(.invalidated)) {
                try await store.read("octocat", as: String.self)
            }
            /// The events seen, as text.
            func words() -> [String] {
                seen.withLock(\.self).map {
                    [$0.kind.rawValue, $0.item, $0.error?.code.rawValue].compactMap(\.self).joined(
                        separator: " "
                    )
                }
            }
            let expected = [
                "success events/octocat", "success events/octocat", "failure events/octocat userCancelled",
                "success payments", "success payments", "success payments", "success",
                "failure events/octocat invalidated",
            ]
            let others = World.tellsOfOthers ? ["enrolmentChanged"] : []
            // The daemon's events arrive on a separate connection, so in no particular order.
            try await Deadline.wait(for: "the events, of \(words())") {
                let words = words()
                let wanted = expected + others
                return Set(words).isSuperset(of: wanted) && words.count >= wanted.count ? true : nil
            }
            let own = words().filter { $0 != "enrolmentChanged" && $0 != "invalidated" }
            #expect(own == expected)
            for event in seen.withLock(\.self) {
                let text = "\(event)\(event.metadata)"
                #expect(!text.contains(secret) && !text.contains(PrivateKeychain.passcode))
                #expect(event.metadata["event"] == event.kind.rawValue)
                #expect(event.metadata["item"] == event.item)
                #expect(event.metadata["error"] == event.error?.code.rawValue)
                #expect(abs(event.time.timeIntervalSinceNow) < 600)
            }
            task.cancel()
            await task.value
        }
    }
}
