import KeychainEngine
import KeychainModel
import Testing

@Suite("Concurrent requests behave as if run one after the other")
struct ConcurrencyTests {
    let keychain = TestKeychain()

    @Test("exactly one of a hundred concurrent adds of the same key succeeds")
    func concurrentAdds() async throws {
        let (engine, _) = try await keychain.setUp()
        let outcomes = await withTaskGroup(of: Result<Void, any Error>.self) { group in
            for index in 0..<100 {
                group.addTask {
                    do {
                        try await engine.add("ann", "secret \(index)")
                        return .success(())
                    } catch { return .failure(error) }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        var successes = 0
        for outcome in outcomes {
            switch outcome {
            case .success: successes += 1
            case .failure(let error): #expect(error as? KeychainError == KeychainError(.duplicateItem))
            }
        }
        #expect(successes == 1)
        #expect(await engine.check().items == 1)
    }

    @Test("concurrent adds, updates and deletes leave an authentic item set and lose nothing")
    func mixed() async throws {
        var (engine, _): (KeychainEngine?, PasscodeKey?) = try await keychain.setUp()
        let shared = engine.required
        try await withThrowingTaskGroup(of: Void.self) { group in
            for client in 0..<16 {
                group.addTask {
                    for index in 0..<10 {
                        try await shared.add("\(client) \(index)", "first")
                        _ = try await shared.update("\(client) \(index)", secret: "second")
                        #expect(try await shared.secret("\(client) \(index)") == "second")
                        if index % 2 == 1 { try await shared.delete("\(client) \(index)") }
                    }
                }
            }
            try await group.waitForAll()
        }
        let report = await shared.check()
        #expect(
            report == StoreReport(items: 80, invalidated: 0, damaged: 0, isSetAuthentic: true, faults: [])
        )
        engine = nil
    }

    @Test("a failure in a shared commit affects only its own request")
    func failureInABatch() async throws {
        let (engine, _) = try await keychain.setUp()
        try await engine.add("taken")
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<32 {
                group.addTask {
                    if index % 2 == 0 {
                        await #expect(throws: KeychainError(.duplicateItem)) { try await engine.add("taken") }
                    } else {
                        await #expect(throws: Never.self) { try await engine.add("free \(index)") }
                    }
                }
            }
        }
        #expect(await engine.check().items == 17)
        #expect(await engine.check().isSetAuthentic)
    }
}
