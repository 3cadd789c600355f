import AccountStore
import Foundation
import NIOHTTP1
import StoreTestKit
import Testing
import WebAuthnModel

@testable import TouchstoneServer

extension ServerTests {
    @Suite("verify-audit")
    struct VerifyAuditTests {
        /// Removes the last event of each user; the store's own chains have shorter ids.
        private static let lastOfUsers = """
            DELETE FROM audit WHERE length(chain) = 32
                AND sequence = (SELECT max(sequence) FROM audit WHERE length(chain) = 32)
            """

        @Test(
            "finds a whole log while the server serves, and with its head that the end is missing",
            arguments: ServerDatabase.allCases
        )
        func end(_ database: ServerDatabase) async throws {
            try await AuditedServer.with(on: database) { audited in
                let alone = try await audited.verify()
                #expect(alone.hasPrefix("the audit log is whole: events: "), "\(alone)")
                #expect(alone.contains("only --head"), "\(alone)")
                let first = try #require(try await audited.append())
                _ = try await TestUser.signedIn(on: audited.server, "eve")
                let last = try #require(try await audited.append())
                #expect(last.previous == first.value)
                // Nothing happened since.
                #expect(try await audited.append() == last)
                #expect(try audited.lines().count == 2)
                _ = try await TestUser.signedIn(on: audited.server, "bob")

                let path = audited.file.path
                #expect(
                    try await audited.verify(head: path).contains(
                        "; heads that agree: 2, positions after 0 up to"
                    )
                )
                for head in [first, last] {
                    let digits = head.value.hexadecimal
                    for text in [digits, digits.uppercased()] {
                        let found = try await audited.verify(head: text) { $0.auditHeadFile = path }
                        #expect(found.contains("heads that agree: 2"), "\(found)")
                    }
                }
                let unset = await #expect(throws: ConfigurationFault.self) {
                    try await audited.verify(head: last.value.hexadecimal)
                }
                #expect(unset?.description.contains("audit-head-file, which is not set") == true)
                let foreign = await #expect(throws: AuditTampering.self) {
                    try await audited.verify(head: first.digest.hexadecimal) { $0.auditHeadFile = path }
                }
                #expect(foreign?.description.contains("is not in \(path)") == true)

                try audited.change(Self.lastOfUsers)
                #expect(try await audited.verify().contains("is whole"))
                let cut = await #expect(throws: AuditTampering.self) { try await audited.verify(head: path) }
                #expect(
                    cut?.description.contains("there were \(first.count), there are \(first.count - 1)")
                        == true,
                    "\(cut as Any)"
                )
            }
        }

        @Test(
            "names the account and the position of the first event that is not as it was",
            arguments: ServerDatabase.allCases
        )
        func place(_ database: ServerDatabase) async throws {
            try await AuditedServer.with(on: database) { audited in
                let user = try #require(try await audited.server.admin(.GET, "/users")["users"]?.array?.first)
                let id = try #require(user["id"]?.string)
                let second = try await audited.server.admin(.GET, "/users/\(id)/audit?after=1&count=1")
                let position = try #require(second["records"]?.array?.first?["position"]?.string)
                try audited.change("DELETE FROM audit WHERE length(chain) = 32 AND sequence = 1")
                #expect(try await audited.verify().contains("is whole"))
                let beginning = await #expect(throws: AuditTampering.self) {
                    try await audited.verify { $0.auditRetention = 0 }
                }
                #expect(beginning?.description.contains("events before event 2 of account \(id)") == true)
                try audited.change("UPDATE audit SET reason = 'x' WHERE length(chain) = 32 AND sequence = 2")
                let changed = await #expect(throws: AuditTampering.self) { try await audited.verify() }
                #expect(
                    changed?.description
                        == "the audit log was changed: event 2 of account \(id) (position \(position)) is not as it was written"
                )
            }
        }

        @Test("a file of heads whose lines were changed, removed or added is found")
        func lines() async throws {
            try await AuditedServer.with(on: .sqlite) { audited in
                for name in ["eve", "bob"] {
                    try await audited.append()
                    _ = try await TestUser.signedIn(on: audited.server, name)
                }
                try await audited.append()
                let path = audited.file.path
                let lines = try audited.lines()
                #expect(lines.count == 3)
                // A line that a loss of power cut off is passed over, and so is one that is too long to be one.
                for other in ["{\"after\":\"0\"", String(repeating: "x", count: 5000), "", "null"] {
                    try audited.write([lines[0], other, lines[1], lines[2], other])
                    #expect(try await audited.verify(head: path).contains("heads that agree: 3"))
                }
                // The beginning of a file that was rotated.
                try audited.write(Array(lines.dropFirst()))
                #expect(try await audited.verify(head: path).contains("heads that agree: 2"))
                let changed = lines[1].replacing(/"count":\d+/, with: "\"count\":999")
                for wrong in [
                    [lines[0], lines[2]], [lines[1], lines[0], lines[2]], [lines[0], changed, lines[2]],
                    lines + [lines[2]],
                ] {
                    try audited.write(wrong)
                    let fault = await #expect(throws: AuditTampering.self) {
                        try await audited.verify(head: path)
                    }
                    #expect(fault?.description.contains("does not follow the head before") == true)
                }
                for nothing in [[], ["no head"]] {
                    try audited.write(nothing)
                    await #expect(throws: ConfigurationFault.self) { try await audited.verify(head: path) }
                }
                await #expect(throws: ConfigurationFault.self) {
                    try await audited.verify(head: path + ".none")
                }
            }
        }

        @Test("events that have expired are not compared with their heads")
        func expired() async throws {
            try await AuditedServer.with(on: .sqlite) { audited in
                try await audited.append()
                try audited.change("DELETE FROM audit WHERE length(chain) = 32 AND sequence = 1")
                let store = audited.server.program.store
                var configuration = audited.server.configuration
                configuration.auditRetention = 1
                func compare(after seconds: Int) async throws -> String {
                    var comparison = try HeadComparison(audited.file.path, configuration)
                    try await comparison.compare(store, now: .now + .seconds(seconds))
                    return comparison.text
                }
                await #expect(throws: AuditTampering.self) { try await compare(after: 3000) }
                #expect(
                    try await compare(after: 3700).hasPrefix("heads that agree: 0, with expired events: 1")
                )
                configuration.auditRetention = 0
                await #expect(throws: AuditTampering.self) { try await compare(after: 3700) }
            }
        }

        @Test("the program's exit status and output say what was found")
        func program() async throws {
            try await TestServer.inDirectory { directory in
                let database = "\(directory)/accounts.sqlite"
                func run(_ arguments: String...) async throws -> (status: Int32, text: String) {
                    let environment = [
                        "TOUCHSTONE_SERVER_DATABASE": database, "TOUCHSTONE_SERVER_DATA_DIRECTORY": directory,
                    ]
                    let process = try BuiltProgram(directory, ["verify-audit"] + arguments, environment)
                    let status = await process.status()
                    return (status, try await process.output(until: nil))
                }
                let away = try await run()
                #expect(away.status == 69 && away.text.contains("does not exist"), "\(away)")
                #expect(!FileManager.default.fileExists(atPath: database))
                var configuration = ServerConfiguration(dataDirectory: directory)
                configuration.database = database
                _ = try ServerProgram.migrate(configuration)
                let empty = try await run()
                #expect(empty.status == 0 && empty.text.contains("events: 0, chains: 0"), "\(empty)")
                #expect(try await run("--head", "\(directory)/none").status == 78)
                #expect(try await run("--nothing").status == 64)
                try await TestServer.with(try TestServer.configuration(directory)) { server in
                    _ = try await TestUser.signedIn(on: server)
                    #expect(try await run().status == 0)
                    try SQLiteFile.run("UPDATE audit SET address = 'x' WHERE sequence = 2", on: database)
                    let changed = try await run()
                    #expect(changed.status == 65, "\(changed)")
                    #expect(
                        changed.text.hasPrefix("touchstone-server: the audit log was changed: event 2 of ")
                    )
                    // No terminal, so no progress.
                    #expect(!changed.text.contains("\r"))
                }
            }
        }
    }
}
