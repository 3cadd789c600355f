import Foundation
import Testing

@testable import Touchstone

@Suite("A key that an earlier version made", .timeLimit(.minutes(20)))
struct EarlierKeyTests {
    @Test("its record names the key once the key was found, so that deleting it ends the key")
    func named() async throws {
        let world = try await World()
        try await world.use {
            let place = try KeyPlace(purpose: KeyPlace.signing, name: "key", group: nil)
            world.otherProgram(SecretStore("any")) { store throws(TouchstoneError) in
                let calls = store.calls
                let made = try calls.makeKey(under: .whenUnlocked, KeyLifetime(), at: place, challenge: nil)
                let record = KeyRecord(made, .whenUnlocked, KeyLifetime(), hasCodes: false)
                let attributes = place.query(mark: KeyRecord.mark(of: made.representation))
                let bytes = try SecretCoding.encode(record, by: JSONEncoder())
                let password = NewPassword(attributes: attributes, rule: nil, bytes: bytes)
                #expect(try calls.add(password))
                #expect(try !calls.namesKeys(place.query()))
            }
            let key = try await DeviceSigningKey.find("key")
            world.otherProgram(SecretStore("any")) { store throws(TouchstoneError) in
                #expect(try store.calls.namesKeys(place.query()))
            }
            _ = try await key.sign(Data("x".utf8))
            // Not by this module, which would know.
            world.otherProgram(SecretStore("any")) { store throws(TouchstoneError) in
                #expect(try store.calls.delete(place.query()))
            }
            await #expect(throws: TouchstoneError(.deleted)) { try await key.sign(Data("x".utf8)) }
        }
    }
}
