import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting

@testable import KeychainEngine

@Suite("An erasure of more items than one commit takes finds all of them")
struct EraseManyTests {
    @Test("every item that has the secret is erased, and every other one is counted and stays")
    func many() async throws {
        let keychain = TestKeychain()
        let (engine, _) = try await keychain.setUp()
        // Three parts, the last one short.
        let count = 2 * ItemDeletion.mostItems + 10
        for number in 0..<count {
            let name: ItemAttributes = [.account: .string("account \(number)"), .service: .string("tests")]
            let item = NewItem(
                itemClass: .genericPassword,
                attributes: name,
                accessControl: AccessControl(accessibility: .whenUnlocked),
                data: .text(number % 3 == 0 ? "same" : "other")
            )
            let mark: String? = [0: "same", 1: "other"][number % 3]
            try await engine.replace(
                ItemQuery(itemClass: .genericPassword, attributes: name),
                with: ReplacingItem(item: item, mark: mark.asSecret(), keepsSame: false)
            )
        }
        let erasure = try await engine.erase(ItemQuery(itemClass: .genericPassword), secret: "same")
        let erased = (count + 2) / 3
        #expect(erasure == Erasure(deleted: erased, different: (count + 1) / 3, unknown: count / 3))
        let left = try await engine.values()
        #expect(left.count == count - erased && left.values.allSatisfy { $0 == "other" })
        #expect(await engine.check().isWell)
        await #expect(throws: KeychainError(.itemNotFound)) {
            try await engine.erase(
                ItemQuery(itemClass: .genericPassword, attributes: [.account: .string("account 0")]),
                secret: "same"
            )
        }
    }
}
