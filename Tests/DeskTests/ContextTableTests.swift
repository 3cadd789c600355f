import KeychainModel
import SecretMemory
import Testing

@testable import Desk

@Suite("Contexts of a visit")
struct ContextTableTests {
    private func table(
        contexts: Int = 4,
        passwordOctets: Int = 4096,
        clock: any BootClock = SystemBootClock()
    ) -> ContextTable {
        var limits = DeskLimits(longestRequest: Frame.longest)
        limits.contextsPerVisit = contexts
        return ContextTable(
            visit: 1,
            limits: limits,
            budget: LockedMemoryBudget(octets: passwordOctets),
            clock: clock
        )
    }

    private func password(count: Int = 1) -> SecretBytes {
        SecretBytes(copying: [UInt8](repeating: 1, count: count))
    }

    @Test("above the limit the least recently used context is dropped")
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

    @Test("a context in use by a request is not dropped")
    func busy() throws {
        let table = table(contexts: 2)
        let context = try table.enter(1, request: 10)
        for number: UInt64 in 2...9 { try table.setPassword(password(), of: number) }
        #expect(table.invalidate(1) == [10])
        #expect(throws: KeychainError(.authFailed)) { try table.authorization(of: context) }
    }

    @Test("a password above the maximum length is refused")
    func longPassword() {
        let table = table()
        #expect(throws: KeychainError(.param)) { try table.setPassword(password(count: 1025), of: 1) }
        #expect(table.count == 0)
    }

    @Test("passwords are refused while their locked memory is used up, and accepted after one is removed")
    func passwordBudget() throws {
        let table = table(contexts: 100, passwordOctets: 4096)
        for number: UInt64 in 1...4 { try table.setPassword(password(count: 512), of: number) }
        #expect(throws: KeychainError(.allocate)) { try table.setPassword(password(), of: 5) }
        try table.setPassword(nil, of: 2)
        try table.setPassword(password(), of: 5)
        _ = table.invalidate(1)
        try table.setPassword(password(count: 512), of: 6)
    }

    @Test(
        "a typed password uses the same memory, and is discarded with the proofs; one that the app set is not"
    )
    func typed() throws {
        let table = table(contexts: 100, passwordOctets: 1024)
        let typed = try table.enter(1, request: 1)
        try table.keep(typed: password(count: 512), in: typed)
        #expect(throws: KeychainError(.allocate)) { try table.setPassword(password(), of: 2) }
        #expect(try table.authorization(of: typed).applicationPassword != nil)
        #expect(table.forgetTypedPassword(of: typed))
        #expect(!table.forgetTypedPassword(of: typed))
        try table.setPassword(password(), of: 2)
        let set = try table.enter(2, request: 2)
        #expect(!table.forgetTypedPassword(of: set))
        try table.keep(typed: password(), in: typed)
        table.forgetProofs()
        #expect(try table.authorization(of: typed).applicationPassword == nil)
        #expect(try table.authorization(of: set).applicationPassword != nil)
        try table.keep(typed: password(), in: set)
        #expect(table.forgetTypedPassword(of: set), "the latest counts")
        _ = table.invalidate(1)
        #expect(throws: KeychainError(.authFailed)) { try table.keep(typed: password(), in: typed) }
        table.leave(set, request: 2)
        #expect(table.count == 0)
    }

    @Test("a password typed for a request without a context of the app ends with the request")
    func typedForRequest() throws {
        let table = table()
        let context = try table.enter(nil, request: 9)
        try table.keep(typed: password(), in: context)
        #expect(table.count == 1)
        table.leave(context, request: 9)
        #expect(table.count == 0)
    }

    @Test("an empty context is not kept")
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
