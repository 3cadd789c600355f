import Foundation
import Glibc
import KeychainClient
import KeychainModel
import Testing
import TouchstoneTesting

@Suite(
    "A kill while a backup is brought back",
    .serialized,
    .enabled(
        if: Strace.isThere && access(Programs.touchstone, X_OK) == 0,
        "needs root, strace and touchstone"
    ),
    .timeLimit(.minutes(60))
)
struct RestoreKillTests {
    /// A backup of another machine, and this machine, whose person noted its code.
    private struct Place {
        let old: PrivateKeychain
        let keychain: PrivateKeychain
        let terminal: PseudoTerminal
        /// What the backup holds.
        let values: [String: String]
        private let backup: Data

        var path: String { keychain.home.appending("secrets.backup") }

        init() async throws {
            terminal = try PseudoTerminal()
            old = try await PrivateKeychain.withFormerItems(settings: ["backup-require = none"])
            let former = try old.all()
            values = try former.merging(old.addLargeItems()) { $1 }
            guard try await old.runShell("$T backup ~/secrets.backup", on: terminal) == 0 else {
                throw TestKitError.unexpected("no backup")
            }
            backup = try Data(contentsOf: URL(fileURLWithPath: old.home.appending("secrets.backup")))
            keychain = try PrivateKeychain()
            try backup.write(to: URL(fileURLWithPath: keychain.home.appending("secrets.backup")))
            try noteCode()
        }

        /// The person has the backup's code, not the one of a keychain that was set up here.
        func noteCode() throws {
            try old.notedCode.write(
                toFile: keychain.home.appending("code"),
                atomically: true,
                encoding: .utf8
            )
        }

        func expectBackup(_ moment: String) throws {
            let isUnchanged = try Data(contentsOf: URL(fileURLWithPath: path)) == backup
            #expect(isUnchanged, "\(moment): the backup was changed")
        }

        /// The model of a keychain with the backup's items alone.
        var model: Model {
            var model = Model()
            for (account, value) in values { model.answered(account, is: value) }
            return model
        }
    }

    private static func calls(_ victim: Victim) -> [String] {
        switch victim {
        case .command:
            CaseSize.of(
                ["sendmsg", "pread64"],
                full: [
                    "pread64", "sendto", "sendmsg", "recvfrom", "recvmsg", "poll", "openat", "close", "read",
                ]
            )
        case .daemon:
            CaseSize.of(["renameat2", "fdatasync"], full: Strace.writes + ["sendmsg", "recvmsg", "openat"])
        }
    }

    // Catches a keychain that is made of a part of the backup, and one that a killed command leaves half made.
    @Test(
        "killed at any call, there is no keychain or the whole one, and the backup restores again",
        arguments: Victim.allCases
    )
    func restored(victim: Victim) async throws {
        let place = try await Place()
        let keychain = place.keychain
        let command = "$T backup --restore ~/secrets.backup"
        var outcomes: [KeybagState: Int] = [:]
        var attempts = 0
        let killed = try await KilledCalls.each(
            of: Self.calls(victim),
            most: CaseSize.of(2, full: 40)
        ) { moment, options in
            try FileImage().write(to: keychain.layout.dataDirectory)
            try await keychain.start()
            let isDone = try await keychain.run(command, on: place.terminal, killing: victim, options)
            keychain.stop(with: SIGKILL)
            try place.expectBackup(moment)
            let image = try FileImage(of: keychain.layout.dataDirectory)
            let found = try await OpenedImage(image)
            outcomes[found.state, default: 0] += 1
            attempts += 1
            #expect(!isDone || found.state == .locked, "\(moment): acknowledged")
            guard found.state == .notSetUp else {
                #expect(found.faults(place.model).isEmpty, "\(moment)")
                return isDone
            }
            // From time to time it is repeated, which takes longer.
            guard attempts % 10 == 1 else { return isDone }
            try await keychain.start()
            #expect(try await keychain.runShell(command, on: place.terminal) == 0, "\(moment)")
            #expect(place.model.faults(in: try keychain.values(of: place.values.keys)).isEmpty, "\(moment)")
            keychain.stop(with: SIGKILL)
            return isDone
        }
        #expect(outcomes[.notSetUp, default: 0] > 0, "\(outcomes)")
        #expect(!CaseSize.isFull || outcomes[.locked, default: 0] > 0, "\(outcomes)")
        #expect(killed >= CaseSize.of(2, full: 20), "\(killed) kills")
        #expect(
            try place.model.faults(in: place.old.values(of: place.values.keys)).isEmpty,
            "the old keychain is as it was"
        )
        if CaseSize.isFull { print("restore, \(victim): \(killed) kills") }
    }

    // Catches a value that a merge replaces in two steps, an own secret that it loses, and a merge that cannot be repeated.
    @Test(
        "killed at any call, a merge leaves each secret as it was or as the backup has it, and is completed when repeated",
        arguments: Victim.allCases
    )
    func merged(victim: Victim) async throws {
        let place = try await Place()
        let keychain = place.keychain
        let command = "$T backup --restore ~/secrets.backup --merge --on-conflict replace"
        try await keychain.start()
        try keychain.client.setUp(keychain.prompt())
        let own = ["own": "kept", Change.former[0].account: "another"]
        for (account, value) in own { try keychain.add(account, value) }
        keychain.stop(with: SIGKILL)
        try place.noteCode()
        let former = try FileImage(of: keychain.layout.dataDirectory)
        var model = Model()
        for (account, value) in own { model.answered(account, is: value) }
        for (account, value) in place.values { model.before(account, becomes: value) }
        let later = place.values.merging(["own": "kept"]) { $1 }
        var attempts = 0
        let killed = try await KilledCalls.each(
            of: Self.calls(victim).filter { CaseSize.isFull || $0 != "renameat2" },
            most: CaseSize.of(2, full: 40)
        ) { moment, options in
            try former.write(to: keychain.layout.dataDirectory)
            try await keychain.start()
            try keychain.unlock()
            let isDone = try await keychain.run(command, on: place.terminal, killing: victim, options)
            keychain.stop(with: SIGKILL)
            try place.expectBackup(moment)
            let found = try await OpenedImage(FileImage(of: keychain.layout.dataDirectory))
            #expect(found.faults(model).isEmpty, "\(moment)")
            if isDone { #expect(found.items == later, "\(moment): acknowledged") }
            attempts += 1
            guard attempts % 10 == 1 else { return isDone }
            try await keychain.start()
            try keychain.unlock()
            #expect(try await keychain.runShell(command, on: place.terminal) == 0, "\(moment)")
            #expect(try keychain.values(of: later.keys) == later, "\(moment)")
            keychain.stop(with: SIGKILL)
            return isDone
        }
        #expect(killed >= CaseSize.of(2, full: 20), "\(killed) kills")
        if CaseSize.isFull { print("merge, \(victim): \(killed) kills") }
    }
}
