internal import Dispatch
internal import SecretMemory

/// A value that one thread blocks on and another thread provides once.
final class BlockingFuture<Value: Sendable>: Sendable {
    private let value = Guarded<Value?>(nil)
    private let isGiven = DispatchSemaphore(value: 0)

    func give(_ value: Value) {
        self.value.withLock { $0 = value }
        isGiven.signal()
    }

    /// Blocks the thread until the value is given; for one caller.
    func wait() -> Value {
        while true {
            isGiven.wait()
            if let value = value.withLock({ $0 }) { return value }
        }
    }
}
