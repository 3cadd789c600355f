import Glibc

/// Nanoseconds of `CLOCK_MONOTONIC`, which the scripted pinentry uses too.
typealias Nanoseconds = Int64

/// Measures durations.
enum Stopwatch {
    /// The current time.
    static func now() -> Nanoseconds {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    /// The duration of `body`.
    static func time(_ body: () throws -> Void) rethrows -> Nanoseconds {
        let start = now()
        try body()
        return now() - start
    }

    /// The median duration of `count` runs; `body` gets the number of its run.
    static func median(of count: Int, _ body: (Int) throws -> Void) rethrows -> Nanoseconds {
        var times: [Nanoseconds] = []
        for number in 0..<count { times.append(try time { try body(number) }) }
        return times.median
    }

    /// The medians of several operations that run alternately, so that the machine's variations affect all alike.
    ///
    /// - Parameters:
    ///   - count: the number of runs of each.
    ///   - turn: the number of runs before the next operation's turn.
    ///   - operations: the operations; each gets the number of its run.
    /// - Returns: the median of each.
    /// - Throws: the error of an operation.
    static func medians(
        of count: Int,
        inTurnsOf turn: Int,
        _ operations: [(Int) throws -> Void]
    ) throws -> [Nanoseconds] {
        var times = [[Nanoseconds]](repeating: [], count: operations.count)
        for start in stride(from: 0, to: count, by: turn) {
            for (index, operation) in operations.enumerated() {
                for number in start..<min(start + turn, count) {
                    times[index].append(try time { try operation(number) })
                }
            }
        }
        return times.map(\.median)
    }
}

extension [Nanoseconds] {
    /// The median; 0 for an empty array.
    var median: Nanoseconds { isEmpty ? 0 : sorted()[count / 2] }
    /// The 99th percentile; 0 for an empty array.
    var p99: Nanoseconds { isEmpty ? 0 : sorted()[count * 99 / 100] }
}
