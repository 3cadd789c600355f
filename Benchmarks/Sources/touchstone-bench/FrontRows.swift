import AppCalls
import Foundation
import KeychainClient
import KeychainModel
import Security

/// Apple's functions: their cost in addition to the client's calls, and bulk operations.
enum FrontRows {
    /// The figures for the comparison with gnome-keyring.
    struct Bulk {
        /// One of many adds.
        var add: Nanoseconds = 0
        /// One of many look-ups.
        var lookup: Nanoseconds = 0
        /// All items, with attributes.
        var list: Nanoseconds = 0
    }

    private static let calls = AppCalls(service: BenchItem.service)

    /// Measures calls, look-ups and lists; leaves the store unchanged.
    static func measure(_ stage: Stage, _ scale: Scale, into table: inout Table) throws -> Bulk {
        let keychain = stage.keychain.connect()
        return try with(keychain, stage) {
            try measureCalls(stage, keychain, scale, into: &table)
            var bulk = Bulk()
            bulk.lookup =
                try Stopwatch.time {
                    for run in 0..<scale.bulk { _ = try calls.copy(lookup(stage.present(run))) }
                } / Int64(scale.bulk)
            bulk.list = try measureLists(stage, scale, into: &table)
            return bulk
        }
    }

    /// Measures one of many adds.
    static func measureAdds(_ stage: inout Stage, _ scale: Scale) throws -> Nanoseconds {
        let fresh = stage.fresh(scale.bulk)
        let data = Data(BenchItem.secret)
        return try with(stage.keychain.connect(), stage) {
            try Stopwatch.time {
                for number in fresh { try calls.add(BenchItem.account(number), data) }
            } / Int64(scale.bulk)
        }
    }

    /// Runs `body` with this keychain for Apple's functions.
    private static func with<R>(_ keychain: RemoteKeychain, _ stage: Stage, _ body: () throws -> R) rethrows
        -> R
    {
        try KeychainConnection.$current.withValue(keychain) {
            try KeychainConnection.$promptOrigin.withValue(stage.keychain.prompt.origin, operation: body)
        }
    }

    private static func lookup(_ number: Int) -> NSDictionary { calls.lookup(BenchItem.account(number)) }

    /// Both use the same connection, alternating; dictionaries and requests are prepared.
    private static func measureCalls(
        _ stage: Stage,
        _ keychain: RemoteKeychain,
        _ scale: Scale,
        into table: inout Table
    ) throws {
        let numbers = (0..<50).map(stage.present)
        let requests = numbers.map { BenchItem.copy($0, prompt: stage.keychain.prompt) }
        let queries = numbers.map(lookup)
        let operations: [(Int) throws -> Void] = [
            { run in
                let found = try keychain.copy(requests[run % 50])
                guard let item = found.first(), item.hasData else { throw BenchError("no item") }
            },
            { run in _ = try calls.copy(queries[run % 50]) },
            { run in _ = try calls.copy(lookup(numbers[run % 50])) },
        ]
        for operation in operations { for run in 0..<50 { try operation(run) } }
        let medians = try OneProcessor.with([try stage.keychain.daemonProcess()]) {
            try Stopwatch.medians(of: scale.lookups, inTurnsOf: 50, operations)
        }
        table.add(
            Row(
                "SecItemCopyMatching, above the client's call",
                ours: Figure(max(0, medians[1] - medians[0])),
                atMost: .microseconds(30)
            )
        )
        table.add(Row("SecItemCopyMatching, \(stage.count) items", ours: Figure(medians[1])))
        table.add(Row("the same, its dictionary made each time", ours: Figure(medians[2])))
    }

    /// Lists all items, with data and without, compared to the limit.
    ///
    /// - Returns: the median with attributes only.
    private static func measureLists(
        _ stage: Stage,
        _ scale: Scale,
        into table: inout Table
    ) throws -> Nanoseconds {
        let client = try stage.limit.connect()
        func list(attributes: Bool, data: Bool) -> (Int) throws -> Void {
            let query = calls.list(attributes: attributes, data: data)
            return { _ in
                guard try calls.count(query) >= stage.count else { throw BenchError("not all items") }
            }
        }
        let medians = try Stopwatch.medians(
            of: scale.lists,
            inTurnsOf: 1,
            [
                list(attributes: false, data: true), list(attributes: true, data: true),
                list(attributes: true, data: false), { _ in try client.call(.list) },
            ]
        )
        let limit = Figure(medians[3])
        let name = "kSecMatchLimitAll, \(stage.count) items"
        table.add(Row("\(name), data", ours: Figure(medians[0]), limit: limit, .atMost(10)))
        table.add(Row("\(name), attributes and data", ours: Figure(medians[1]), limit: limit, .atMost(10)))
        return medians[2]
    }
}
