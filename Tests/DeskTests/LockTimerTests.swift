import Desk
import SecretMemory
import Testing
import TouchstoneTesting

@Suite("The pending lock")
struct LockTimerTests {
    /// Which locks happened, in their order.
    private final class Locks: Sendable {
        let names = Guarded<[String]>([])

        func note(_ name: String) -> @Sendable () async -> Void {
            { self.names.withLock { $0.append(name) } }
        }

        func wait(for name: String) async throws {
            try await Deadline.wait(for: name) { self.names.withLock { $0.contains(name) } ? true : nil }
        }
    }

    @Test("a time that is set again counts from then, and the former one no longer")
    func replaced() async throws {
        let (timer, locks) = (LockTimer(), Locks())
        timer.set(.milliseconds(20), lock: locks.note("first"))
        timer.set(.milliseconds(200), lock: locks.note("second"))
        try await locks.wait(for: "second")
        #expect(locks.names.withLock { $0 } == ["second"])
    }

    @Test("a cancelled one never comes, and leaves nothing to show")
    func cancelled() async throws {
        let (timer, other, locks) = (LockTimer(), LockTimer(), Locks())
        #expect(timer.secondsLeft == nil)
        timer.set(.milliseconds(20), lock: locks.note("cancelled"))
        #expect(timer.secondsLeft == 1)
        timer.cancel()
        #expect(timer.secondsLeft == nil)
        other.set(.milliseconds(200), lock: locks.note("later"))
        try await locks.wait(for: "later")
        #expect(locks.names.withLock { $0 } == ["later"])
    }

    @Test("what is left is rounded up")
    func left() throws {
        let timer = LockTimer()
        timer.set(.seconds(3600)) {}
        #expect(timer.secondsLeft == 3600)
        timer.cancel()
    }
}
