/// The pause before another try to connect to a bus: a second, then twice as long each time, up to a minute.
package struct ReconnectPause {
    private var next = Duration.seconds(1)

    /// The first pause.
    package init() {}

    /// Waits.
    ///
    /// - Returns: false if the task was cancelled.
    package mutating func wait() async -> Bool {
        guard (try? await Task.sleep(for: next)) != nil else { return false }
        next = min(next * 2, .seconds(60))
        return true
    }
}
