internal import Dispatch
internal import SecretMemory

/// What one thread waits for and another gives it, once.
final class Answer<Value: Sendable>: Sendable {
    private let value = Guarded<Value?>(nil)
    private let isGiven = DispatchSemaphore(value: 0)

    func give(_ value: Value) {
        self.value.withLock { $0 = value }
        isGiven.signal()
    }

    /// Blocks the thread; for one caller.
    func wait() -> Value {
        while true {
            isGiven.wait()
            if let value = value.withLock({ $0 }) { return value }
        }
    }
}
