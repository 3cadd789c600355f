import AccountStore
import Foundation
import Testing

/// Server processes killed in the middle of their work.
@Suite("The store after a process was killed", .serialized)
struct ProcessTests {
    /// `store-writer`, which is built into the tests' directory.
    private static var program: URL {
        let executable =
            CommandLine.arguments[0].hasSuffix(".xctest")
            ? URL(filePath: CommandLine.arguments[0])
            : (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")).map {
                URL(filePath: $0)
            }
                ?? URL(filePath: CommandLine.arguments[0])
        return executable.deletingLastPathComponent().appending(path: "store-writer")
    }

    /// What one writer reported as committed.
    private struct Told {
        var records = 0
        var credential = ""
        var consumed: [String] = []
        var opened: Set<String> = []
        /// Access tokens of sessions that are open, and below, of those that ended.
        var living: Set<String> = []
        var over: Set<String> = []
    }

    @Test(
        "acknowledged writes survive, consumed ceremonies stay consumed, the audit chains are valid",
        arguments: StoreKind.allCases
    )
    func killed(_ kind: StoreKind) async throws {
        let database = try await kind.makeDatabase()
        // Two at a time, killed at different points, several rounds.
        var told: [String: Told] = [:]
        for lines in [40, 150, 400] {
            let outputs = try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<2 { group.addTask { try Self.runUntilKilled(database, lines: lines) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            for output in outputs { Self.read(output, &told) }
        }
        #expect(told.count >= 12)
        let now = Timestamp(seconds: 1_800_000_000)
        try await database.use { store in
            for (account, told) in told {
                let id = AccountID(bytes(account))
                let records = try await store.auditPage(of: id, after: 0, count: 100_000)
                #expect(AuditChain.fault(in: records) == nil)
                #expect(records.first?.sequence == 1)
                #expect(records.count >= told.records)
                #expect(try await store.credentials(of: id).map(\.id.bytes) == [bytes(told.credential)])
                for ceremony in told.consumed {
                    let again = try await store.consumeCeremony(
                        CeremonyID(bytes(ceremony)),
                        presenting: nil,
                        now: now
                    )
                    #expect(again == nil)
                }
                for token in told.over {
                    #expect(try await store.liveSession(TokenDigest(bytes(token)), .access, now: now) == nil)
                }
                // The last session may have been ended, with its tokens, after the writer's last line.
                let ended = records.count > told.records && records.last?.event.name == .sessionLogout
                if !ended {
                    for token in told.living {
                        #expect(
                            try await store.liveSession(TokenDigest(bytes(token)), .access, now: now) != nil
                        )
                    }
                }
            }
        }
        await database.remove()
    }

    private static func runUntilKilled(_ database: any TestDatabase, lines: Int) throws -> String {
        let process = Process()
        let output = Pipe()
        process.executableURL = program
        process.arguments = database.writerArguments
        process.standardOutput = output
        try process.run()
        var text = Data()
        var count = 0
        while count < lines {
            let part = output.fileHandleForReading.availableData
            if part.isEmpty { break }
            count += part.count { $0 == UInt8(ascii: "\n") }
            text += part
        }
        kill(process.processIdentifier, SIGKILL)
        text += output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        #expect(process.terminationReason == .uncaughtSignal && process.terminationStatus == SIGKILL)
        return String(decoding: text, as: UTF8.self)
    }

    private static func read(_ output: String, _ told: inout [String: Told]) {
        for line in output.split(separator: "\n") {
            let words = line.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
            guard words.count == 4, let records = Int(words[3]) else { continue }
            var one = told[words[1]] ?? Told()
            one.records = records
            switch words[0] {
            case "registered": one.credential = words[2]
            case "opened": one.opened.insert(words[2])
            case "consumed": one.consumed.append(words[2])
            case "signedIn": one.living.insert(words[2])
            case "signedOut":
                one.living.remove(words[2])
                one.over.insert(words[2])
            case "signedOutAll":
                one.over.formUnion(one.living)
                one.living = []
            default: Issue.record("\(line)")
            }
            told[words[1]] = one
        }
    }

    private func bytes(_ hex: String) -> [UInt8] {
        stride(from: 0, to: hex.count, by: 2).compactMap { offset in
            let start = hex.index(hex.startIndex, offsetBy: offset)
            return UInt8(hex[start..<hex.index(start, offsetBy: 2)], radix: 16)
        }
    }
}
