import AccountStore
import NIOHTTP1
import Testing
import WebAuthnModel
import WebAuthnTestKit

@testable import TouchstoneServer

extension ServerTests {
    @Suite("What an authentication must be worth")
    struct AssuranceTests {
        // MARK: Login

        @Test(
            "a password signs in no more where a login must be worth more, and its owner has better",
            arguments: ServerDatabase.allCases
        )
        func password(_ database: ServerDatabase) async throws {
            try await TestServer.with(on: database) {
                $0.requiredAssuranceLogin = AssuranceDemand(.substantial)
            } _: { server in
                let user = try await TestUser.make(on: server)
                // Nothing better is there yet: the session is only for that.
                let first = try await user.logIn()
                #expect(first.status == 200 && first["task"]?.string == "set_up", "\(first.text)")
                #expect(first["offerDeviceLogin"]?.bool == true)
                var limited = user
                try limited.take(first)
                try await server.expectNothingBut(.setUp, token: limited.access)
                var without = user
                without.key = nil
                let unbound = try await without.logIn()
                #expect(unbound.status == 403 && unbound.code == "insufficient_assurance", "\(unbound.text)")
                #expect(try await limited.register().status == 201)
                #expect(try await limited.call(.GET, "/v1/me").status == 401, "it ended with that")

                for _ in 0..<6 {
                    let refused = try await user.logIn()
                    #expect(refused.status == 403 && refused.code == "insufficient_assurance")
                }
                let wrong = try await user.logIn("wrong")
                #expect(wrong.status == 401 && wrong.code == "authentication_failed", "\(wrong.text)")
                let signed = try await limited.logInByPasskey()
                #expect(signed.status == 200 && signed["task"] == nil, "\(signed.text)")
                let audit = try await server.audit(of: user.id)
                #expect(audit.contains("authn_login_fail insufficient_assurance"), "\(audit)")
            }
        }

        @Test("a high login is one by a key in a certified chip, and what it states can only lower it")
        func high() async throws {
            try await TestServer.with {
                $0.endorsement = .any
                $0.requiredAssuranceLogin = AssuranceDemand(.high, facts: ["currentSet"])
            } _: { server in
                var user = try await TestUser.make(on: server)
                try user.take(try await user.logIn())
                // A passkey without an attestation could never sign in.
                let passkey = try await user.register()
                #expect(passkey.status == 422 && passkey.code == "attestation_untrusted", "\(passkey.text)")
                let device = try await user.registerDevice(SoftChip())
                #expect(device.status == 201 && device["assurance"]?.string == "tpm", "\(device.text)")
                #expect(try await user.logInByPasskey(signCount: 2)["acr"]?.string == "phrh")
                let lower: [(Stated?, String)] = [
                    (Stated(level: "substantial"), "it is substantial"), (Stated(level: "low"), "it is low"),
                    (Stated(level: "test"), "it is low"), (Stated(level: "highest"), "it is low"),
                    (Stated(facts: ["keyBound"]), "without currentSet"), (nil, "without currentSet"),
                ]
                for (number, (stated, shortfall)) in lower.enumerated() {
                    user.state(stated)
                    let refused = try await user.logInByPasskey(signCount: UInt32(3 + number))
                    #expect(
                        refused.status == 403 && refused.code == "insufficient_assurance",
                        "\(refused.text)"
                    )
                    #expect(refused["detail"]?.string?.contains(shortfall) == true, "\(refused.text)")
                }
                user.state(Stated())
                #expect(try await user.logInByPasskey(signCount: 9).status == 200)
            }
        }

        @Test("what states a level beyond what is proven is worth what is proven")
        func overstated() async throws {
            try await TestServer.with(
                { $0.requiredAssuranceTransaction = AssuranceDemand(.high) },
                { server in
                    var user = try await TestUser.withPasskey(on: server)
                    user.state(Stated())
                    try user.take(try await user.logInByPasskey())
                    let made = try await user.call(
                        .POST,
                        "/v1/transactions",
                        ["type": "x", "details": [:]]
                    )
                    #expect(made.status == 403 && made.code == "forbidden", "\(made.text)")
                }
            )
        }

        // MARK: Step-up

        @Test(
            "credentials are changed only by a session that is worth enough, once the account has better",
            arguments: ServerDatabase.allCases
        )
        func changes(_ database: ServerDatabase) async throws {
            try await TestServer.with(on: database) {
                $0.requiredAssuranceStepUp = AssuranceDemand(.substantial)
            } _: { server in
                let user = try await TestUser.withPasskey(on: server)
                let begin: JSONValue = ["kind": "passkey"]
                let refused = try await user.call(.POST, "/v1/credentials/options", begin)
                #expect(refused.status == 401 && refused.code == "insufficient_user_authentication")
                #expect(refused["acr_values"]?.string == "phrh phr")
                let byPassword = try await user.call(
                    .POST,
                    "/v1/login/password",
                    [
                        "username": .string(user.name), "password": .string(TestUser.password),
                        "purpose": "reauth",
                    ]
                )
                #expect(byPassword.status == 403 && byPassword.code == "insufficient_assurance")
                let me = try await user.call(.GET, "/v1/me")
                #expect(me.status == 200 && me["stepUp"] == ["passkey"], "the session is as before")
                let begun = try await user.call(.POST, "/v1/login/options", ["purpose": "reauth"])
                let challenge = try #require(begun["publicKey"]?["challenge"]?.bytes, "\(begun.text)")
                let answer = try await user.call(
                    .POST,
                    "/v1/login",
                    ["ceremonyId": begun["ceremonyId"] ?? .null, "credential": try user.assertion(challenge)]
                )
                #expect(answer.status == 200, "\(answer.text)")
                var stepped = user
                try stepped.take(answer)
                #expect(try await stepped.call(.POST, "/v1/credentials/options", begin).status == 200)
                // A suspended credential cannot meet the demand, so the password counts again.
                let id = Base64URL.encode(user.authenticator.credentialId)
                _ = try await server.admin(.POST, "/users/\(user.id)/credentials/\(id)/suspend")
                var again = user
                try await again.signIn()
                #expect(try await again.call(.POST, "/v1/credentials/options", begin).status == 200)
            }
        }

        @Test("a sign-in that was worth less changes no credentials, though its key is in a chip")
        func weakSignIn() async throws {
            try await TestServer.with {
                $0.endorsement = .any
                $0.requiredAssuranceStepUp = AssuranceDemand(.high, facts: ["strongSensor"])
            } _: { server in
                var user = try await TestUser.signedIn(on: server)
                #expect(try await user.registerDevice(SoftChip()).status == 201)
                let begin: JSONValue = ["kind": "passkey"]
                for (count, stated, status) in [
                    (2, Stated(level: "substantial"), 401), (3, Stated(facts: ["passcodeUsed"]), 401),
                    (4, Stated(), 200),
                ] {
                    user.state(stated)
                    try user.take(try await user.logInByPasskey(signCount: UInt32(count)))
                    let answer = try await user.call(.POST, "/v1/credentials/options", begin)
                    #expect(answer.status == status, "\(answer.text)")
                }
            }
        }

        // MARK: Transactions

        @Test(
            "an approval that is not worth enough leaves the transaction pending, and a better one approves it",
            arguments: ServerDatabase.allCases
        )
        func transaction(_ database: ServerDatabase) async throws {
            try await TestServer.with(on: database) {
                $0.endorsement = .any
                $0.requiredAssuranceTransaction = AssuranceDemand(.high)
            } _: { server in
                var user = try await TestUser.withPasskey(on: server)
                let passkey = user.authenticator
                user.authenticator = TestUser.authenticator()
                #expect(try await user.registerDevice(SoftChip()).status == 201)
                let made = try await user.call(.POST, "/v1/transactions", ["type": "x", "details": [:]])
                let id = try #require(made["id"]?.string, "\(made.text)")
                let challenge = try #require(made["publicKey"]?["challenge"]?.bytes)
                let allowed = made["publicKey"]?["allowCredentials"]?.array?.compactMap { $0["id"]?.bytes }
                #expect(allowed == [user.authenticator.credentialId], "the passkey could not approve it")
                func approve(_ user: TestUser, _ count: UInt32) async throws -> Answer {
                    try await user.call(
                        .POST,
                        "/v1/transactions/\(id)/approval",
                        ["credential": try user.assertion(challenge, signCount: count)]
                    )
                }
                user.state(Stated(level: "substantial"))
                let refused = try await approve(user, 2)
                #expect(refused.status == 403 && refused.code == "insufficient_assurance", "\(refused.text)")
                #expect(
                    try await user.call(.GET, "/v1/transactions/\(id)")["status"]?.string == "pending"
                )
                user.state(Stated())
                let approved = try await approve(user, 3)
                #expect(
                    approved.status == 200 && approved["status"]?.string == "approved",
                    "\(approved.text)"
                )
                let audit = try await server.audit(of: user.id)
                #expect(audit.contains("transaction_failed insufficient_assurance"), "\(audit)")
                #expect(passkey.credentialId != user.authenticator.credentialId)
            }
        }

        // MARK: Offers

        /// A policy, and the protections of keys with which a device is offered.
        static let policies: [(AssuranceDemand, DeviceAttestation, [String?])] = [
            (.none, .any, [nil, "later", "hardware", "weakTPM", "separateAccount", "software", "test"]),
            (.none, .hardware, [nil, "later", "hardware", "weakTPM", "test"]),
            (.none, .policy, [nil, "later", "hardware", "weakTPM", "test"]),
            (
                AssuranceDemand(.substantial), .any,
                [nil, "later", "hardware", "weakTPM", "separateAccount", "software"]
            ),
            (AssuranceDemand(.high), .any, [nil, "later", "hardware"]),
            (
                AssuranceDemand(.substantial, facts: ["currentSet"]), .any,
                [nil, "later", "hardware", "weakTPM"]
            ),
        ]

        @Test(
            "no device is offered that the policy would refuse, and none gets as far as a prompt",
            arguments: policies
        )
        func offers(_ demand: AssuranceDemand, _ attestation: DeviceAttestation, _ accepted: [String?])
            async throws
        {
            try await TestServer.with {
                $0.requiredAssuranceLogin = demand
                $0.deviceAttestation = attestation
            } _: { server in
                var user = try await TestUser.make(on: server)
                for hardware in [
                    nil, "hardware", "weakTPM", "separateAccount", "software", "test", "later",
                ] {
                    let answer = try await server.call(
                        .POST,
                        "/v1/login/password",
                        JSONValue(members: [
                            "username": .string(user.name), "password": .string(TestUser.password),
                            "hardware": hardware.map { .string($0) },
                        ]),
                        key: user.key
                    )
                    let isAccepted = accepted.contains(hardware)
                    #expect(answer["offerDeviceLogin"]?.bool == isAccepted, "\(hardware ?? "nothing")")
                    try user.take(answer)
                    let begun = try await user.call(
                        .POST,
                        "/v1/credentials/options",
                        JSONValue(members: ["kind": "device", "hardware": hardware.map { .string($0) }])
                    )
                    #expect(begun.status == (isAccepted ? 200 : 422), "\(begun.text)")
                    #expect(isAccepted || begun.code == "attestation_untrusted")
                }
            }
        }

        // MARK: Settings

        @Test("a setting names a level and facts, and others are refused by name")
        func settings() throws {
            func read(_ name: String, _ value: String, _ more: [String: String] = [:]) throws
                -> ServerConfiguration
            {
                try ServerConfiguration.read(
                    file: nil,
                    environment: more.merging(["TOUCHSTONE_SERVER_REQUIRE_ASSURANCE_\(name)": value]) { $1 }
                )
            }
            let any = ["TOUCHSTONE_SERVER_ENDORSEMENT": "any"]
            #expect(try read("LOGIN", "substantial").requiredAssuranceLogin == AssuranceDemand(.substantial))
            #expect(
                try read("STEP_UP", "high, currentSet strongSensor", any).requiredAssuranceStepUp
                    == AssuranceDemand(.high, facts: ["currentSet", "strongSensor"])
            )
            let read3 = try read("TRANSACTION", "low")
            #expect(read3.requiredAssuranceTransaction == .none)
            #expect(read3.text(of: "require-assurance-transaction") == "low")
            for value in ["", "highest", "high certain", "currentSet", "low high"] {
                #expect(throws: ConfigurationFault.self, "\(value)") { try read("LOGIN", value, any) }
            }
            // Nobody could meet it.
            for value in ["high", "low currentSet"] {
                #expect(throws: ConfigurationFault.self, "\(value)") { try read("LOGIN", value) }
            }
        }
    }
}
