import Testing
import TouchstoneTesting

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

    @Test("an arriving frame is charged for what arrived, and gives all back")
    func arrival() {
        let budget = LockedMemoryBudget(octets: 4 << 20)
        var frame: LockedMemoryBudget.ArrivingFrame? = .init(in: budget, claim: 2 << 20)
        #expect(frame?.grow(to: 10, onRelease: {}) == true)
        #expect(budget.reserve((4 << 20) - 10) != nil)
        #expect(frame?.grow(to: 2 << 20, onRelease: {}) == true)
        let told = Flag()
        #expect(budget.reserve(3 << 20, onRelease: { told.raise() }) == nil && budget.isWanted)
        frame = nil
        #expect(told.isRaised && !budget.isWanted)
        #expect(budget.reserve(4 << 20) != nil)
    }

    @Test("frames that arrive side by side can all be completed, in whatever steps", arguments: 1...40)
    func banker(seed: UInt64) {
        var generator = SplitMix64(seed: seed)
        let budget = LockedMemoryBudget(octets: 2 << 20)
        var frames: [(frame: LockedMemoryBudget.ArrivingFrame, octets: Int, claim: Int)] = []
        for _ in 0..<Int.random(in: 2...30, using: &generator) {
            let claim = Int.random(in: 10_000...2 << 20, using: &generator)
            frames.append((.init(in: budget, claim: claim), 0, claim))
        }
        while !frames.isEmpty {
            var isGoingOn = false
            for index in frames.indices.shuffled(using: &generator) {
                let frame = frames[index]
                let next = min(frame.claim, max(8192, 2 * frame.octets))
                guard frame.frame.grow(to: next, onRelease: {}) else { continue }
                frames[index].octets = next
                isGoingOn = true
            }
            guard isGoingOn else {
                Issue.record("seed \(seed): \(frames.count) frames wait for each other")
                return
            }
            frames.removeAll { $0.octets == $0.claim }
        }
        #expect(budget.reserve(2 << 20) != nil)
    }
}
