import Glibc
import TouchstoneTesting

/// KWallet as a peer: kwalletd5 on a private session bus, its wallet opened as PAM opens it at login.
enum KWalletRows {
    private static let program = "/usr/bin/kwalletd5"

    /// Measures look-ups and lists in it, and compares them with our figures of the same run.
    ///
    /// - Parameters:
    ///   - client: `kwallet-bench`.
    ///   - lookup: our median look-up.
    ///   - list: our median of all items with attributes and secrets.
    ///   - scale: the number of items.
    ///   - table: receives the rows.
    /// - Throws: ``BenchError`` when the peer fails.
    static func measure(
        _ client: String,
        lookup: Nanoseconds,
        list: Nanoseconds,
        _ scale: Scale,
        into table: inout Table
    ) async throws {
        guard unsafe access(program, X_OK) == 0 else {
            return table.add(Row("KWallet", notMeasured: "\(program) is missing"))
        }
        let bus = try await SessionBus.start(["QT_QPA_PLATFORM": "offscreen"])
        defer { bus.stop() }
        _ = try bus.directory.write(
            "[Wallet]\nEnabled=true\nFirst Use=false\nPrompt on Open=false\nDefault Wallet=kdewallet\n",
            to: "kwalletrc"
        )
        let daemon = try await ChildProcess.start(
            program,
            [],
            environment: bus.environment,
            log: bus.directory.appending("kwallet.log")
        )
        defer { daemon.stop() }
        try await bus.wait(
            for: ("org.kde.kwalletd5", "/modules/kwalletd5", "org.kde.KWallet.isEnabled"),
            atMost: .seconds(60)
        )
        let theirs = try bus.times(of: client, ["200", "\(scale.middle)"], count: 2)
        let rows = [
            ("look-up beside KWallet, \(scale.middle) items", lookup, theirs[0]),
            ("all \(scale.middle) items, attributes and secrets, beside KWallet", list, theirs[1]),
        ]
        for (name, ours, theirs) in rows {
            table.add(Row(name, ours: Figure(ours), "KWallet", Figure(theirs), .atMost(1)))
        }
    }
}
