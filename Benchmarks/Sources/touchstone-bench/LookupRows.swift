import KeychainClient

/// Look-ups of one item that needs no authentication, at three sizes of the store.
enum LookupRows {
    /// Measures stores with a daemon each, alternating between them.
    ///
    /// - Parameters:
    ///   - stages: the stores, smallest first.
    ///   - scale: the number of look-ups.
    ///   - table: receives the rows.
    /// - Returns: our median in the middle store.
    /// - Throws: ``BenchError`` or the client's error.
    static func measure(_ stages: [Stage], _ scale: Scale, into table: inout Table) throws -> Nanoseconds {
        var operations: [(Int) throws -> Void] = []
        for stage in stages {
            let keychain = stage.keychain.connect()
            let prompt = stage.keychain.prompt
            operations.append { run in
                let found = try keychain.copy(BenchItem.copy(stage.present(run), prompt: prompt))
                guard found.count == 1 else { throw BenchError("no item") }
            }
            let client = try stage.limit.connect()
            operations.append { run in try client.call(.get, stage.present(run)) }
        }
        // Warms all caches, as in a session.
        for operation in operations { for run in 0..<50 { try operation(run) } }
        let medians = try OneProcessor.with(try stages.flatMap { try $0.processes() }) {
            try Stopwatch.medians(of: scale.lookups, inTurnsOf: 50, operations)
        }
        for (index, stage) in stages.enumerated() {
            let (ours, limit) = (Figure(medians[2 * index]), Figure(medians[2 * index + 1]))
            table.add(Row("look-up, \(stage.count) items", ours: ours, limit: limit, .atMost(2)))
        }
        let smallest = Figure(medians[0])
        for (index, stage) in stages.enumerated().dropFirst() {
            // The limit's growth in the same run is the cost of a larger file to any reader: the machine's memory, not
            // our search.
            let growthOfLimit = Double(medians[2 * index + 1]) / Double(medians[1])
            table.add(
                Row(
                    "look-up, \(stage.count) beside \(stages[0].count) items",
                    ours: Figure(medians[2 * index]),
                    "ours",
                    smallest,
                    .atMost(max(1.3, growthOfLimit))
                )
            )
        }
        return medians[2]
    }
}
