import Glibc
import TouchstoneTesting

/// gnome-keyring as a peer: a private session bus and a keyring with as many items, in its plain-text format, because
/// filling it otherwise would take an hour.
enum KeyringRows {
    private static let program = "/usr/bin/gnome-keyring-daemon"
    fileprivate static let secretTool = "/usr/bin/secret-tool"
    /// Each add writes the whole keyring.
    fileprivate static let mostAdds = 10

    /// Compares the Secret Service's door with it, and nothing else.
    static func compare(
        _ programs: Programs,
        _ door: DoorRows.Found,
        _ scale: Scale,
        into table: inout Table
    ) async throws {
        guard let libsecret = programs.libsecret, unsafe access(program, X_OK) == 0 else {
            return table.add(
                Row("Secret Service beside gnome-keyring", notMeasured: "gnome-keyring is missing")
            )
        }
        let keyring = try await Keyring.start(program, items: scale.middle)
        defer { keyring.stop() }
        let times = try keyring.times(libsecret, scale)
        let process = try? keyring.lookup(scale).median(of: scale.processes)
        DoorRows.compare(door, times, process: process, items: scale.middle, into: &table)
    }

    /// Measures look-ups in it, and compares them with our figures of the same run.
    ///
    /// - Parameters:
    ///   - programs: the client over libsecret.
    ///   - lookup: our median look-up.
    ///   - process: our median of a whole `touchstone get`.
    ///   - bulk: our bulk figures through Apple's functions.
    ///   - door: those of the Secret Service's door.
    ///   - scale: the number of items and look-ups.
    ///   - table: receives the rows.
    /// - Throws: ``BenchError`` when a peer fails.
    static func measure(
        _ programs: Programs,
        lookup: Nanoseconds,
        process: Nanoseconds,
        _ bulk: FrontRows.Bulk,
        _ door: DoorRows.Found?,
        _ scale: Scale,
        into table: inout Table
    ) async throws {
        let lookupName = "look-up beside gnome-keyring through libsecret, \(scale.middle) items"
        let processName = "touchstone get beside secret-tool lookup"
        guard unsafe access(program, X_OK) == 0 else {
            table.add(Row(lookupName, notMeasured: "gnome-keyring is missing"))
            table.add(Row(processName, notMeasured: "gnome-keyring is missing"))
            return
        }
        let keyring = try await Keyring.start(program, items: scale.middle)
        defer { keyring.stop() }
        var times: DoorRows.Times?
        if let libsecret = programs.libsecret {
            let theirs = try keyring.times(libsecret, scale)
            times = theirs
            table.add(
                Row(
                    lookupName,
                    ours: Figure(lookup),
                    "gnome-keyring",
                    Figure(theirs.lookup),
                    .atMost(1.0 / 60)
                )
            )
            let rows = [
                ("one of \(scale.bulk) SecItemAdd", bulk.add, theirs.add),
                ("one of \(scale.bulk) SecItemCopyMatching", bulk.lookup, theirs.lookup),
                ("kSecMatchLimitAll, \(scale.middle) items, attributes", bulk.list, theirs.list),
            ]
            for (name, ours, theirs) in rows {
                table.add(Row(name, ours: Figure(ours), "gnome-keyring", Figure(theirs), .atMost(1)))
            }
        } else {
            table.add(Row(lookupName, notMeasured: "libsecret-1-dev is missing"))
        }
        var whole: Nanoseconds?
        defer {
            if let door, let times {
                DoorRows.compare(door, times, process: whole, items: scale.middle, into: &table)
            }
        }
        guard unsafe access(secretTool, X_OK) == 0 else {
            return table.add(Row(processName, notMeasured: "secret-tool is missing"))
        }
        let median = try keyring.lookup(scale).median(of: scale.processes)
        whole = median
        table.add(Row(processName, ours: Figure(process), "secret-tool", Figure(median), .atMost(1.0 / 3)))
    }
}

/// A running gnome-keyring on a private bus.
private struct Keyring {
    let bus: SessionBus
    private let daemon: ChildProcess

    static func start(_ program: String, items: Int) async throws -> Keyring {
        let bus = try await SessionBus.start()
        let directory = bus.directory
        _ = try directory.makeDirectory("share")
        _ = try directory.makeDirectory("share/keyrings")
        _ = try directory.write("bench", to: "share/keyrings/default")
        _ = try directory.write(contents(items), to: "share/keyrings/bench.keyring")
        let passcode = try directory.write("unused", to: "passcode")
        let daemon = try await ChildProcess.start(
            "/bin/sh",
            [
                "-c", "exec \"$0\" --foreground --unlock --components=secrets < \"$1\"", program, passcode,
            ],
            environment: bus.environment,
            log: directory.appending("keyring.log")
        )
        // It is slow to read its plain-text format.
        try await bus.wait(
            for: (
                "org.freedesktop.secrets", "/org/freedesktop/secrets/collection/bench",
                "org.freedesktop.DBus.Peer.Ping"
            ),
            atMost: .seconds(180)
        )
        return Keyring(bus: bus, daemon: daemon)
    }

    /// The keyring's plain-text format, as gnome-keyring writes it for an empty password.
    private static func contents(_ items: Int) -> String {
        var text = "[keyring]\ndisplay-name=bench\nctime=0\nmtime=0\nlock-on-idle=false\nlock-after=false\n"
        for item in 0..<items {
            let id = item + 1
            text += """

                [\(id)]
                item-type=0
                display-name=\(BenchItem.account(item))
                secret=correct horse battery staple, ok
                mtime=0
                ctime=0

                [\(id):attribute0]
                name=account
                type=string
                value=\(BenchItem.account(item))

                """
        }
        return text
    }

    /// What the client over libsecret took.
    func times(_ client: String, _ scale: Scale) throws -> DoorRows.Times {
        let arguments = ["\(DoorRows.lookups)", "\(KeyringRows.mostAdds)", "\(scale.middle)"]
        return DoorRows.Times(try bus.times(of: client, arguments, count: 5))
    }

    /// A look-up by `secret-tool`.
    func lookup(_ scale: Scale) -> CommandRun {
        CommandRun(
            path: KeyringRows.secretTool,
            arguments: ["lookup", "account", BenchItem.account(scale.middle / 2)],
            environment: bus.environment
        )
    }

    func stop() {
        daemon.stop()
        bus.stop()
    }
}
