/// A call that was sent; confined to the bus's thread.
package final class BusCall {
    private var result: Bus.Reply?
    private var waiters: [CheckedContinuation<Bus.Reply, Never>] = []

    /// Waits for the reply; cancelling the task does not end the wait.
    package nonisolated(nonsending) func reply() async throws(BusError) -> [BusValue] {
        if let result { return try result.get() }
        return try await withCheckedContinuation { waiters.append($0) }.get()
    }

    func end(_ result: Bus.Reply) {
        self.result = result
        for waiter in waiters { waiter.resume(returning: result) }
        waiters = []
    }
}
