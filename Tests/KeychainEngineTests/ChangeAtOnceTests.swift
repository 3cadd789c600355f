import Foundation
import KeychainModel
import SecretMemory
import Testing

@testable import KeychainEngine

@Suite("Synchronous changes on the caller's thread")
struct ChangeAtOnceTests {
    let keychain = TestKeychain()

    private static let plain = AccessControl(accessibility: .whenUnlocked)

    private static func item(
        _ account: String,
        _ control: AccessControl = plain,
        returns: ItemQuery.Returns = []
    ) -> NewItem {
        NewItem(
            itemClass: .genericPassword,
            attributes: [.account: .string(account), .service: .string("tests")],
            accessControl: control,
            data: .text("first"),
            returns: returns
        )
    }

    private static func query(_ account: String) -> ItemQuery {
        ItemQuery(itemClass: .genericPassword, attributes: [.account: .string(account)])
    }

    private static func update(
        _ account: String,
        _ engine: KeychainEngine,
        authorization: ItemAuthorization = ItemAuthorization()
    ) throws(KeychainError) -> Int? {
        try engine.updateAtOnce(
            query(account),
            groups: [.ours],
            changes: ItemChanges(attributes: [:], accessControl: nil, data: .text("second")),
            authorization: authorization
        )
    }

    @Test("a synchronous change has the same effect as an asynchronous one and survives a restart")
    func same() async throws {
        do {
            let (engine, _) = try await keychain.setUp()
            let item = Self.item("ann", returns: [.persistentRef, .data])
            guard let page = try engine.addAtOnce(item, group: .ours) else { throw MissingValue() }
            let added = try decode(page).first.required
            #expect(added.text == "first")
            #expect(try await engine.all(references: [added.reference.required]).count == 1)
            #expect(try engine.addAtOnce(Self.item("bob"), group: .ours) != nil)
            #expect(throws: KeychainError(.duplicateItem)) {
                try engine.addAtOnce(Self.item("ann"), group: .ours) != nil
            }
            #expect(try Self.update("ann", engine) == 1)
            #expect(try engine.deleteAtOnce(Self.query("bob"), groups: [.ours]) == 1)
            #expect(throws: KeychainError(.itemNotFound)) { try Self.update("bob", engine) }
            #expect(throws: KeychainError(.itemNotFound)) {
                try engine.deleteAtOnce(Self.query("ann"), groups: [.theirs])
            }
        }
        let engine = try await keychain.restart()
        #expect(try await engine.secret("ann") == "second")
        let report = await engine.check()
        #expect(report.items == 1)
        #expect(report.isSetAuthentic)
        await engine.lock()
        let error = #expect(throws: KeychainError.self) { try Self.update("ann", engine) }
        #expect(error?.cause == .locked)
    }

    @Test("a change that needs the user or a derived key is declined and changes nothing")
    func others() async throws {
        let (engine, _) = try await keychain.setUp()
        let presence = try AccessControl(accessibility: .whenUnlocked, flags: .userPresence)
        try await engine.add("ann", "first", presence)
        #expect(try Self.update("ann", engine) == nil)
        let password = ItemAuthorization(applicationPassword: ApplicationPassword(.text("password")))
        try await engine.add("bob", "first")
        #expect(try Self.update("bob", engine, authorization: password) == nil)
        #expect(try await engine.secret("bob") == "first")
        let wanted = try AccessControl(accessibility: .whenUnlocked, flags: .applicationPassword)
        #expect(try engine.addAtOnce(Self.item("eve", wanted), group: .ours) == nil)
        #expect(await engine.check().items == 2)
    }

    @Test("a synchronous change is declined while the engine is busy")
    func busy() async throws {
        let (engine, _) = try await keychain.setUp()
        let isLeft = try await engine.run { engine in
            try engine.addAtOnce(Self.item("ann"), group: .ours) == nil
        }
        #expect(isLeft)
        #expect(await engine.check().items == 0)
    }

    @Test("a change that needs the hardware counter advanced first is rolled back")
    func counting() async throws {
        let (engine, _) = try await keychain.setUp()
        for number in 1..<ItemStore.mostUncountedCommits { try await engine.add("\(number)") }
        let (isLeft, digest) = try await engine.run { engine in
            try engine.assumeIsolated { engine in
                guard let store = engine.store else { throw MissingValue() }
                let context = try engine.context()
                let digest = store.itemSet.digest
                let search = try ItemSearch(Self.query("7"), groups: [.ours], in: context)
                let delete = PendingWrite(.delete(search))
                store.commit([delete], context, counting: .refused)
                return (delete.result == nil, store.itemSet.digest == digest)
            }
        }
        #expect(isLeft)
        #expect(digest)
        #expect(try await engine.secret("7") == "secret")
        let report = await engine.check()
        #expect(report.items == ItemStore.mostUncountedCommits - 1)
        #expect(report.isSetAuthentic)
    }

    @Test("concurrent synchronous changes are committed together, each with its own result")
    func together() async throws {
        let (engine, _) = try await keychain.setUp()
        try await engine.add("taken")
        let threads = (0..<16).map { thread in
            let refused = BlockingFuture<Int>()
            Thread.detachNewThread {
                let outcomes = (0..<20).map { run in
                    let account = run % 4 == 0 ? "taken" : "\(thread) \(run)"
                    return Result {
                        guard try engine.addAtOnce(Self.item(account), group: .ours) != nil else {
                            throw MissingValue()
                        }
                    }
                }
                let isDuplicate = outcomes.map { outcome in
                    switch outcome {
                    case .success: false
                    case .failure(let error): error as? KeychainError == KeychainError(.duplicateItem)
                    }
                }
                let expected = (0..<20).map { $0 % 4 == 0 }
                refused.give(isDuplicate == expected ? outcomes.count { $0.isFailure } : -1)
            }
            return refused
        }
        for refused in threads { #expect(refused.wait() == 5) }
        let report = await engine.check()
        #expect(report.items == 1 + 16 * 15)
        #expect(report.isSetAuthentic)
    }

    @Test(
        "a synchronous change in a shared commit is declined if hardware must count; the others complete"
    )
    func countingTogether() async throws {
        let (engine, _) = try await keychain.setUp()
        for account in ["ann", "bob"] { try await engine.add(account) }
        let (isLeft, isDone) = try await engine.deleteTogether(Self.query("ann"), Self.query("bob"))
        #expect(isLeft)
        #expect(isDone)
        #expect(try await engine.secret("ann") == "secret")
        await #expect(throws: KeychainError(.itemNotFound)) { try await engine.secret("bob") }
        #expect(await engine.check().isSetAuthentic)
    }
}

extension KeychainEngine {
    /// Deletes items in one commit for which the hardware counter must advance.
    ///
    /// - Returns: whether the first write, which holds a thread, was declined, and whether the second was
    ///   done.
    fileprivate func deleteTogether(
        _ first: ItemQuery,
        _ second: ItemQuery
    ) async throws -> (isLeft: Bool, isDone: Bool) {
        let context = try context()
        let store = try usableStore(context)
        let searches = try [first, second].map { try ItemSearch($0, groups: [.ours], in: context) }
        countedGeneration = store.itemSet.generation
        store.commitsSinceCount = ItemStore.mostUncountedCommits
        let isLeft = BlockingFuture<Bool>()
        let isDone = await withCheckedContinuation { done in
            queue(PendingWrite(.delete(searches[0]), holdsThread: true) { isLeft.give($0 == nil) })
            queue(PendingWrite(.delete(searches[1])) { done.resume(returning: $0?.isFailure == false) })
        }
        return (isLeft.wait(), isDone)
    }
}
