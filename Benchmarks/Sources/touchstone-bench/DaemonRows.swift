import KeychainClient
import KeychainModel

/// The daemon itself: memory, start, and the first reply after the passcode.
enum DaemonRows {
    /// Resident memory after all measurements of the store (proc(5), `VmRSS`).
    static func measureMemory(_ stage: Stage, into table: inout Table) throws {
        let kilobytes = try TextFile.residentKilobytes(of: try stage.keychain.daemonProcess())
        table.add(
            Row(
                "resident memory, \(stage.count) items",
                ours: .kilobytes(kilobytes),
                atMost: .megabytes(20)
            )
        )
    }

    /// Starts the daemon of a full store repeatedly; each time the first look-up prompts for the passcode.
    static func measureStart(_ stage: Stage, _ scale: Scale, into table: inout Table) async throws {
        var starts: [Nanoseconds] = []
        var firstUnlocks: [Nanoseconds] = []
        var unlocks: [Nanoseconds] = []
        for _ in 0..<scale.starts {
            try await stage.keychain.stop()
            starts.append(try await stage.keychain.start())
            let client = stage.keychain.connect()
            firstUnlocks.append(try unlock(stage, client))
            try client.lock()
            unlocks.append(try unlock(stage, client))
        }
        table.add(
            Row(
                "exec to first reply, \(stage.count) items",
                ours: Figure(starts.median),
                atMost: .milliseconds(30)
            )
        )
        table.add(
            Row(
                "passcode typed to first secret, after start, \(stage.count) items",
                ours: Figure(firstUnlocks.median),
                atMost: .milliseconds(20)
            )
        )
        table.add(
            Row(
                "passcode typed to first secret, after lock",
                ours: Figure(unlocks.median),
                atMost: .milliseconds(20)
            )
        )
    }

    /// Looks up an item in a locked keychain: from the passcode's last key to the secret in the client.
    private static func unlock(_ stage: Stage, _ client: RemoteKeychain) throws -> Nanoseconds {
        guard try client.status().keybag != .unlocked else { throw BenchError("the keybag is not locked") }
        _ = try client.copy(BenchItem.copy(1, prompt: stage.keychain.prompt))
        return Stopwatch.now() - (try stage.keychain.noted("answered"))
    }
}
