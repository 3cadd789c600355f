import Glibc
import KeychainClient
import KeychainModel
import SecretMemory

/// How long others wait while one client's request goes through all items.
enum WaitRows {
    /// Fills a keychain of its own, whose items the last request deletes.
    static func measure(_ programs: Programs, _ scale: Scale, into table: inout Table) async throws {
        let count = scale.large
        Table.note("filling a keychain with \(count) items")
        // A backup asks for nothing here.
        let keychain = try BenchKeychain(programs, settings: "backup-require = none\n")
        try await keychain.setUp()
        try keychain.fill(0..<count, clients: scale.clients)
        let prompt = keychain.prompt
        let others: ItemAttributes = [.service: .string("org.example.others"), .account: .string("somebody")]
        let own = keychain.connect()
        _ = try own.add(
            AddItem(
                itemClass: .genericPassword,
                attributes: others,
                accessControl: AccessControl(accessibility: .whenUnlocked),
                data: SecretBytes(copying: BenchItem.secret),
                prompt: prompt
            )
        )
        let backup = CommandRun(
            path: programs.command,
            arguments: ["backup", keychain.appending("backup")],
            environment: keychain.environment
        )
        let requests: [(name: String, request: @Sendable () throws -> Void)] = [
            ("check", { _ = try own.check() }),
            ("repair", { _ = try own.repair(prompt, accepting: false) }),
            ("backup", { try backup.run() }),
            (
                "delete of all",
                {
                    let query = ItemQuery(
                        itemClass: .genericPassword,
                        attributes: [.service: .string(BenchItem.service)]
                    )
                    _ = try own.delete(DeleteItems(query: query, prompt: prompt))
                }
            ),
        ]
        let client = keychain.connect()
        let query = ItemQuery(itemClass: .genericPassword, attributes: others, returns: .data)
        for (name, request) in requests {
            let call = BackgroundCall(request)
            let begin = Stopwatch.now()
            var (lookUp, update) = (Nanoseconds(0), Nanoseconds(0))
            repeat {
                let start = Stopwatch.now()
                let found = try client.copy(CopyItems(query: query, prompt: prompt))
                guard found.count == 1 else { throw BenchError("no item") }
                let middle = Stopwatch.now()
                _ = try client.update(
                    UpdateItems(
                        query: ItemQuery(itemClass: .genericPassword, attributes: others),
                        attributes: [:],
                        accessControl: nil,
                        data: SecretBytes(copying: BenchItem.secret),
                        prompt: prompt
                    )
                )
                (lookUp, update) = (max(lookUp, middle - start), max(update, Stopwatch.now() - middle))
            } while !call.hasEnded
            let time = try call.end() - begin
            table.add(Row("\(name), \(count) items", ours: Figure(time)))
            for (what, longest) in [("look-up", lookUp), ("update", update)] {
                let row = "\(name), longest \(what) meanwhile"
                table.add(Row(row, ours: Figure(longest), atMost: Figure(50_000_000)))
            }
        }
        try await keychain.stop()
    }
}
