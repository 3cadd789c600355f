import AccountStore
import Crypto
import Foundation
import HTTPTypes
import NIOHTTP1
import RelyingParty
import Testing
import WebAuthn
import WebAuthnModel
import WebAuthnTestKit

@testable import TouchstoneServer

extension ServerTests {
    @Suite("Transactions")
    struct TransactionTests {
        private static let details: JSONValue = ["payee": "Dora", "amount": "12.30", "currency": "EUR"]

        private func create(_ user: TestUser) async throws -> Answer {
            try await user.server.call(
                .POST,
                "/v1/transactions",
                [
                    "type": "payment", "details": Self.details, "expiresIn": 300,
                    "username": .string(user.name),
                ],
                token: TestServer.serviceSecret
            )
        }

        @Test("the approval is a signature over the details, and a third party can verify it")
        func approval() async throws {
            try await TestServer.with { server in
                let user = try await TestUser.withPasskey(on: server)
                let made = try await create(user)
                #expect(made.status == 201, "\(made.text)")
                let id = try #require(made["id"]?.string)
                #expect(made.headers.first(name: "Location") == "/v1/transactions/\(id)")
                let challenge = try #require(made["publicKey"]?["challenge"]?.bytes)
                // An independent client recomputes the challenge from the details that it shows.
                let nonce = try #require(made["nonce"]?.bytes)
                let shown = try #require(made["details"]?.object)
                #expect(try TransactionChallenge.challenge(details: shown, nonce: nonce) == challenge)
                let approved = try await user.call(
                    .POST,
                    "/v1/transactions/\(id)/approval",
                    ["credential": try user.assertion(challenge)]
                )
                #expect(approved.status == 200, "\(approved.text)")
                #expect(approved["status"]?.string == "approved")
                let receipt = approved["receipt"]
                #expect(
                    receipt?["detailsHash"]?.bytes
                        == Array(SHA256.hash(data: try CanonicalJSON.encode(.object(shown))))
                )
                let evidence = try await server.call(
                    .GET,
                    "/v1/transactions/\(id)/evidence",
                    token: TestServer.serviceSecret
                )
                #expect(evidence.status == 200)
                // The evidence can be verified without the server.
                let data = try #require(evidence["authenticatorData"]?.bytes)
                let clientData = try #require(evidence["clientDataJSON"]?.bytes)
                let signature = try P256.Signing.ECDSASignature(
                    derRepresentation: try #require(evidence["signature"]?.bytes)
                )
                #expect(
                    user.authenticator.key.publicKey.isValidSignature(
                        signature,
                        for: data + Array(SHA256.hash(data: clientData))
                    )
                )
                #expect(try CollectedClientData(parsing: clientData).challenge == challenge)
                #expect(evidence["publicKey"]?.bytes == user.authenticator.publicKey.encoded)
                // The transaction is decided now.
                let again = try await user.call(
                    .POST,
                    "/v1/transactions/\(id)/approval",
                    ["credential": try user.assertion(challenge, signCount: 3)]
                )
                #expect(again.status == 409 && again.code == "transaction_not_pending")
                #expect(try await user.call(.POST, "/v1/transactions/\(id)/rejection").status == 409)
            }
        }

        @Test("a transaction can be rejected, fail and expire, and another user cannot see or decide it")
        func others() async throws {
            try await TestServer.with { server in
                let user = try await TestUser.withPasskey(on: server)
                let stranger = try await TestUser.withPasskey(on: server, "berta")
                let first = try await create(user)["id"]?.string ?? ""
                for answer in [
                    try await stranger.call(.GET, "/v1/transactions/\(first)"),
                    try await stranger.call(.POST, "/v1/transactions/\(first)/rejection"),
                ] { #expect(answer.status == 404) }
                #expect(try await user.call(.GET, "/v1/transactions/\(first)")["status"]?.string == "pending")
                let rejected = try await user.call(.POST, "/v1/transactions/\(first)/rejection")
                #expect(rejected["status"]?.string == "rejected")
                let none = try await server.call(
                    .GET,
                    "/v1/transactions/\(first)/evidence",
                    token: TestServer.serviceSecret
                )
                #expect(none.status == 404)
                // A signature over another transaction approves nothing.
                let second = try await create(user)
                let other = try await create(user)
                let id = second["id"]?.string ?? ""
                let failed = try await user.call(
                    .POST,
                    "/v1/transactions/\(id)/approval",
                    ["credential": try user.assertion(try #require(other["publicKey"]?["challenge"]?.bytes))]
                )
                #expect(failed.status == 401 && failed.code == "authentication_failed")
                #expect(try await user.call(.GET, "/v1/transactions/\(id)")["status"]?.string == "failed")
                // Only services get the evidence.
                #expect(try await user.call(.GET, "/v1/transactions/\(id)/evidence").status == 401)
                // Created by the user.
                let own = try await user.call(
                    .POST,
                    "/v1/transactions",
                    ["type": "consent", "details": ["scope": "all"]]
                )
                #expect(own.status == 201)
                for body: JSONValue in [
                    ["type": "x", "details": ["amount": .number(1.5)]], ["type": "x", "details": []],
                    ["type": "x"], ["type": 5, "details": [:]],
                    ["type": "x", "details": [:], "expiresIn": 5],
                ] {
                    let answer = try await user.call(.POST, "/v1/transactions", body)
                    #expect(answer.status == 400 && answer.code == "invalid_request", "\(body.text)")
                    #expect(answer["errors"]?.array?.isEmpty == false)
                }
                let nobody = try await server.call(
                    .POST,
                    "/v1/transactions",
                    ["type": "x", "details": [:], "username": "nobody"],
                    token: TestServer.serviceSecret
                )
                #expect(nobody.status == 404)
            }
        }

        @Test(
            "of an approval sent several times at once one counts, and the passkey signs on",
            arguments: ServerDatabase.allCases,
            [2, 8]
        )
        func race(_ database: ServerDatabase, _ count: Int) async throws {
            try await TestServer.with(on: database) { server in
                let user = try await TestUser.withPasskey(on: server)
                for round in 1...(CaseSize.isFull ? 30 : 6) {
                    let made = try await create(user)
                    let id = made["id"]?.string ?? ""
                    let challenge = try #require(made["publicKey"]?["challenge"]?.bytes)
                    let body = try user.assertion(challenge, signCount: UInt32(10 * round))
                    let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                        for _ in 0..<count {
                            group.addTask {
                                try await user.call(
                                    .POST,
                                    "/v1/transactions/\(id)/approval",
                                    ["credential": body]
                                ).status
                            }
                        }
                        return try await group.reduce(into: []) { $0.append($1) }
                    }
                    #expect(statuses.filter { $0 == 200 }.count == 1, "\(statuses)")
                    #expect(statuses.filter { $0 == 409 }.count == count - 1, "\(statuses)")
                    #expect(
                        try await user.call(.GET, "/v1/transactions/\(id)")["status"]?.string == "approved"
                    )
                    let credentials = try await user.call(.GET, "/v1/credentials")["credentials"]?.array
                    #expect(credentials?.first?["suspended"]?.bool == false)
                }
                #expect(try await user.logInByPasskey(signCount: 1000).status == 200)
            }
        }
    }
}
