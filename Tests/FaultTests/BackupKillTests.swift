import Foundation
import Glibc
import KeychainClient
import KeychainModel
import Testing
import TouchstoneTesting

@Suite(
    "A kill while a backup is written",
    .serialized,
    .enabled(
        if: Strace.isThere && access(Programs.touchstone, X_OK) == 0,
        "needs root, strace and touchstone"
    ),
    .timeLimit(.minutes(60))
)
struct BackupKillTests {
    /// Where it is written.
    enum Target: CaseIterable, Sendable {
        /// A file that is not there.
        case newFile
        /// A file with a former backup.
        case formerFile
        /// A directory with two former backups, of which one is removed.
        case directory

        var command: String {
            switch self {
            case .newFile: "$T backup ~/out/secrets.backup"
            case .formerFile: "$T backup --replace ~/out/secrets.backup"
            case .directory: "$T backup --keep 2 ~/out"
            }
        }

        /// The names of the former backups.
        var former: Set<String> {
            switch self {
            case .newFile: []
            case .formerFile: ["secrets.backup"]
            case .directory:
                ["touchstone-20260101T000000Z.backup", "touchstone-20260102T000000Z.backup"]
            }
        }
    }

    /// What a file in the directory is.
    private enum Content: Equatable {
        case former, later
        /// Neither: a part, or another value.
        case other(String)
    }

    /// A keychain that changed since its former backups.
    private struct Place {
        let target: Target
        let keychain: PrivateKeychain
        private let terminal: PseudoTerminal
        private let former: Data
        private let formerValues: [String: String]
        private let values: [String: String]

        private var out: String { keychain.home.appending("out") }

        init(_ target: Target) async throws {
            self.target = target
            terminal = try PseudoTerminal()
            keychain = try await PrivateKeychain.withFormerItems(settings: ["backup-require = none"])
            try FileManager.default.createDirectory(
                atPath: keychain.home.appending("out"),
                withIntermediateDirectories: false
            )
            guard try await keychain.runShell("$T backup ~/former", on: terminal) == 0 else {
                throw TestKitError.unexpected("no former backup")
            }
            former = try Data(contentsOf: URL(fileURLWithPath: keychain.home.appending("former")))
            formerValues = try keychain.all()
            try keychain.update(Change.former[0].account, "changed")
            let large = try keychain.addLargeItems()
            values = formerValues.merging([Change.former[0].account: "changed"]) { $1 }.merging(large) { $1 }
        }

        /// Puts the former backups back; what a killed command left beside them stays.
        func reset() throws {
            for name in try names() { unlink("\(out)/\(name)") }
            for name in target.former { try former.write(to: URL(fileURLWithPath: "\(out)/\(name)")) }
        }

        func attempt(_ victim: Victim, _ options: [String]) async throws -> Bool {
            if !keychain.isRunning {
                try await keychain.start()
                try keychain.unlock()
            }
            return try await keychain.run(target.command, on: terminal, killing: victim, options)
        }

        /// Runs the command in a process with whose number a killed one may have left a file, as in a container.
        func runAfterNamesake() async throws -> Int32 {
            try await keychain.runShell(
                "touch ~/out/secrets.backup.$$.new && exec \(target.command)",
                on: terminal
            )
        }

        /// The names of backups; anything else is what a killed command left, under a name of its own.
        private func names() throws -> [String] {
            let all = try FileManager.default.contentsOfDirectory(atPath: out)
            for name in all where !name.hasSuffix(".backup") {
                #expect(name.hasSuffix(".new") && name.contains(".backup."), "\(name)")
            }
            return all.filter { $0.hasSuffix(".backup") }
        }

        private func content(_ name: String) async throws -> Content {
            let path = "\(out)/\(name)"
            if try Data(contentsOf: URL(fileURLWithPath: path)) == former { return .former }
            let found: [String: String]
            do {
                found = try await OpenedImage.values(inBackup: path, code: keychain.notedCode)
            } catch {
                return .other("\(error)")
            }
            if found == values { return .later }
            return found == formerValues ? .former : .other("\(found.mapValues { $0.prefix(20) })")
        }

        /// Expects whole backups alone, the new one if it was acknowledged, and never fewer than before.
        func judge(_ isDone: Bool, _ moment: String) async throws {
            var contents: [Content] = []
            for name in try names() { contents.append(try await content(name)) }
            let later = contents.count { $0 == .later }
            let whole = later + contents.count { $0 == .former }
            #expect(whole == contents.count, "\(target), \(moment): \(contents)")
            #expect(whole >= target.former.count, "\(target), \(moment): \(contents)")
            #expect(!isDone || later == 1, "\(target), \(moment), acknowledged: \(contents)")
            #expect(!isDone || whole == max(1, target.former.count), "\(target), \(moment): \(contents)")
        }

        /// Expects that the next backup works beside what was left, and that no secret was lost.
        func end() async throws {
            try reset()
            if !keychain.isRunning {
                try await keychain.start()
                try keychain.unlock()
            }
            let status = try await keychain.runShell(target.command, on: terminal)
            #expect(status == 0)
            try await judge(status == 0, "afterwards")
            #expect(try keychain.values(of: values.keys) == values)
        }
    }

    private static func calls(_ victim: Victim) -> [String] {
        switch victim {
        case .command:
            CaseSize.of(
                ["write", "rename", "fsync"],
                full: [
                    "write", "rename", "fsync", "close", "openat", "sendto", "sendmsg", "recvfrom", "recvmsg",
                    "poll", "read",
                ]
            )
        case .daemon: CaseSize.of(["sendmsg"], full: ["sendmsg", "recvmsg", "pread64", "pwrite64", "openat"])
        }
    }

    private static func kill(_ victim: Victim, _ target: Target) async throws {
        let place = try await Place(target)
        let killed = try await KilledCalls.each(
            of: calls(victim),
            most: CaseSize.of(3, full: 60)
        ) { moment, options in
            try place.reset()
            let isDone = try await place.attempt(victim, options)
            try await place.judge(isDone, moment)
            return isDone
        }
        try await place.end()
        #expect(killed >= CaseSize.of(2, full: 20), "\(killed) kills")
        if CaseSize.isFull { print("\(target), \(victim): \(killed) kills") }
    }

    // Catches a backup that is written under its name, a former one that is removed before the new one is there, and a temporary
    // file that keeps the next backup from being written.
    @Test(
        "of the command at any call, whole backups are there under their names, no fewer than before, and the next one works",
        arguments: Target.allCases
    )
    func command(target: Target) async throws { try await Self.kill(.command, target) }

    // Catches a command that takes the end of the daemon for the end of the backup.
    @Test(
        "of the daemon at any call, whole backups are there under their names, no fewer than before, and the next one works",
        arguments: Target.allCases
    )
    func daemon(target: Target) async throws { try await Self.kill(.daemon, target) }

    // Catches a temporary file that is named by the process's number alone.
    @Test("a backup is written also where a killed command of the same process number left a file")
    func sameNumber() async throws {
        let place = try await Place(.newFile)
        let status = try await place.runAfterNamesake()
        #expect(status == 0)
        try await place.judge(true, "after a namesake")
    }
}
