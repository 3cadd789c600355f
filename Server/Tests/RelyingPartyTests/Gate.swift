import Foundation
import Synchronization

/// Blocks threads until it is opened.
final class Gate: Sendable {
    private let condition = NSCondition()
    private let isOpen = Mutex(false)

    func wait() {
        condition.lock()
        defer { condition.unlock() }
        while !isOpen.withLock({ $0 }) { condition.wait() }
    }

    func open() {
        condition.lock()
        defer { condition.unlock() }
        isOpen.withLock { $0 = true }
        condition.broadcast()
    }
}

/// Counts running calls, and their maximum.
final class RunningCount: Sendable {
    private let counts = Mutex((now: 0, most: 0))

    var most: Int { counts.withLock { $0.most } }

    func begin() {
        counts.withLock {
            $0.now += 1
            $0.most = max($0.most, $0.now)
        }
    }

    func end() { counts.withLock { $0.now -= 1 } }
}
