import KeychainClient
import TouchstoneTesting

/// The duration of TPM operations, through swtpm: compared to the same commands over one connection, and to tpm2-tools.
enum TPMRows {
    /// Each implementation has its own chip, and all work alternately on one processor.
    static func measure(_ scale: Scale, into table: inout Table) async throws {
        try await OneProcessor.with { try await measureInTurns(scale, into: &table) }
    }

    private static func measureInTurns(_ scale: Scale, into table: inout Table) async throws {
        let driver = try await DriverChip.start()
        let limit = try await LimitChip.start()
        let tools = ToolsChip.areInstalled ? try await ToolsChip.start() : nil
        for operation in ChipOperation.allCases {
            try await measure(operation, driver, limit, tools, scale, into: &table)
        }
        await driver.end()
    }

    private static func measure(
        _ operation: ChipOperation,
        _ driver: DriverChip,
        _ limit: LimitChip,
        _ tools: ToolsChip?,
        _ scale: Scale,
        into table: inout Table
    ) async throws {
        let name = "TPM \(operation.rawValue)"
        // Persistent sessions are created at the first use.
        _ = try await driver.time(operation)
        let commands = Figure(Double(try await driver.commandCount(operation)), .count)
        let fewest = Figure(Double(try limit.commandCount(operation)), .count)
        var ours: [Nanoseconds] = []
        var limits: [Nanoseconds] = []
        var theirs: [Nanoseconds] = []
        for _ in 0..<scale.chipRounds {
            for _ in 0..<10 { ours.append(try await driver.time(operation)) }
            for _ in 0..<10 { limits.append(try limit.time(operation)) }
            if let tools { theirs.append(try tools.time(operation)) }
        }
        table.add(Row("\(name), commands", ours: commands, limit: fewest, .atMost(1)))
        table.add(Row(name, ours: Figure(ours.median), limit: Figure(limits.median), .atMost(1.5)))
        guard let tools else {
            table.add(Row("\(name) beside tpm2-tools", notMeasured: "tpm2-tools are missing"))
            return
        }
        let count = try tools.commandCount(operation)
        table.add(
            Row(
                "\(name) beside tpm2-tools, \(count) commands",
                ours: Figure(ours.median),
                "tpm2-tools",
                Figure(theirs.median),
                .atMost(0.1)
            )
        )
    }

    /// Counts the commands that a daemon with a TPM sends for look-ups of an item that needs no authentication.
    static func measureLookups(_ programs: Programs, _ scale: Scale, into table: inout Table) async throws {
        let chip = try await SoftwareTPM.start()
        let recorder = try TPMRecorder(chip)
        let keychain = try BenchKeychain(programs, tpm: recorder.tcti)
        try await keychain.setUp()
        guard !recorder.commands.isEmpty else { throw BenchError("the daemon does not use its TPM") }
        let client = keychain.connect()
        _ = try client.add(BenchItem.add(0, prompt: keychain.prompt))
        let before = recorder.commands.count
        for _ in 0..<scale.lookups {
            let found = try client.copy(BenchItem.copy(0, prompt: keychain.prompt))
            guard found.count == 1 else { throw BenchError("no item") }
        }
        let count = recorder.commands.count - before
        try await keychain.stop()
        table.add(
            Row(
                "TPM commands of \(scale.lookups) look-ups without authentication",
                ours: Figure(Double(count), .count),
                atMost: Figure(0, .count)
            )
        )
    }
}
