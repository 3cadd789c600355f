/// Polls a condition outside of this process until it holds.
package enum Deadline {
    /// How long to wait for an event that is certain to come: only a fault takes longer, however busy the machine.
    package static let patience: Duration = .seconds(60)

    /// Waits until `condition` returns a value.
    ///
    /// - Parameters:
    ///   - what: the name of the event, for the error.
    ///   - limit: the maximum time to wait.
    ///   - isolation: where the condition runs; by default the caller's isolation.
    ///   - condition: polled every few milliseconds.
    /// - Returns: the condition's value.
    /// - Throws: ``TestKitError/timedOut(_:)``, or the condition's error.
    @discardableResult
    package static func wait<Value>(
        for what: String,
        atMost limit: Duration = Deadline.patience,
        isolation: isolated (any Actor)? = #isolation,
        until condition: () async throws -> Value?
    ) async throws -> Value {
        let clock = ContinuousClock()
        let end = clock.now + limit
        while true {
            if let value = try await condition() { return value }
            guard clock.now < end else { throw TestKitError.timedOut(what) }
            try await clock.sleep(for: .milliseconds(3))
        }
    }
}
