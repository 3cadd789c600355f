import KeychainModel
import SecretMemory
import Testing

@testable import KeychainEngine

@Suite("Progress of a change of many items")
struct UpdateProgressTests {
    @Test("a move of 40 items is told while it runs, also if another request's thread writes it")
    func move() async throws {
        let keychain = TestKeychain()
        let (engine, _) = try await keychain.setUp()
        for number in 0..<40 { try await engine.add("account \(number)") }
        let other = AccessGroup.theirs
        let told = Guarded<[[Int]]>([])
        let progress = WorkProgress(silence: .zero) { done, total in
            told.withLock { $0.append([done, total]) }
        }
        let outcome = try WorkProgress.$current.withValue(progress) {
            try engine.items.update(
                ItemQuery(itemClass: .genericPassword, attributes: [.service: .string("tests")], limit: .all),
                groups: [.ours, other],
                changes: ItemChanges(
                    attributes: [.accessGroup: .string(other.name)],
                    accessControl: nil,
                    data: nil
                ),
                authorization: ItemAuthorization()
            )
        }
        guard case .done(40) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        // The clock is read at every 16th step, and the first one begins the silence.
        #expect(told.withLock { $0 }.first == [16, 40])
    }
}
