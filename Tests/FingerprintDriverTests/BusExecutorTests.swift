import MessageBus
import Testing

@testable import FingerprintDriver

@Suite("Bus executor")
struct BusExecutorTests {
    private actor Counter {
        private let executor = BusExecutor()
        nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }
        private var count = 0

        func next() -> Int {
            executor.checkIsolated()
            count += 1
            return count
        }
    }

    @Test("jobs run one at a time, and the executor can be released at once")
    func dropsCleanly() async {
        for _ in 1...200 {
            let counter = Counter()
            let numbers = await withTaskGroup(of: Int.self) { group in
                for _ in 1...50 { group.addTask { await counter.next() } }
                return await group.reduce(into: Set<Int>()) { $0.insert($1) }
            }
            #expect(numbers == Set(1...50))
        }
    }
}
