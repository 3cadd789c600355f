import KeychainModel

/// Silences a program for a while after the user cancelled several of its prompts in succession.
struct CallerSilence: Sendable {
    /// The most programs remembered; the one whose last cancelled prompt is oldest is forgotten first.
    static let programCount = 64

    /// A program; a single process if the kernel could not report the program's path.
    private struct Program: Hashable {
        let uid: UInt32
        let path: String?
        let pid: Int32
        let start: UInt64

        init(_ caller: Caller) {
            uid = caller.uid
            path = caller.program
            pid = caller.program == nil ? caller.pid : 0
            start = caller.program == nil ? caller.processStart : 0
        }
    }

    private struct Cancellations {
        var count: Int
        var last: BootTime
    }

    private var cancellations: [Program: Cancellations] = [:]

    /// Counts a prompt of the caller that the user cancelled.
    mutating func cancelled(_ caller: Caller, at now: BootTime, period: Duration) {
        let count = recent(caller, at: now, period)?.count ?? 0
        cancellations[Program(caller)] = Cancellations(count: count + 1, last: now)
        guard cancellations.count > Self.programCount else { return }
        let oldest = cancellations.min { $0.value.last.nanoseconds < $1.value.last.nanoseconds }
        if let oldest { cancellations[oldest.key] = nil }
    }

    /// Resets the count after a prompt of the caller that ended with success.
    mutating func succeeded(_ caller: Caller) { cancellations[Program(caller)] = nil }

    /// How long the caller must wait for its next prompt; nil if it need not.
    func delay(_ caller: Caller, at now: BootTime, limit: Int, period: Duration) -> Duration? {
        guard let recent = recent(caller, at: now, period), recent.count >= limit,
            let age = now.since(recent.last)
        else { return nil }
        return period - age
    }

    private func recent(_ caller: Caller, at now: BootTime, _ period: Duration) -> Cancellations? {
        guard let found = cancellations[Program(caller)], let age = now.since(found.last), age >= .zero,
            age < period
        else { return nil }
        return found
    }
}
