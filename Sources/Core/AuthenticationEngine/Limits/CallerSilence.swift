import KeychainModel

/// Lets a person silence a program: when box after box of it was cancelled, it gets none for a while.
struct CallerSilence: Sendable {
    /// Programs remembered at most; the one whose last box is the longest ago is forgotten first.
    static let programCount = 64

    /// A program; where the kernel could not tell which, one process.
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

    /// The user cancelled a box of the caller.
    mutating func cancelled(_ caller: Caller, at now: BootTime, period: Duration) {
        let count = recent(caller, at: now, period)?.count ?? 0
        cancellations[Program(caller)] = Cancellations(count: count + 1, last: now)
        guard cancellations.count > Self.programCount else { return }
        let oldest = cancellations.min { $0.value.last.nanoseconds < $1.value.last.nanoseconds }
        if let oldest { cancellations[oldest.key] = nil }
    }

    /// A box of the caller ended with success: it is wanted.
    mutating func succeeded(_ caller: Caller) { cancellations[Program(caller)] = nil }

    /// How long the caller has to wait for its next box; nil when it need not.
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
