import Testing

@testable import Desk

@Suite("Locked memory for requests")
struct LockedMemoryBudgetTests {
    @Test("released memory is available again, and a waiting request is notified")
    func release() {
        let budget = LockedMemoryBudget(octets: 4 << 20)
        let told = Flag()
        var first = budget.reserve(3 << 20)
        #expect(first != nil)
        #expect(budget.reserve(2 << 20, onRelease: { told.raise() }) == nil)
        #expect(!told.isRaised)
        first = nil
        #expect(told.isRaised)
        #expect(budget.reserve(2 << 20) != nil)
    }

    @Test("the longest request always fits, even with a low limit")
    func lowLimit() {
        var limits = DeskLimits(longestRequest: 1 << 20)
        limits.lockedOctets = 0
        let budget = LockedMemory(limits).requests
        #expect(budget.reserve(LockedMemoryBudget.cost(ofRequest: 1 << 20)) != nil)
    }

    @Test("waiting for memory ends when it is available")
    func waiting() async {
        let budget = LockedMemoryBudget(octets: 4 << 20)
        var first = budget.reserve(4 << 20)
        #expect(first != nil)
        let waiter = Task { await budget.reserveWhenFree(1 << 20) != nil }
        first = nil
        #expect(await waiter.value)
    }

    @Test("waiting for memory ends when the task is cancelled")
    func cancelled() async {
        let budget = LockedMemoryBudget(octets: 4 << 20)
        let all = budget.reserve(4 << 20)
        let waiter = Task { await budget.reserveWhenFree(1 << 20) == nil }
        waiter.cancel()
        #expect(await waiter.value)
        withExtendedLifetime(all) {}
    }
}
