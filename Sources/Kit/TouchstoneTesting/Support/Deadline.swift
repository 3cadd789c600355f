/// Asks again and again until something outside of this process is so.
package enum Deadline {
    /// How long to wait for what is certain to come: only something broken takes longer, however busy the machine.
    package static let patience: Duration = .seconds(60)

    /// Waits until `condition` gives a value.
    ///
    /// - Parameters:
    ///   - what: for the error.
    ///   - limit: how long, at most.
    ///   - isolation: where the condition runs; the caller's own place.
    ///   - condition: asked every few milliseconds.
    /// - Returns: what the condition gave.
    /// - Throws: ``TestKitError/timedOut(_:)``, or what the condition threw.
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
