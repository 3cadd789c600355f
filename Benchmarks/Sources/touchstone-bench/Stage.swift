/// A keychain and a limit daemon with the same number of items.
struct Stage {
    let count: Int
    let keychain: BenchKeychain
    let limit: LimitDaemon
    /// The number of the next item to add.
    var next: Int

    /// Starts both and fills them.
    static func start(_ programs: Programs, count: Int, clients: Int) async throws -> Stage {
        Table.note("filling a keychain and a limit daemon with \(count) items")
        let keychain = try BenchKeychain(programs)
        try await keychain.setUp()
        let limit = try await LimitDaemon.start(programs.limit)
        try keychain.fill(0..<count, clients: clients)
        try limit.fill(0..<count)
        return Stage(count: count, keychain: keychain, limit: limit, next: count)
    }

    /// The numbers of items to add next.
    mutating func fresh(_ count: Int) -> Range<Int> {
        defer { next += count }
        return next..<(next + count)
    }

    /// The number of an existing item; successive runs are spread over the store.
    func present(_ run: Int) -> Int { (run &* 7919) % count }

    /// The process IDs of both daemons.
    func processes() throws -> [Int32] { [try keychain.daemonProcess(), limit.processID] }

    /// Stops both daemons.
    func stop() async throws {
        try await keychain.stop()
        limit.stop()
    }
}
