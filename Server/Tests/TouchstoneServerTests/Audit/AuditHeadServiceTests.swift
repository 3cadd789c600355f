import AccountStore
import Foundation
import NIOHTTP1
import StoreTestKit
import Testing

@testable import TouchstoneServer

extension ServerTests {
    @Suite("Heads of the audit in a file")
    struct AuditHeadServiceTests {
        /// The value of a counter with an outcome.
        private static func count(_ outcome: String, _ server: TestServer) async throws -> Int {
            let text = try await server.call(.GET, "/metrics", isAdmin: true).text
            let name = "touchstone_audit_heads_total{outcome=\"\(outcome)\"} "
            let line = text.split(separator: "\n").first { $0.hasPrefix(name) }
            return line.flatMap { Int($0.dropFirst(name.count)) } ?? 0
        }

        @Test(
            "the server appends heads by itself, and goes on where it was after a restart",
            arguments: ServerDatabase.allCases
        )
        func service(_ database: ServerDatabase) async throws {
            let configure: (inout ServerConfiguration) -> Void = {
                $0.auditHeadFile = "\($0.dataDirectory)/heads"
                $0.auditHeadInterval = 1
            }
            try await TestServer.with(on: database, configure) { server in
                let path = try #require(server.configuration.auditHeadFile)
                let deadline = ContinuousClock.now + .seconds(120)
                func wait(for number: Int, _ server: TestServer) async throws {
                    while try await Self.count("written", server) < number {
                        try #require(ContinuousClock.now < deadline)
                    }
                }
                try await wait(for: 1, server)
                let first = try #require(try AuditHeadFile(path: path).last())
                _ = try await TestUser.signedIn(on: server)
                try await wait(for: 2, server)
                // Another server on the same database and file.
                try await TestServer.with(server.configuration, adminToken: server.adminToken) { other in
                    _ = try await TestUser.signedIn(on: other, "eve")
                    while try AuditHeadFile(path: path).last()?.count == first.count,
                        ContinuousClock.now < deadline
                    {
                        _ = try await Self.count("written", other)
                    }
                    let text = try await ServerProgram.verifyAudit(other.configuration, head: path)
                    #expect(text.contains("positions after 0 up to"), "\(text)")
                    let digits = first.value.hexadecimal
                    #expect(
                        try await ServerProgram.verifyAudit(other.configuration, head: digits).contains(
                            "whole"
                        )
                    )
                }
                let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
                #expect(mode == 0o600)
                #expect(try await Self.count("failed", server) == 0)
            }
        }

        @Test("a file that cannot be written fails no request, and is counted")
        func failure() async throws {
            try await TestServer.with({
                // A directory.
                $0.auditHeadFile = $0.dataDirectory
                $0.auditHeadInterval = 1
            }) { server in
                let deadline = ContinuousClock.now + .seconds(120)
                while try await Self.count("failed", server) < 2 {
                    try #require(ContinuousClock.now < deadline)
                }
                let user = try await TestUser.signedIn(on: server)
                #expect(try await user.logIn().status == 200)
                #expect(try await server.call(.GET, "/health/ready", isAdmin: true).status == 200)
                #expect(try await Self.count("written", server) == 0)
            }
        }

        @Test("a head has at most a thousand events, and a long log has several")
        func many() async throws {
            try await AuditedServer.with(on: .sqlite) { audited in
                let events = [AuditEvent](repeating: AuditEvent(.startup), count: 2500)
                try await audited.server.program.store.record(events, now: .now)
                try await audited.append()
                let lines = try audited.lines()
                #expect(lines.count == 3)
                #expect(lines.prefix(2).allSatisfy { $0.contains("\"count\":1000,") })
                #expect(try await audited.verify(head: audited.file.path).contains("heads that agree: 3"))
            }
        }

        @Test("heads continue in a new file after a rotation, and from the first event after a restart")
        func rotation() async throws {
            try await AuditedServer.with(on: .sqlite) { audited in
                let first = try await audited.append()
                try FileManager.default.moveItem(atPath: audited.file.path, toPath: audited.file.path + ".1")
                _ = try await TestUser.signedIn(on: audited.server, "eve")
                let second = try await audited.append(after: first)
                #expect(second?.previous == first?.value && second?.after == first?.position)
                #expect(try await audited.verify(head: audited.file.path).contains("heads that agree: 1"))
                try audited.write([])
                #expect(try await audited.append()?.after == 0)
                #expect(try await audited.verify(head: audited.file.path).contains("heads that agree: 1"))
            }
        }

        @Test("a log that ends before the last head is an error of its own")
        func truncated() async throws {
            try await AuditedServer.with(on: .sqlite) { audited in
                let last = try #require(try await audited.append())
                try audited.change("DELETE FROM audit WHERE position = \(last.position)")
                let fault = await #expect(throws: ConfigurationFault.self) { try await audited.append() }
                #expect(fault?.description.contains("the audit log ends before") == true)
                #expect(try audited.lines().count == 1)
            }
        }

        @Test("what a loss of power cut off is passed over; what is no file of heads is left alone")
        func file() throws {
            let directory = FileManager.default.temporaryDirectory.appending(
                path: "heads-\(UUID().uuidString)"
            )
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: directory) }
            let file = AuditHeadFile(path: directory.appending(path: "heads").path)
            func head(_ number: Int64, _ former: AuditHead? = nil) -> AuditHead {
                AuditHead(
                    after: number - 1,
                    position: number,
                    count: 1,
                    oldest: .now,
                    digest: [UInt8](repeating: 1, count: 32),
                    previous: former?.value ?? AuditHead.start
                )
            }
            func write(_ text: String) throws { try Data(text.utf8).write(to: URL(filePath: file.path)) }
            func text() throws -> String { try String(contentsOfFile: file.path, encoding: .utf8) }
            #expect(try file.last() == nil)
            try file.check()
            #expect(!FileManager.default.fileExists(atPath: file.path))
            let first = head(1)
            let second = head(2, first)
            #expect(try file.append(first, following: nil))
            #expect(try file.last() == first)
            // Another server appended since.
            #expect(try !file.append(second, following: nil))
            #expect(try !file.append(second, following: second))
            #expect(try file.append(second, following: first))
            #expect(try file.last() == second)
            try file.check()

            // A server that is appending now.
            let other = open(file.path, O_RDONLY | O_CLOEXEC)
            #expect(flock(other, LOCK_EX) == 0)
            #expect(try !file.append(head(3, second), following: second))
            close(other)

            let whole = try text()
            let line = String(decoding: second.line, as: UTF8.self)
            for count in [1, 20, line.utf8.count - 2] {
                try write(String(decoding: first.line, as: UTF8.self) + line.prefix(count))
                #expect(try file.last() == first)
                #expect(try file.append(second, following: first))
                #expect(try text().hasSuffix("\n" + line))
                #expect(try file.last() == second)
            }
            // The very first one.
            try write(String(line.prefix(20)))
            #expect(try file.last() == nil)
            #expect(try file.append(first, following: nil))
            #expect(try file.last() == first)
            // Whole but for the end of the line.
            try write(String(whole.dropLast()))
            #expect(try file.last() == second)
            let third = head(3, second)
            #expect(try file.append(third, following: second))
            #expect(try text() == whole + String(decoding: third.line, as: UTF8.self))

            for other in ["a text\n", "\n\n", String(repeating: "x", count: 10_000)] {
                try write(other)
                #expect(throws: ConfigurationFault.self) { try file.last() }
                #expect(throws: ConfigurationFault.self) { try file.check() }
                #expect(throws: ConfigurationFault.self) { try file.append(first, following: nil) }
                #expect(try text() == other)
            }
            for name in ["none/heads", "pipe", "."] {
                let path = directory.appending(path: name).path
                if name == "pipe" { #expect(mkfifo(path, 0o600) == 0) }
                let odd = AuditHeadFile(path: path)
                #expect(throws: ConfigurationFault.self, "\(name)") { try odd.append(first, following: nil) }
                #expect(throws: ConfigurationFault.self, "\(name)") { try odd.check() }
            }
        }

        @Test("a line reads back, and one with another value, range or form is none")
        func line() throws {
            let head = AuditHead(
                after: 1 << 60,
                position: 1 << 61,
                count: 1000,
                oldest: .now,
                digest: [UInt8](repeating: 1, count: 32),
                previous: [UInt8](repeating: 2, count: 32)
            )
            let text = String(decoding: head.line, as: UTF8.self)
            #expect(text.hasSuffix("}\n") && text.utf8.count < AuditHead.mostLineBytes)
            #expect(AuditHead(line: head.line) == head)
            for (part, other) in [
                ("\"count\":1000", "\"count\":1001"), ("\"count\":1000", "\"count\":0"),
                ("\"count\":1000", "\"count\":1"),
                ("\"\(1 << 60)\"", "\"0\""), ("\"\(1 << 60)\"", "\"-1\""), ("\"\(1 << 60)\"", "\(1 << 60)"),
                ("0202", "0203"), ("0101", "01"), ("0101", "zz01"), ("{", "[{"), ("\"oldest\"", "\"older\""),
            ] {
                let changed = text.replacing(part, with: other, maxReplacements: 1)
                #expect(changed != text)
                #expect(AuditHead(line: Array(changed.utf8)) == nil, "\(changed)")
            }
            #expect(AuditHead(line: [UInt8](repeating: UInt8(ascii: " "), count: 1000) + head.line) == nil)
        }
    }
}
