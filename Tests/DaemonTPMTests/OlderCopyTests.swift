import Foundation
import KeychainModel
import Testing
import TouchstoneTesting

/// A backup of the data directory was restored: what the commands report, and whether their advice works.
@Suite(
    "An older copy of the data directory, as users see it",
    .enabled(if: TPMMachine.isThere, "touchstoned or swtpm is missing"),
    .timeLimit(.minutes(20))
)
struct OlderCopyTests {
    /// What was restored.
    enum Copy: CaseIterable {
        case items, everything
    }

    private static let commands = [
        "get one", "list", "show one", "find one", "status", "doctor", "repair", "repair --accept",
        "set two --require none", "delete one --yes", "get one",
    ]

    /// A keychain with an older copy restored, and its state before; the daemon runs, locked.
    private static func olderKeychain(_ keychain: PrivateKeychain, _ copy: Copy) async throws -> DataCopy {
        #expect(try await keychain.command("set one --require none", input: "first").status == 0)
        try keychain.add("guarded", "kept", .devicePasscode)
        keychain.stop(with: SIGTERM)
        let older = try copy == .items ? DataCopy.store(of: keychain) : DataCopy(of: keychain)
        try await keychain.start()
        try keychain.unlock()
        #expect(try await keychain.command("set one --replace --require none", input: "second").status == 0)
        // An older copy must not undo this: the TPM's counter increments.
        try keychain.delete("guarded")
        keychain.stop(with: SIGTERM)
        let newer = try DataCopy(of: keychain)
        try older.put(into: keychain)
        try await keychain.start()
        return newer
    }

    /// Expects that every command works, and reports no problem.
    private static func expectWorking(_ keychain: PrivateKeychain, _ value: String, _ when: String)
        async throws
    {
        let got = try await keychain.command("get one")
        #expect(got.status == 0 && got.output == value, "\(when): \(got)")
        for arguments in ["list", "status", "doctor", "repair"] {
            let result = try await keychain.command(arguments)
            #expect(result.status == 0, "\(when), \(arguments): \(result)")
            #expect(!result.output.contains("older"), "\(when), \(arguments): \(result)")
            #expect(!result.output.contains("damaged"), "\(when), \(arguments): \(result)")
        }
        let set = try await keychain.command("set new --replace --require none", input: "new")
        #expect(set.status == 0, "\(when): \(set)")
    }

    @Test(
        "with a TPM each command reports the same cause and two remedies, and both work",
        arguments: Copy.allCases
    )
    func onHardware(_ copy: Copy) async throws {
        let machine = try await TPMMachine.ready()
        let keychain = machine.keychain
        let newer = try await Self.olderKeychain(keychain, copy)
        let cause = "the store is an older copy: the TPM's counter is ahead of it"
        let advice =
            "put the newer data directory back while the daemon is stopped, or accept this one with the"
            + " recovery code: touchstone recover"
        // Before the passcode the copy is not detected; commands that ask for the passcode report it at once.
        for round in ["locked", "unlocked", "restarted", "restarted and unlocked"] {
            if round == "unlocked" || round == "restarted and unlocked" { try keychain.unlock() }
            if round == "restarted" { try await machine.restart() }
            let isLocked = !round.hasSuffix("unlocked")
            for arguments in isLocked ? ["get one"] : Self.commands {
                let result = try await keychain.command(
                    arguments,
                    input: arguments.hasPrefix("set") ? "two" : nil
                )
                #expect(result.status == 9, "\(round), \(arguments): \(result)")
                #expect(result.output.contains(cause), "\(round), \(arguments): \(result)")
                #expect(result.output.contains(advice), "\(round), \(arguments): \(result)")
                // None of these helps here, and following them would lead in a circle.
                for other in ["touchstone repair", "touchstone doctor", "damaged"] {
                    #expect(!result.output.contains(other), "\(round), \(arguments): \(result)")
                }
            }
            let json = try await keychain.command("status --json")
            #expect(json.output.contains("\"itemsFault\": \"store: older copy\""), "\(round): \(json)")
        }
        // The first remedy.
        let older = try DataCopy(of: keychain)
        try await keychain.stopped { try newer.put(into: keychain) }
        try keychain.unlock()
        try await Self.expectWorking(keychain, "second", "the newer one put back")
        // The second remedy.
        try await keychain.stopped { try older.put(into: keychain) }
        let recovered = try await keychain.command("recover")
        #expect(recovered.status == 0, "\(recovered)")
        for round in ["recovered", "restarted"] {
            if round == "restarted" {
                try await machine.restart()
                try keychain.unlock()
            }
            try await Self.expectWorking(keychain, "first", round)
        }
    }

    @Test(
        "with a TPM no older copy brings back an item with a rule that was replaced without being read",
        arguments: [AccessControlFlags.devicePasscode, []]
    )
    func replaced(later: AccessControlFlags) async throws {
        let machine = try await TPMMachine.ready()
        let keychain = machine.keychain
        try keychain.add("guarded", "former", .devicePasscode)
        keychain.stop(with: SIGTERM)
        let older = try DataCopy.store(of: keychain)
        try await keychain.start()
        try keychain.unlock()
        try keychain.replace("guarded", "later", later)
        try await keychain.stopped { try older.put(into: keychain) }
        try keychain.unlock()
        let listed = try await keychain.command("list")
        #expect(listed.status == 9, "\(listed)")
        #expect(listed.output.contains("the store is an older copy"), "\(listed)")
    }

    @Test(
        "with a TPM an older copy that is put under a running daemon is refused, also after a lock and an unlock"
    )
    func underDaemon() async throws {
        let machine = try await TPMMachine.ready()
        let keychain = machine.keychain
        try keychain.add("guarded", "kept", .devicePasscode)
        keychain.stop(with: SIGTERM)
        let older = try DataCopy.store(of: keychain)
        try await keychain.start()
        try keychain.unlock()
        // The TPM's counter increments.
        try keychain.delete("guarded")
        try keychain.add("newer", "value")
        try older.put(into: keychain)
        let refused = try await keychain.command("set two --require none", input: "two")
        #expect(refused.output.contains("were replaced"), "\(refused)")
        #expect(refused.output.contains("touchstone lock, then touchstone unlock"), "\(refused)")
        #expect(try await keychain.command("lock").status == 0)
        _ = try await keychain.command("unlock")
        for arguments in ["list", "set two --require none"] {
            let result = try await keychain.command(arguments, input: arguments == "list" ? nil : "two")
            #expect(result.status == 9, "\(arguments): \(result)")
            #expect(result.output.contains("the store is an older copy"), "\(arguments): \(result)")
        }
        // What the daemon had open was kept.
        let saved = try Data(contentsOf: URL(fileURLWithPath: keychain.file("items.sqlite.damaged-1")))
        keychain.stop(with: SIGTERM)
        for name in ["items.sqlite-wal", "items.sqlite-mark"] {
            try? FileManager.default.removeItem(atPath: keychain.file(name))
        }
        try saved.write(to: URL(fileURLWithPath: keychain.file("items.sqlite")))
        try await keychain.start()
        try keychain.unlock()
        #expect(try keychain.value("newer") == "value")
        #expect(try await keychain.command("status").status == 0)
    }

    @Test(
        "without a TPM the keychain is as it was on that day, and no command reports a problem",
        arguments: Copy.allCases
    )
    func inSoftware(_ copy: Copy) async throws {
        let keychain = try await PrivateKeychain.ready()
        let newer = try await Self.olderKeychain(keychain, copy)
        try keychain.unlock()
        try await Self.expectWorking(keychain, "first", "the older one")
        try await keychain.stopped { try newer.put(into: keychain) }
        try keychain.unlock()
        try await Self.expectWorking(keychain, "second", "the newer one")
    }
}

extension PrivateKeychain {
    /// Runs `touchstone` at the keychain's terminal; returns standard output and error.
    func command(_ arguments: String, input: String? = nil) async throws -> Finished {
        let terminal = prompt().origin.terminal ?? ""
        let start = input.map { "printf '%s' '\($0)' |" } ?? "exec"
        return try await Finished.running(
            [
                "/bin/sh", "-c",
                "\(start) \(Programs.touchstone) \(arguments) 2>&1" + (input == nil ? " <\(terminal)" : ""),
            ],
            environment: [
                "TOUCHSTONE_HOME": home.path, "PATH": "/usr/bin:/bin",
                // The settings that `doctor` checks.
                "TOUCHSTONE_DAEMON": Programs.touchstoned,
            ]
        )
    }
}
