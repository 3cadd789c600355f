import Foundation
import Glibc
import Testing
import TouchstoneTesting

@testable import Touchstone

@Suite("A deleted key is not used by whoever holds its value", .timeLimit(.minutes(20)))
struct DeletedKeyTests {
    private let message = Data("challenge".utf8)

    /// A call that deletes keys.
    enum Deletion: CaseIterable, Sendable {
        case own, byName, everything
    }

    /// Keys of each purpose, which need no prompt.
    private struct Keys {
        let signing: DeviceSigningKey
        let agreement: DeviceAgreementKey
        let sealing: DeviceSealingKey
        let successor: DeviceSealingKey
        let record: Data

        init() async throws {
            signing = try await DeviceSigningKey.create("key", rule: .whenUnlocked)
            agreement = try await DeviceAgreementKey.create("key", rule: .whenUnlocked)
            sealing = try await DeviceSealingKey.create("key", rule: .whenUnlocked)
            successor = try await sealing.makeSuccessor()
            record = try await sealing.seal(Data("note".utf8))
        }

        func delete(_ deletion: Deletion) async throws {
            switch deletion {
            case .own:
                #expect(try await signing.delete() == .deleted)
                #expect(try await agreement.delete() == .deleted)
                #expect(try await successor.delete() == .deleted)
                #expect(try await sealing.delete() == .deleted)
            case .byName:
                #expect(try await DeviceSigningKey.delete("key") == .deleted)
                #expect(try await DeviceAgreementKey.delete("key") == .deleted)
                #expect(try await DeviceSealingKey.delete("key") == .deleted)
            case .everything: try await Keychain.current.deleteEverything()
            }
        }
    }

    private func expectDeleted(_ keys: Keys) async {
        let deleted = TouchstoneError(.deleted)
        await #expect(throws: deleted) { try await keys.signing.sign(message) }
        await #expect(throws: deleted) { try await keys.signing.makeSuccessor() }
        await #expect(throws: deleted) {
            try await keys.agreement.sharedKey(with: keys.signing.publicKey, info: message)
        }
        for key in [keys.sealing, keys.successor] {
            await #expect(throws: deleted) { try await key.seal(message) }
            await #expect(throws: deleted) { try await key.open(keys.record) }
            await #expect(throws: deleted) { try await key.authenticationCode(for: message) }
        }
    }

    @Test(
        "every use throws `deleted`, also after a restart and when another key has the name",
        arguments: Deletion.allCases
    )
    func uses(_ deletion: Deletion) async throws {
        let world = try await World()
        try await world.use {
            let keys = try await Keys()
            _ = try await keys.signing.sign(message)
            try await keys.delete(deletion)
            await expectDeleted(keys)
            world.keychain.stop(with: SIGTERM)
            try await world.keychain.start()
            try world.keychain.unlock()
            await expectDeleted(keys)
            let next = try await DeviceSigningKey.create("key", rule: .whenUnlocked)
            _ = try await next.sign(message)
            await expectDeleted(keys)
            #expect(try await keys.signing.delete() == .wasAbsent)
            _ = try await next.sign(message)
        }
    }

    @Test("an earlier prompt of a reusable key does not count for it, and it causes no prompt")
    func reusable() async throws {
        let world = try await World()
        try await world.use {
            let rule = AccessRule.passcode.reusable(for: .seconds(300))
            let key = try await DeviceSigningKey.create("minutes", rule: rule)
            let strict = try await DeviceSigningKey.create("strict", rule: .passcode)
            for _ in 0..<2 { _ = try await key.sign(message) }
            #expect(world.prompts == 1)
            #expect(try await key.delete() == .deleted)
            #expect(try await strict.delete() == .deleted)
            for key in [key, strict] {
                let error = await failure { () throws(TouchstoneError) in try await key.sign(message) }
                #expect(error?.code == .deleted && error?.nextStep == .setUpAgain)
            }
            #expect(world.prompts == 1)
        }
    }
}
