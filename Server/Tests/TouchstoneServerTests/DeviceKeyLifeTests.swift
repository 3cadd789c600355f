import Foundation
import NIOHTTP1
import StoreTestKit
import Testing
import WebAuthnModel
import WebAuthnTestKit

@testable import TouchstoneServer

extension ServerTests {
    @Suite("The life of a device's key at the server")
    struct DeviceKeyLifeTests {
        /// A user with the key of a device.
        private static func withDevice(on server: TestServer) async throws -> (TestUser, id: String) {
            let user = try await TestUser.signedIn(on: server)
            let answer = try await user.register("device")
            #expect(answer.status == 201, "\(answer.text)")
            return (user, Base64URL.encode(user.authenticator.credentialId))
        }

        private static func credential(_ user: TestUser, _ id: String) async throws -> Answer {
            try await user.call(.GET, "/v1/credentials/\(id)")
        }

        @Test("a device reports the end of its key without a session; the list and the audit say why")
        func report() async throws {
            try await TestServer.with { server in
                let (user, id) = try await Self.withDevice(on: server)
                let path = "/v1/credentials/\(id)/end"
                func report(
                    _ reason: JSONValue = "invalidated",
                    key: SoftProofKey?,
                    dpop: String? = nil,
                    at other: String? = nil
                ) async throws -> Answer {
                    try await server.call(.POST, other ?? path, ["reason": reason], dpop: dpop, key: key)
                }
                // Without a proof, by another key, for another request, of an unknown key, for an unknown reason.
                let bare = try await report(key: nil)
                #expect(bare.status == 400 && bare.code == "invalid_dpop_proof", "\(bare.text)")
                let other = try await report(key: SoftProofKey())
                #expect(other.status == 404 && other.code == "not_found", "\(other.text)")
                let key = try #require(user.key)
                let elsewhere = try await key.freshProof(server, "/v1/login")
                #expect(try await report(key: nil, dpop: elsewhere).code == "invalid_dpop_proof")
                let unknown = try await report(key: key, at: "/v1/credentials/AAAA/end")
                #expect(unknown.status == 404 && unknown.code == "not_found")
                for reason: JSONValue in ["administrator", "cloned_counter", "", .null, 1] {
                    let refused = try await report(reason, key: key)
                    #expect(refused.status == 400 && refused.code == "invalid_request", "\(reason)")
                }
                #expect(try await Self.credential(user, id)["suspended"]?.bool == false)

                let proof = try await key.freshProof(server, path)
                #expect(try await report(key: nil, dpop: proof).status == 204)
                #expect(try await report(key: nil, dpop: proof).code == "invalid_dpop_proof")
                #expect(try await report("deleted", key: key).status == 204)
                #expect(try await Self.credential(user, id)["suspension"]?.string == "invalidated")
                let audit = try await server.admin(.GET, "/users/\(user.id)/audit")["records"]?.array ?? []
                let ends = audit.filter { $0["event"]?.string == "credential_suspended" }
                #expect(ends.count == 1 && ends.first?["reason"]?.string == "invalidated")
                let refused = try await user.logInByPasskey(named: false)
                #expect(refused.status == 403 && refused.code == "credential_suspended", "\(refused.text)")
                // The session is the password's, and goes on; so does a passkey.
                #expect(try await user.call(.GET, "/v1/me").status == 200)
            }
        }

        @Test("a passkey has no device that could report its end")
        func passkey() async throws {
            try await TestServer.with { server in
                let user = try await TestUser.withPasskey(on: server)
                let id = Base64URL.encode(user.authenticator.credentialId)
                let answer = try await server.call(
                    .POST,
                    "/v1/credentials/\(id)/end",
                    ["reason": "deleted"],
                    key: user.key
                )
                #expect(answer.status == 404)
                #expect(try await user.logInByPasskey().status == 200)
            }
        }

        @Test("without the setting no key has an end")
        func without() async throws {
            try await TestServer.with { server in
                let (user, id) = try await Self.withDevice(on: server)
                #expect(try await Self.credential(user, id)["acceptedUntil"] == nil)
                #expect(try await user.logInByPasskey()["keyAcceptedUntil"] == nil)
            }
        }

        @Test(
            "a device's key is accepted for the time that is set: renewed in its last tenth, refused after it"
        )
        func term() async throws {
            try await TestServer.inDirectory { directory in
                var settings = try TestServer.configuration(directory)
                settings.deviceKeyLifetime = 30
                var token = ""
                var known: (TestUser, id: String)?
                var passkeys: TestUser?
                try await TestServer.with(settings) { server in
                    token = server.adminToken
                    let made = try await Self.withDevice(on: server)
                    known = made
                    passkeys = try await TestUser.withPasskey(on: server, "berta")
                }
                let (device, id) = try #require(known)
                let day: Int64 = 86_400
                // The age of all keys in days, whether a password sign-in with the device's key offers a successor, and the refusal.
                for (count, age, isDue, refusal) in [
                    (10, 0, false, nil), (20, 26, false, nil), (30, 28, true, nil),
                    (40, 31, true, "credential_expired"),
                ] as [(UInt32, Int64, Bool, String?)] {
                    let born = Int64(Date().timeIntervalSince1970) - age * day
                    try SQLiteFile.run(
                        "UPDATE credentials SET created_at = \(born * 1000)",
                        on: settings.databaseAddress
                    )
                    try await TestServer.with(settings, adminToken: token) { server in
                        func here(_ user: TestUser) -> TestUser {
                            var copy = TestUser(server: server, id: user.id, name: user.name)
                            copy.authenticator = user.authenticator
                            copy.key = user.key
                            return copy
                        }
                        var user = here(device)
                        let byPassword = try await user.logIn()
                        #expect(byPassword["offerDeviceLogin"]?.bool == isDue, "\(age)")
                        try user.take(byPassword)
                        let listed = try await Self.credential(user, id)
                        #expect(listed["acceptedUntil"]?.integer == born + 30 * day)
                        #expect(listed["renewFrom"]?.integer == born + 27 * day)
                        let answer = try await user.logInByPasskey(signCount: count)
                        #expect(answer.code == refusal, "\(answer.text)")
                        #expect(answer.status == (refusal == nil ? 200 : 403))
                        if refusal == nil {
                            #expect(answer["keyAcceptedUntil"]?.integer == born + 30 * day)
                            #expect(answer["keyRenewFrom"]?.integer == born + 27 * day)
                        } else {
                            let audit = try await server.admin(.GET, "/users/\(user.id)/audit").text
                            #expect(audit.contains("credential_expired"))
                        }
                        // Neither authenticates again nor confirms; what another credential may confirm stays.
                        let made = try await server.call(
                            .POST,
                            "/v1/transactions",
                            ["type": "payment", "details": ["amount": "1"], "username": .string(user.name)],
                            token: TestServer.serviceSecret
                        )
                        let transaction = try #require(made["id"]?.string, "\(made.text)")
                        let shown = try await user.call(.GET, "/v1/transactions/\(transaction)")
                        let challenge = try #require(shown["publicKey"]?["challenge"]?.bytes)
                        let confirmed = try await user.call(
                            .POST,
                            "/v1/transactions/\(transaction)/approval",
                            ["credential": try user.assertion(challenge, signCount: count + 1)]
                        )
                        #expect(confirmed.code == refusal, "\(confirmed.text)")
                        let after = try await user.call(.GET, "/v1/transactions/\(transaction)")
                        #expect(after["status"]?.string == (refusal == nil ? "approved" : "pending"))
                        // People's passkeys have no end.
                        let passkey = try await here(try #require(passkeys)).logInByPasskey(
                            signCount: count
                        )
                        #expect(passkey.status == 200 && passkey["keyAcceptedUntil"] == nil)
                    }
                }
            }
        }
    }
}
