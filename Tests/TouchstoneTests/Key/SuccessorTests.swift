import Foundation
import Glibc
import Testing
import TouchstoneTesting

@testable import Touchstone

@Suite("Key rotation", .timeLimit(.minutes(20)))
struct SuccessorTests {
    private let message = Data("challenge".utf8)

    @Test(
        "a successor exists beside the key, and takes its name when the key is deleted, also after a restart"
    )
    func rotation() async throws {
        let world = try await World()
        try await world.use {
            let expires = Date() + 3600
            let old = try await DeviceSigningKey.create("payments", rule: .passcode, expires: expires)
            let new = try await old.makeSuccessor()
            #expect(new.name == "payments" && new.rule == .passcode && new.publicKey != old.publicKey)
            let (oldTime, newTime) = (
                expires.timeIntervalSince(old.created),
                try #require(new.expires).timeIntervalSince(new.created)
            )
            #expect(abs(oldTime - newTime) < 300, "as long a time")
            #expect(world.prompts == 0)
            // Both keys are usable, and a second call creates no third key.
            _ = try await old.sign(message)
            _ = try await new.sign(message)
            #expect(try await old.makeSuccessor().publicKey == new.publicKey)
            #expect(try await DeviceSigningKey.find("payments").publicKey == old.publicKey)
            await #expect(throws: TouchstoneError(.alreadyExists)) {
                try await DeviceSigningKey.create("payments", rule: .passcode)
            }

            #expect(try await old.delete() == .deleted)
            #expect(try await old.delete() == .wasAbsent, "and not the one that has its name now")
            world.keychain.stop(with: SIGTERM)
            try await world.keychain.start()
            try world.keychain.unlock()
            let found = try await DeviceSigningKey.find("payments")
            #expect(found.publicKey == new.publicKey && found.rule == .passcode)
            _ = try await found.sign(message)
            // And so on.
            let third = try await found.makeSuccessor()
            #expect(third.publicKey != found.publicKey)
        }
    }

    @Test("a successor can be deleted, and is deleted with the name")
    func deleted() async throws {
        let world = try await World()
        try await world.use {
            let old = try await DeviceSigningKey.create("a", rule: .whenUnlocked)
            let new = try await old.makeSuccessor()
            #expect(try await new.delete() == .deleted)
            #expect(try await DeviceSigningKey.find("a").publicKey == old.publicKey)
            let other = try await old.makeSuccessor()
            #expect(other.publicKey != new.publicKey)
            #expect(try await DeviceSigningKey.delete("a") == .deleted)
            await #expect(throws: TouchstoneError(.notFound)) { try await DeviceSigningKey.find("a") }
            _ = try await DeviceSigningKey.create("b", rule: .whenUnlocked).makeSuccessor()
            try await Keychain.current.deleteEverything()
            await #expect(throws: TouchstoneError(.notFound)) { try await DeviceSigningKey.find("b") }
            #expect(try await DeviceSigningKey.delete("b") == .wasAbsent)
        }
    }

    @Test("a successor takes the name even if the process ended between the two steps")
    func interrupted() async throws {
        for looks in [true, false] {
            let world = try await World()
            try await world.use {
                let old = try await DeviceSigningKey.create("a", rule: .whenUnlocked)
                let new = try await old.makeSuccessor()
                // Only the first step.
                let place = try KeyPlace(purpose: "Signing", name: "a", group: nil)
                let query = place.query(mark: KeyRecord.mark(of: old.representation))
                world.otherProgram(SecretStore("any")) { calls throws(TouchstoneError) in
                    #expect(try calls.calls.delete(query))
                }
                if looks {
                    #expect(try await DeviceSigningKey.find("a").publicKey == new.publicKey)
                } else {
                    await #expect(throws: TouchstoneError(.alreadyExists)) {
                        try await DeviceSigningKey.create("a", rule: .whenUnlocked)
                    }
                }
                #expect(try await DeviceSigningKey.find("a").publicKey == new.publicKey)
                #expect(try await new.delete() == .deleted)
                await #expect(throws: TouchstoneError(.notFound)) { try await DeviceSigningKey.find("a") }
            }
        }
    }

    @Test("an invalidated key can be rotated")
    func invalidated() async throws {
        let world = try await World.withFinger()
        try await world.use {
            let old = try await DeviceSigningKey.create("a")
            try await world.enrol(["left-thumb"])
            _ = try await Keychain.current.authenticate("a test", using: .passcode)
            await #expect(throws: TouchstoneError(.invalidated)) { try await DeviceSigningKey.find("a") }
            let new = try await old.makeSuccessor()
            #expect(try await old.delete() == .deleted)
            try world.touches()
            #expect(try await DeviceSigningKey.find("a").publicKey == new.publicKey)
            _ = try await new.sign(message)
        }
    }
}
