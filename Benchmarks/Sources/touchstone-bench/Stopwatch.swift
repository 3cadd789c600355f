import Glibc

/// Nanoseconds of `CLOCK_MONOTONIC`, which the scripted pinentry uses too.
typealias Nanoseconds = Int64

/// Measures how long something takes.
enum Stopwatch {
    /// The present moment.
    static func now() -> Nanoseconds {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    /// How long `body` takes.
    static func time(_ body: () throws -> Void) rethrows -> Nanoseconds {
        let start = now()
        try body()
        return now() - start
    }

    /// The median time of `count` runs; `body` is given their numbers.
    static func median(of count: Int, _ body: (Int) throws -> Void) rethrows -> Nanoseconds {
        var times: [Nanoseconds] = []
        for number in 0..<count { times.append(try time { try body(number) }) }
        return times.median
    }

    /// The medians of several operations that are run in turns, so that the machine's moods meet all alike.
    ///
    /// - Parameters:
    ///   - count: how often each is run.
    ///   - turn: how often one is run before the next has its turn.
    ///   - operations: what is run; each is given the number of its run.
    /// - Returns: the median of each.
    /// - Throws: what an operation throws.
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
    /// The middle one; 0 where there is none.
    var median: Nanoseconds { isEmpty ? 0 : sorted()[count / 2] }
    /// What 99 of 100 do not exceed; 0 where there is none.
    var p99: Nanoseconds { isEmpty ? 0 : sorted()[count * 99 / 100] }
}
