import Foundation
import HTTPTypes
import NIOHTTP1
import Testing
import WebAuthnModel

@testable import TouchstoneServer

extension ServerTests {
    /// The cells: each setting; a quote of a state on the list and of another one, none, one for an earlier nonce, one by another
    /// chip, one of other registers, another statement, an altered one; the list changed.
    @Suite("The boot state of a machine whose chip is certified")
    struct BootStateTests {
        private static let known = [UInt8](repeating: 0xA1, count: 32)
        private static let other = [UInt8](repeating: 0xB2, count: 32)

        /// Settings with a list that has ``known``, in lower and upper case, with comments.
        private static func list(_ configuration: inout ServerConfiguration) throws {
            configuration.endorsement = .any
            configuration.bootState = .list
            let path = "\(configuration.dataDirectory)/states"
            try write([known], to: path)
            configuration.bootStates = path
        }

        private static func write(_ states: [[UInt8]], to path: String) throws {
            let lines = states.map { "\($0.hexadecimal.uppercased())  # laptops, firmware 1.2\n" }
            try ("# accepted\n\n" + lines.joined()).write(toFile: path, atomically: true, encoding: .utf8)
        }

        private func begin(_ user: TestUser, _ chip: SoftChip) async throws -> Answer {
            let answer = try await user.call(
                .POST,
                "/v1/attestation/ak",
                [
                    "ekPublic": JSONValue(base64URL: chip.endorsementArea),
                    "akPublic": JSONValue(base64URL: chip.attestationArea()),
                ]
            )
            #expect(answer.status == 201, "\(answer.text)")
            return answer
        }

        /// Brings the secret back, with a quote or without.
        private func complete(
            _ user: TestUser,
            _ chip: SoftChip,
            _ begun: Answer,
            _ quote: (statement: [UInt8], signature: [UInt8])?
        ) async throws -> Answer {
            let secret = try chip.activate(
                try #require(begun["credentialBlob"]?.bytes),
                try #require(begun["encryptedSecret"]?.bytes),
                name: SoftChip.name(chip.attestationArea())
            )
            return try await user.call(
                .POST,
                "/v1/attestation/ak/\(begun["id"]?.string ?? "")",
                JSONValue(members: [
                    "secret": JSONValue(base64URL: try #require(secret)),
                    "quote": quote.map { JSONValue(base64URL: $0.statement) },
                    "quoteSignature": quote.map { JSONValue(base64URL: $0.signature) },
                ])
            )
        }

        private func certified(_ user: TestUser, _ chip: SoftChip, _ state: [UInt8]?) async throws -> Answer {
            let begun = try await begin(user, chip)
            let nonce = begun["quoteNonce"]?.bytes
            let quote = try state.map { try chip.quote(try #require(nonce), digest: $0) }
            return try await complete(user, chip, begun, quote)
        }

        /// The details of the account's last certified key, in the audit log.
        private func details(_ user: TestUser, _ server: TestServer) async throws -> String {
            let id = try #require(try await user.call(.GET, "/v1/me")["id"]?.string)
            let audit = try await server.admin(.GET, "/users/\(id)/audit?count=1000")
            let records = (audit["records"]?.array ?? []).filter {
                $0["event"]?.string == "attestation_key_certified"
            }
            let last = records.max { ($0["sequence"]?.integer ?? 0) < ($1["sequence"]?.integer ?? 0) }
            return try #require(last?["details"]?.string)
        }

        @Test("by default no quote is asked for, and an older client goes on")
        func none() async throws {
            try await TestServer.with {
                $0.endorsement = .any
            } _: { server in
                let user = try await TestUser.signedIn(on: server)
                let chip = SoftChip()
                let begun = try await begin(user, chip)
                #expect(begun["quoteNonce"] == nil)
                #expect(try await complete(user, chip, begun, nil).status == 200)
                // What a client sends unasked says nothing.
                let again = try await begin(user, chip)
                let quote = try SoftChip().quote([1], digest: Self.other)
                #expect(try await complete(user, chip, again, quote).status == 200)
            }
        }

        @Test("record takes what a client can quote, and the audit log has it; a wrong quote is refused")
        func record() async throws {
            try await TestServer.with {
                $0.endorsement = .any
                $0.bootState = .record
            } _: { server in
                let user = try await TestUser.signedIn(on: server)
                let chip = SoftChip()
                #expect(try await certified(user, chip, nil).status == 200)
                #expect(try await !details(user, server).contains("bootState"))
                #expect(try await certified(user, chip, Self.other).status == 200)
                let state = "\"bootState\":\"\(Self.other.hexadecimal)\""
                #expect(try await details(user, server).contains(state))
                let begun = try await begin(user, chip)
                let forged = try await complete(user, chip, begun, try chip.quote([1], digest: Self.other))
                #expect(forged.status == 422 && forged.code == "attestation_rejected")
            }
        }

        @Test("only a state on the list is certified, and the list is read again")
        func list() async throws {
            try await TestServer.with(Self.list) { server in
                let user = try await TestUser.signedIn(on: server)
                let chip = SoftChip()
                let good = try await certified(user, chip, Self.known)
                #expect(good.status == 200 && good["x5c"]?.array?.count == 1, "\(good.text)")
                #expect(try await details(user, server).contains(Self.known.hexadecimal))
                let bad = try await certified(user, chip, Self.other)
                #expect(bad.status == 422 && bad.code == "boot_state_untrusted", "\(bad.text)")
                #expect(bad.text.contains(Self.other.hexadecimal))
                let missing = try await certified(user, chip, nil)
                #expect(missing.status == 422 && missing.code == "boot_state_untrusted")

                let configuration = server.configuration
                try Self.write([Self.other], to: try #require(configuration.bootStates))
                server.program.reload { () throws(ConfigurationFault) in configuration }
                #expect(try await certified(user, chip, Self.other).status == 200)
                #expect(try await certified(user, chip, Self.known).code == "boot_state_untrusted")
            }
        }

        @Test("an older quote, another chip's, one of other registers and an altered one are rejected")
        func forged() async throws {
            try await TestServer.with(Self.list) { server in
                let user = try await TestUser.signedIn(on: server)
                let chip = SoftChip()
                let first = try await begin(user, chip)
                let old = try chip.quote(try #require(first["quoteNonce"]?.bytes), digest: Self.known)
                #expect(try await complete(user, chip, first, old).status == 200)
                // Its activation has ended, and the next one has another nonce.
                #expect(try await complete(user, chip, first, old).status == 410)
                func rejected(
                    _ name: Comment,
                    _ make: ([UInt8]) throws -> (statement: [UInt8], signature: [UInt8])
                ) async throws {
                    let begun = try await begin(user, chip)
                    let nonce = try #require(begun["quoteNonce"]?.bytes)
                    let answer = try await complete(user, chip, begun, try make(nonce))
                    #expect(answer.status == 422 && answer.code == "attestation_rejected", name)
                    // A refusal ends the activation, too.
                    let good = try chip.quote(nonce, digest: Self.known)
                    #expect(try await complete(user, chip, begun, good).status == 410, name)
                }
                try await rejected("an older quote") { _ in old }
                try await rejected("another chip") { try SoftChip().quote($0, digest: Self.known) }
                try await rejected("no register of SHA-256") {
                    try chip.quote($0, digest: Self.known, selection: [0, 0, 0, 1, 0, 0x0B, 3, 0, 0, 0])
                }
                try await rejected("fewer registers") {
                    try chip.quote($0, digest: Self.known, selection: [0, 0, 0, 1, 0, 0x0B, 3, 0x0F, 0, 0])
                }
                try await rejected("SHA-1") {
                    try chip.quote($0, digest: Self.known, selection: [0, 0, 0, 1, 0, 0x04, 3, 0xFF, 0, 0])
                }
                try await rejected("another statement") {
                    try chip.quote($0, digest: Self.known, type: 0x8017)
                }
                try await rejected("altered") {
                    var quote = try chip.quote($0, digest: Self.other)
                    quote.statement.replaceSubrange((quote.statement.count - 32)..., with: Self.known)
                    return quote
                }
                try await rejected("no signature") { (try chip.quote($0, digest: Self.known).statement, [0]) }
            }
        }

        @Test("settings that do not go together, and a list with another line, are refused")
        func settings() async throws {
            try await TestServer.inDirectory { directory in
                var configuration = try TestServer.configuration(directory)
                configuration.bootState = .list
                let fault = #expect(throws: ConfigurationFault.self) { try configuration.checkTogether() }
                #expect(fault?.reason == "boot-state = list needs boot-states")
                configuration.bootStates = "\(directory)/states"
                #expect(throws: ConfigurationFault.self) { try BootStatePolicy(configuration) }
                try "a1\n".write(toFile: "\(directory)/states", atomically: true, encoding: .utf8)
                let line = #expect(throws: ConfigurationFault.self) { try BootStatePolicy(configuration) }
                #expect(line?.place.hasSuffix("/states, line 1") == true)
                try Self.write([], to: "\(directory)/states")
                #expect(throws: Never.self) { try BootStatePolicy(configuration) }
            }
        }
    }
}
