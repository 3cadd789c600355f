import Foundation
import KeychainClient
import KeychainModel
import Testing
import TouchstoneTesting

@testable import Touchstone

/// The daemon's counting and clock; the Secure Enclave has neither.
@Suite("A key that may be used only so often, or until a time", .timeLimit(.minutes(10)))
struct KeyUseTests {
    private let message = Data("challenge".utf8)

    @Test("it is used so often, is told apart from a deleted one, and nobody is asked for one use more")
    func uses() async throws {
        let world = try await World()
        try await world.use {
            let key = try await DeviceSigningKey.create("coupon", rule: .passcode, uses: 2)
            #expect(key.uses == 2)
            #expect(try await key.usesLeft() == 2)
            _ = try await key.sign(message)
            let found = try await DeviceSigningKey.find("coupon")
            #expect(found.uses == 2)
            #expect(try await found.usesLeft() == 1)
            let successor = try await found.makeSuccessor()
            #expect(successor.uses == 2)
            _ = try await found.sign(message)
            #expect(world.prompts == 2)
            let error = await #expect(throws: TouchstoneError(.usedUp)) { try await key.sign(message) }
            #expect(error?.nextStep == .setUpAgain)
            await #expect(throws: TouchstoneError(.usedUp)) { try await found.usesLeft() }
            await #expect(throws: TouchstoneError(.usedUp)) { try await DeviceSigningKey.find("coupon") }
            await #expect(throws: TouchstoneError(.usedUp)) {
                try await DeviceSigningKey.findOrCreate("coupon", rule: .passcode)
            }
            #expect(world.prompts == 2)
            // The successor takes the name, with uses of its own.
            #expect(try await found.delete() == .deleted)
            #expect(try await DeviceSigningKey.find("coupon").usesLeft() == 2)
            await #expect(throws: TouchstoneError(.deleted)) { try await found.sign(message) }
        }
        #expect(KeyLifetime.mostUses == Int(KeyLimits.mostUses))
        for uses in [0, -1, KeyLifetime.mostUses + 1] {
            await #expect(throws: TouchstoneError(.limitExceeded)) {
                try await DeviceSigningKey.create("none", uses: uses)
            }
        }
    }

    @Test("each use counts under a rule whose prompt authorises several")
    func reusable() async throws {
        let world = try await World()
        try await world.use {
            let rule = AccessRule.passcode.reusable(for: .seconds(60))
            let key = try await DeviceSigningKey.create("coupon", rule: rule, uses: 2)
            _ = try await key.sign(message)
            _ = try await key.sign(message)
            #expect(world.prompts == 1)
            await #expect(throws: TouchstoneError(.usedUp)) { try await key.sign(message) }
        }
    }

    @Test("nothing is sealed for a key without a use left")
    func sealed() async throws {
        let world = try await World()
        try await world.use {
            let key = try await DeviceSealingKey.create("letters", rule: .whenUnlocked, uses: 1)
            let record = try await key.seal(message)
            #expect(try await key.seal(message) != record)
            #expect(try await key.open(record) == message)
            await #expect(throws: TouchstoneError(.usedUp)) { try await key.seal(message) }
            await #expect(throws: TouchstoneError(.usedUp)) { try await key.open(record) }
        }
    }

    @Test("a program that does not check the time is refused by the daemon")
    func time() async throws {
        let world = try await World()
        let now = UInt64(Date().timeIntervalSince1970 * 1_000_000)
        for (limits, cause) in [
            (try KeyLimits(starts: now + 3_600_000_000), .notYetValid), (try KeyLimits(ends: now), .expired),
        ] as [(KeyLimits, DriverCause)] {
            let client = world.keychain.client
            let prompt = world.keychain.prompt()
            let control = AccessControl(accessibility: .whenUnlocked)
            let key = try client.makeKey(MakeKey(accessControl: control, limits: limits, prompt: prompt))
            let use = KeyUse.sign(digest: [UInt8](repeating: 7, count: 32))
            let error = #expect(throws: KeychainError.self) {
                _ = try client.useKey(UseKey(representation: key.representation, use: use, prompt: prompt))
            }
            #expect(error?.cause == cause)
        }
    }
}
