import Foundation
import Glibc
import Testing
import TouchstoneTesting

@testable import Touchstone

@Suite("Keys whose rule allows reuse of a prompt", .timeLimit(.minutes(20)))
struct ReusableKeyTests {
    private let message = Data("challenge".utf8)
    private static let long = AccessRule.passcode.reusable(for: .seconds(300))

    @Test(
        "a key signs several times with one prompt that serves no other key, and the assurance is not perUse"
    )
    func serves() async throws {
        let world = try await World()
        try await world.use {
            let key = try await DeviceSigningKey.create("minutes", rule: Self.long)
            let first = try await key.sign(message, "Sign the letters")
            #expect(first.assurance.facts == [.keyBound, .passcodeUsed], "not perUse")
            #expect(first.assurance.method == .passcode)
            for _ in 0..<3 { #expect(try await key.sign(message).assurance == first.assurance) }
            #expect(world.prompts == 1)
            // The rule is stored with the key.
            let found = try await DeviceSigningKey.find("minutes")
            #expect(found.rule == Self.long)
            _ = try await found.sign(message)
            #expect(world.prompts == 1)

            let other = try await DeviceSigningKey.create("other", rule: Self.long)
            _ = try await other.sign(message)
            #expect(world.prompts == 2)
            let strict = try await DeviceSigningKey.create("strict", rule: .passcode)
            for _ in 0..<2 { #expect(try await strict.sign(message).assurance.facts.contains(.perUse)) }
            #expect(world.prompts == 4)
            // The record has whole milliseconds; less means one use.
            for (time, kept) in [
                (Duration.microseconds(999), Duration.zero), (.microseconds(1500), .milliseconds(1)),
            ] {
                let rule = AccessRule.passcode.reusable(for: time)
                let brief = try await DeviceSigningKey.create("brief \(time)", rule: rule)
                #expect(brief.rule == .passcode.reusable(for: kept))
                #expect(try await DeviceSigningKey.find("brief \(time)").rule == brief.rule)
            }
            let store = SecretStore("minutes", rule: Self.long)
            try await store.write("x", for: "minutes")
            #expect(try await store.read("minutes") == "x")
            #expect(world.prompts == 5)
            // A key created later under the same name is another key; a successor inherits the rule.
            let successor = try await key.makeSuccessor()
            #expect(successor.rule == Self.long)
            _ = try await successor.sign(message)
            #expect(world.prompts == 6)
        }
    }

    @Test("agreement, opening and codes each need one prompt")
    func otherPurposes() async throws {
        let world = try await World()
        try await world.use {
            let peer = try await DeviceAgreementKey.create("peer", rule: .whenUnlocked)
            let agreement = try await DeviceAgreementKey.create("chat", rule: Self.long)
            for _ in 0..<2 { _ = try await agreement.sharedKey(with: peer.publicKey, info: Data()) }
            #expect(world.prompts == 1)
            let sealing = try await DeviceSealingKey.create("notes", rule: Self.long)
            let record = try await sealing.seal(message)
            let code = try await sealing.authenticationCode(for: message)
            #expect(try await sealing.open(record) == message)
            #expect(try await sealing.authenticationCode(for: message) == code)
            #expect(world.prompts == 2)
        }
    }

    @Test("a key prompts again after the time, a lock, a restart and a cancelled prompt")
    func ends() async throws {
        let world = try await World()
        try await world.use {
            let short = try await DeviceSigningKey.create("short", rule: .passcode.reusable(for: .seconds(1)))
            _ = try await short.sign(message)
            try await Task.sleep(for: .seconds(1.1))
            _ = try await short.sign(message)
            #expect(world.prompts == 2)

            let key = try await DeviceSigningKey.create("minutes", rule: Self.long)
            try world.cancels()
            await #expect(throws: TouchstoneError(.userCancelled)) { try await key.sign(message) }
            try world.answers()
            _ = try await key.sign(message)
            #expect(world.prompts == 4)

            // While locked, the prompt that unlocks is the key's.
            try world.lock()
            for _ in 0..<2 { _ = try await key.sign(message) }
            #expect(world.prompts == 5)
            // If another prompt unlocks, the key's own reuse has ended.
            try world.lock()
            try world.keychain.unlock()
            var before = world.prompts
            for _ in 0..<2 { _ = try await key.sign(message) }
            #expect(world.prompts == before + 1)

            world.keychain.stop(with: SIGTERM)
            try await world.keychain.start()
            try world.keychain.unlock()
            before = world.prompts
            for _ in 0..<2 { _ = try await key.sign(message) }
            #expect(world.prompts == before + 1)
        }
    }

    @Test("an enrolled finger invalidates the key within the time, or makes it prompt again")
    func fingersChange() async throws {
        let world = try await World.withFinger()
        try await world.use {
            let rule = AccessRule.biometry.reusable(for: .seconds(300))
            let current = try await DeviceSigningKey.create("current", rule: rule)
            let later = try await DeviceSigningKey.create("later", rule: rule.acceptingLaterEnrolments())
            for key in [current, later] {
                try world.touches()
                for _ in 0..<2 {
                    let signature = try await key.sign(message)
                    #expect(signature.assurance.method == .fingerprint)
                    #expect(!signature.assurance.facts.contains(.perUse))
                }
            }
            #expect(world.prompts == 2)
            try await world.enrol(["right-index-finger", "left-thumb"])
            await #expect(throws: TouchstoneError(.invalidated)) { try await current.sign(message) }
            #expect(world.prompts == 2)
            // The passcode comes before a possibly new finger.
            try world.cancels()
            await #expect(throws: TouchstoneError.self) { try await later.sign(message) }
        }
    }
}
