import KeychainClient

/// Durable changes: one client compared to the limit, and many clients compared to one.
enum ChangeRows {
    static func measure(_ stage: inout Stage, _ scale: Scale, into table: inout Table) throws {
        let (keychain, client) = (stage.keychain.connect(), try stage.limit.connect())
        let prompt = stage.keychain.prompt
        let fresh = stage.fresh(scale.changes)
        func number(_ run: Int) -> Int { fresh.lowerBound + run }

        let medians = try OneProcessor.with(try stage.processes()) {
            try [
                Stopwatch.medians(
                    of: scale.changes,
                    inTurnsOf: 10,
                    [
                        { run in _ = try keychain.add(BenchItem.add(number(run), prompt: prompt)) },
                        { run in try client.call(.add, number(run), value: BenchItem.secret) },
                    ]
                ),
                Stopwatch.medians(
                    of: scale.changes,
                    inTurnsOf: 10,
                    [
                        { run in try keychain.update(BenchItem.update(number(run), prompt: prompt)) },
                        { run in try client.call(.update, number(run), value: BenchItem.secret) },
                    ]
                ),
                Stopwatch.medians(
                    of: scale.changes,
                    inTurnsOf: 10,
                    [
                        { run in try keychain.delete(BenchItem.delete(number(run), prompt: prompt)) },
                        { run in try client.call(.delete, number(run)) },
                    ]
                ),
            ]
        }
        for (name, medians) in zip(["add", "update", "delete"], medians) {
            table.add(row("\(name), durable", medians, stage))
        }
        try measureMany(&stage, scale, into: &table)
    }

    private static func row(_ name: String, _ medians: [Nanoseconds], _ stage: Stage) -> Row {
        Row(
            "\(name), \(stage.count) items",
            ours: Figure(medians[0]),
            limit: Figure(medians[1]),
            .atMost(1.5)
        )
    }

    /// The rates of one client and of many, alternating.
    private static func measureMany(_ stage: inout Stage, _ scale: Scale, into table: inout Table) throws {
        let rounds = 4
        var single: [Nanoseconds] = []
        var many: [Nanoseconds] = []
        for _ in 0..<rounds {
            for (clients, each) in [(1, scale.changes / rounds), (scale.clients, scale.changesPerClient)] {
                let fresh = stage.fresh(clients * each)
                let keychains = (0..<clients).map { _ in stage.keychain.connect() }
                // Connected before the measurement starts.
                for keychain in keychains { _ = try keychain.status() }
                let prompt = stage.keychain.prompt
                let time = try Threads.run(clients) { client in
                    for run in 0..<each {
                        let number = fresh.lowerBound + client * each + run
                        _ = try keychains[client].add(BenchItem.add(number, prompt: prompt))
                    }
                }
                if clients == 1 {
                    single.append(time / Int64(each))
                } else {
                    many.append(time / Int64(clients * each))
                }
            }
        }
        table.add(
            Row(
                "adds of \(scale.clients) clients",
                ours: rate(many.median),
                "one client",
                rate(single.median),
                .atLeast(3)
            )
        )
    }

    private static func rate(_ time: Nanoseconds) -> Figure { Figure(1e9 / Double(max(time, 1)), .perSecond) }
}
