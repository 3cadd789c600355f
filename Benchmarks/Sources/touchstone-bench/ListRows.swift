import KeychainClient
import KeychainModel

/// Lists of all items, with and without their secrets.
enum ListRows {
    /// Measures the lists.
    ///
    /// - Parameters:
    ///   - stage: the filled store.
    ///   - scale: the number of lists.
    ///   - table: receives the rows.
    /// - Returns: the median with attributes and secrets.
    /// - Throws: ``BenchError`` when an item is missing.
    static func measure(_ stage: Stage, _ scale: Scale, into table: inout Table) throws -> Nanoseconds {
        let (keychain, client) = (stage.keychain.connect(), try stage.limit.connect())
        let prompt = stage.keychain.prompt
        let expected = try client.call(.list) / (4 + BenchItem.secret.count)
        var count = 0
        func list(_ returns: ItemQuery.Returns) -> (Int) throws -> Void {
            let request = BenchItem.list(returns, prompt: prompt)
            return { _ in
                count = 0
                try keychain.copy(request).forEach { _ in count += 1 }
                guard count >= stage.count else { throw BenchError("\(count) of \(expected) items") }
            }
        }
        let medians = try Stopwatch.medians(
            of: scale.lists,
            inTurnsOf: 1,
            [list([.attributes, .data]), list(.data), list(.attributes), { _ in try client.call(.list) }]
        )
        let limit = Figure(medians[3])
        let size = "all \(stage.count) items"
        table.add(Row("\(size), attributes and secrets", ours: Figure(medians[0]), limit: limit, .atMost(2)))
        table.add(Row("\(size), secrets alone", ours: Figure(medians[1]), limit: limit, .atMost(2)))
        table.add(Row("\(size), attributes alone", ours: Figure(medians[2]), limit: limit, .atMost(1.5)))
        return medians[0]
    }
}
