import Testing
import TouchstoneTesting

/// Polls for a change made by another thread.
enum Eventually {
    static func holds(_ condition: () -> Bool) async throws {
        let deadline = ContinuousClock.now + Deadline.patience
        while !condition() {
            guard ContinuousClock.now < deadline else {
                Issue.record("it did not happen")
                return
            }
            try await Task.sleep(for: .milliseconds(5))
        }
    }
}
