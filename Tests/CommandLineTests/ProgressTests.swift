import KeychainModel
import ScriptedDaemon
import Testing
import TouchstoneTesting

@Suite("Progress of a check or repair")
struct ProgressTests {
    private let home: TemporaryHome

    init() throws { home = try TemporaryHome() }

    /// A daemon that reports progress twice during checks and repairs.
    private func daemon() throws -> ScriptedDaemon {
        try ScriptedDaemon(home) { peer in
            try peer.welcome()
            while true {
                let request = try peer.next()
                try peer.reply(to: request, ProgressBody(done: 1, total: 4), more: true)
                try peer.reply(to: request, ProgressBody(done: 399, total: 400), more: true)
                var repair = StoreRepair()
                repair.kept = 7
                try peer.reply(to: request, RepairReply(repair))
            }
        }
    }

    @Test("progress is shown on the terminal and erased at the end")
    func terminal() async throws {
        let daemon = try daemon()
        for (arguments, verb) in [(["repair"], "Checking"), (["repair", "--accept"], "Repairing")] {
            let terminal = try PseudoTerminal()
            var run = CommandRun(arguments: arguments, home: home)
            run.terminal = terminal
            run.drawsOnTerminal = true
            #expect(try await run.run().status == 0)
            try await terminal.wait(for: "Nothing is wrong: 7 items, all authentic.")
            let drawn = String(decoding: terminal.octets, as: UTF8.self)
            let last = "\(verb): 99 %"
            let blank = "\r" + String(repeating: " ", count: last.count) + "\r"
            #expect(drawn.contains("\r\(verb): 25 %\r\(last)\(blank)Nothing"), "\(drawn.debugDescription)")
        }
        _ = daemon
    }

    @Test("progress is not printed if standard error is not a terminal")
    func elsewhere() async throws {
        let daemon = try daemon()
        let result = try await CommandRun("repair", home: home).run()
        #expect(result.status == 0)
        #expect(result.text == "Nothing is wrong: 7 items, all authentic.\n")
        #expect(result.errors.isEmpty)
        _ = daemon
    }
}

@Suite("Progress of a move")
struct MoveProgressTests {
    @Test(
        "touchstone apps move shows it on the terminal and erases it, also if the move fails",
        arguments: [true, false]
    )
    func move(succeeds: Bool) async throws {
        let home = try TemporaryHome()
        let daemon = try ScriptedDaemon(home) { peer in
            try peer.welcome()
            while true {
                let request = try peer.next()
                try peer.reply(to: request, ProgressBody(done: 1, total: 4), more: true)
                try peer.reply(to: request, ProgressBody(done: 3, total: 4), more: true)
                if succeeds {
                    try peer.reply(to: request, MoveReply(count: 4, names: [], clashes: []))
                } else {
                    try peer.refuse(request, KeychainError(.diskFull))
                }
            }
        }
        let terminal = try PseudoTerminal(columns: 200)
        var run = CommandRun("apps", "move", "/gone/app", "/bin/sh", home: home)
        run.terminal = terminal
        run.drawsOnTerminal = true
        #expect(try await (run.run().status == 0) == succeeds)
        try await terminal.wait(for: succeeds ? "4 items moved." : "the disk is full")
        let drawn = String(decoding: terminal.octets, as: UTF8.self)
        let last = "Moving: 75 %"
        let blank = "\r" + String(repeating: " ", count: last.count) + "\r"
        #expect(drawn.contains("\rMoving: 25 %\r\(last)\(blank)"), "\(drawn.debugDescription)")
        let piped = try await CommandRun("apps", "move", "/gone/app", "/bin/sh", home: home).run()
        #expect(!piped.errors.contains("%") && !piped.text.contains("%"))
        _ = daemon
    }
}

@Suite("Progress of a backup")
struct BackupProgressTests {
    private let home: TemporaryHome

    init() throws { home = try TemporaryHome() }

    /// A daemon that says how far it is while it writes and reads a backup of three bytes.
    private func daemon() throws -> ScriptedDaemon {
        try ScriptedDaemon(home) { peer in
            try peer.welcome()
            while true {
                let request = try peer.next()
                let progress = ProgressBody(done: 1, total: 4)
                switch request.head.method {
                case .backUp:
                    try peer.reply(to: request, ExportPart(progress: progress), more: true)
                    try peer.reply(to: request, ExportPart(total: 3, octets: [1, 2, 3]), more: true)
                    let report = ExportReport(items: 2)
                    try peer.reply(to: request, ExportPart(total: 3, report: report))
                case .openExport:
                    try peer.reply(to: request, ExportItems(progress: progress), more: true)
                    try peer.reply(to: request, ExportItems())
                default: try peer.reply(to: request)
                }
            }
        }
    }

    @Test("it is shown on the terminal and erased, and standard error in a file has none of it")
    func both() async throws {
        let daemon = try daemon()
        let file = home.path + "/backup"
        for (arguments, verb, end) in [
            (["backup", file], "Exporting", "holds 2 items"),
            (["backup", "--verify", file], "Checking", "is whole"),
        ] {
            let terminal = try PseudoTerminal(columns: 200)
            var run = CommandRun(arguments: arguments, home: home)
            run.terminal = terminal
            run.drawsOnTerminal = true
            #expect(try await run.run().status == 0)
            try await terminal.wait(for: end)
            let line = "\(verb): 25 %"
            let blank = "\r" + String(repeating: " ", count: line.count) + "\r"
            let drawn = String(decoding: terminal.octets, as: UTF8.self)
            #expect(drawn.contains("\r\(line)\(blank)"), "\(drawn.debugDescription)")
        }
        let written = try await CommandRun("backup", "--replace", file, home: home).run()
        #expect(written.status == 0 && !written.errors.contains("%") && !written.text.contains("%"))
        _ = daemon
    }
}

@Suite("Output on a narrow terminal")
struct NarrowTerminalTests {
    private let home: TemporaryHome

    init() throws { home = try TemporaryHome() }

    @Test("every line of a table fits, including wide characters", arguments: [40, 60, 80] as [UInt16])
    func table(columns: UInt16) async throws {
        let names = [
            "a name that is rather long for one column of a table, and goes on",
            String(repeating: "日本語", count: 12), "short",
        ]
        let secrets = Dictionary(
            uniqueKeysWithValues: names.map { ($0, ScriptedKeychain.Secret(octets: [1])) }
        )
        let keychain = try ScriptedKeychain(home, secrets)
        for arguments in [["list"], ["show", names[1]]] {
            let terminal = try PseudoTerminal(columns: columns, rows: 50)
            var run = CommandRun(arguments: arguments, home: home)
            run.terminal = terminal
            run.drawsOnTerminal = true
            #expect(try await run.run().status == 0)
            let text = try await Deadline.wait(for: "the last name") {
                let text = String(decoding: terminal.octets, as: UTF8.self)
                return text.contains("日本語") && text.contains("2026-0") ? text : nil
            }
            for line in text.split(whereSeparator: \.isNewline) {
                let width = line.unicodeScalars.reduce(0) { $0 + ($1.value >= 0x1100 ? 2 : 1) }
                #expect(width <= Int(columns), "\(line)")
            }
        }
        _ = keychain
    }
}
