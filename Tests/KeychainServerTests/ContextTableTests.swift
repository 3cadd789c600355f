import KeychainModel
import SecretMemory
import Testing

@testable import KeychainServer

@Suite("Contexts of a connection")
struct ContextTableTests {
    private func table(contexts: Int = 4) -> ContextTable {
        var limits = RequestLimits()
        limits.contextsPerConnection = contexts
        return ContextTable(connection: 1, limits: limits)
    }

    private func password() -> ApplicationPassword { ApplicationPassword(SecretBytes(copying: [1])) }

    @Test("beyond the limit, the context that was used longest ago is forgotten")
    func eviction() throws {
        let table = table()
        for number: UInt64 in 1...4 { try table.setPassword(password(), of: number) }
        try table.setPassword(password(), of: 1)
        try table.setPassword(password(), of: 5)
        #expect(table.count == 4)
        let kept = try [1, 2, 5].map { number in
            try table.authorization(of: ContextID(connection: 1, number: number)).applicationPassword != nil
        }
        #expect(kept == [true, false, true])
    }

    @Test("a context that a request works with is not forgotten")
    func busy() throws {
        let table = table(contexts: 2)
        let context = try table.enter(1, request: 10)
        for number: UInt64 in 2...9 { try table.setPassword(password(), of: number) }
        #expect(table.invalidate(1) == [10])
        #expect(throws: KeychainError(.authFailed)) { try table.authorization(of: context) }
    }

    @Test("a context that holds nothing is not kept")
    func empty() throws {
        let table = table()
        for request: UInt64 in 1...100 {
            let context = try table.enter(request % 7, request: request)
            table.leave(context, request: request)
            let fresh = try table.enter(nil, request: request)
            table.leave(fresh, request: request)
        }
        #expect(table.count == 0)
    }
}
