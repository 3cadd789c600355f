import Glibc
import MessageBus
import TouchstoneTesting

/// The Secret Service's door on a session bus, in front of a keychain of its own: memory, the time to a box, and what a client of libsecret
/// takes, beside gnome-keyring in the same run.
struct DoorRows {
    /// What a client of libsecret took, in the order of its file.
    struct Times {
        let lookup, add, list, search, secrets: Nanoseconds

        init(_ times: [Nanoseconds]) {
            (lookup, add, list, search, secrets) = (times[0], times[1], times[2], times[3], times[4])
        }
    }

    /// What the comparison with gnome-keyring needs.
    struct Found {
        let times: Times
        /// `secret-tool lookup` as a whole process; nil without it.
        let process: Nanoseconds?
    }

    static let lookups = 200
    private static let adds = 200
    private static let secretTool = "/usr/bin/secret-tool"

    private let keychain: BenchKeychain
    private let bus: SessionBus
    private let door: ChildProcess

    /// Fills a keychain through the door, measures it, and ends it.
    ///
    /// - Parameters:
    ///   - programs: the door, and the client over libsecret, without which it is not filled.
    ///   - scale: the number of items, processes and boxes.
    ///   - table: receives the rows without a peer.
    /// - Returns: what the client took; nil without it.
    /// - Throws: ``BenchError`` when something fails.
    static func measure(_ programs: Programs, _ scale: Scale, into table: inout Table) async throws -> Found?
    {
        guard !programs.door.isEmpty else {
            table.add(Row("Secret Service", notMeasured: "touchstone-secrets is missing"))
            return nil
        }
        let rows = try await start(programs)
        var found: Found?
        if let libsecret = programs.libsecret {
            try CommandRun(
                path: libsecret,
                arguments: ["fill", "\(scale.middle)"],
                environment: rows.environment
            ).run()
            let times = Times(
                try rows.bus.times(
                    of: libsecret,
                    ["\(lookups)", "\(adds)", "\(scale.middle)"],
                    count: 5
                )
            )
            found = Found(times: times, process: try rows.process(scale))
        } else {
            table.add(Row("Secret Service, \(scale.middle) items", notMeasured: "libsecret-1-dev is missing"))
        }
        try await rows.measureMemory(scale.middle, into: &table)
        try await rows.measureBox(programs, scale, into: &table)
        rows.door.stop(with: SIGTERM)
        rows.bus.stop()
        try await rows.keychain.stop()
        return found
    }

    private static func start(_ programs: Programs) async throws -> DoorRows {
        let keychain = try BenchKeychain(programs)
        try await keychain.setUp()
        // Where the scripted pinentry is to be: a client here has no terminal.
        let bus = try await SessionBus.start(["DISPLAY": ":7316"])
        let door = try await ChildProcess.start(
            programs.door,
            environment: bus.environment.merging(keychain.environment) { $1 },
            log: bus.directory.appending("door.log")
        )
        try await bus.wait(
            for: ("org.freedesktop.secrets", "/org/freedesktop/secrets", "org.freedesktop.DBus.Peer.Ping"),
            atMost: .seconds(20)
        )
        return DoorRows(keychain: keychain, bus: bus, door: door)
    }

    private var environment: [String: String] { bus.environment.merging(keychain.environment) { $1 } }

    private func process(_ scale: Scale) throws -> Nanoseconds? {
        guard unsafe access(Self.secretTool, X_OK) == 0 else { return nil }
        return try CommandRun(
            path: Self.secretTool,
            arguments: ["lookup", "account", BenchItem.account(scale.middle / 2)],
            environment: environment
        ).median(of: scale.processes)
    }

    /// The memory some seconds after the last call.
    private func measureMemory(_ items: Int, into table: inout Table) async throws {
        try await Task.sleep(for: .seconds(6))
        let kilobytes = try TextFile.residentKilobytes(of: door.processID)
        table.add(
            Row(
                "resident memory of touchstone-secrets, \(items) items",
                ours: .kilobytes(kilobytes),
                atMost: .megabytes(15)
            )
        )
    }

    /// From a client's call of `Prompt` to the pinentry program's answer.
    private func measureBox(_ programs: Programs, _ scale: Scale, into table: inout Table) async throws {
        let peer = try await BusPeer(address: "unix:path=\(bus.directory.appending("bus"))")
        let service = Bus.Target(
            "org.freedesktop.secrets",
            "/org/freedesktop/secrets",
            "org.freedesktop.Secret.Service"
        )
        let collection = "/org/freedesktop/secrets/collection/login"
        let session = try await peer.call(service, "OpenSession", [.string("plain"), .variant(.string(""))])[
            1
        ]
        let created = try await peer.call(
            Bus.Target("org.freedesktop.secrets", collection, "org.freedesktop.Secret.Collection"),
            "CreateItem",
            [
                .properties([
                    "org.freedesktop.Secret.Item.Label": .string("measured"),
                    "org.freedesktop.Secret.Item.Attributes": .textPairs(["measured": "box"]),
                ]),
                .structure([
                    session, .octets(try BusOctets(copying: [])),
                    .octets(try BusOctets(copying: BenchItem.secret)), .string("text/plain"),
                ]),
                .boolean(false),
            ]
        )
        try CommandRun(
            path: programs.command,
            arguments: ["protect", "--match", "measured=box", "--require", "passcode"],
            environment: keychain.environment,
            isQuiet: true
        ).run()
        // Until the daemon has told the door.
        try await Deadline.wait(for: "the rule") {
            try await peer.call(service, "Unlock", [.paths([created[0].text ?? ""])])[1].text == "/"
                ? nil : true
        }
        var times: [Nanoseconds] = []
        let ends = peer.signals
        var next = ends.makeAsyncIterator()
        for _ in 0..<scale.touches {
            _ = try await peer.call(service, "Lock", [.paths([created[0].text ?? ""])])
            let prompt =
                try await peer.call(service, "Unlock", [.paths([created[0].text ?? ""])])[1].text ?? ""
            let begin = Stopwatch.now()
            _ = try await peer.call(
                Bus.Target("org.freedesktop.secrets", prompt, "org.freedesktop.Secret.Prompt"),
                "Prompt",
                [.string("")]
            )
            while let signal = await next.next() {
                guard signal.path == prompt else { continue }
                guard signal.arguments.first == .boolean(false) else {
                    throw BenchError("no box was answered")
                }
                break
            }
            times.append(try keychain.noted("answered") - begin)
        }
        await peer.close()
        table.add(
            Row("Secret Service: Prompt to the box", ours: Figure(times.median), atMost: .milliseconds(40))
        )
    }

    /// The rows beside gnome-keyring.
    ///
    /// - Parameters:
    ///   - ours: our figures.
    ///   - theirs: those of the same client with gnome-keyring.
    ///   - process: `secret-tool lookup` with gnome-keyring.
    ///   - items: the number of items.
    ///   - table: receives the rows.
    static func compare(
        _ ours: Found,
        _ theirs: Times,
        process: Nanoseconds?,
        items: Int,
        into table: inout Table
    ) {
        let rows: [(String, Nanoseconds, Nanoseconds, Double)] = [
            ("look-up through libsecret", ours.times.lookup, theirs.lookup, 1.0 / 4),
            ("store through libsecret", ours.times.add, theirs.add, 1.0 / 50),
            ("search for all", ours.times.search, theirs.search, 1),
            ("secrets of all by one call", ours.times.secrets, theirs.secrets, 1.0 / 10),
        ]
        for (name, ours, theirs, bound) in rows {
            table.add(
                Row(
                    "Secret Service: \(name), \(items) items",
                    ours: Figure(ours),
                    "gnome-keyring",
                    Figure(theirs),
                    .atMost(bound)
                )
            )
        }
        guard let ours = ours.process, let process else { return }
        table.add(
            Row(
                "secret-tool lookup, whole process",
                ours: Figure(ours),
                "gnome-keyring",
                Figure(process),
                .atMost(1)
            )
        )
    }
}
