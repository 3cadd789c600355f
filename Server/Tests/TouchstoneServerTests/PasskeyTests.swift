import AccountStore
import CBOR
import Foundation
import HTTPTypes
import NIOHTTP1
import RelyingParty
import Testing
import WebAuthnModel
import WebAuthnTestKit

@testable import TouchstoneServer

extension ServerTests {
    @Suite("Passkeys and device keys")
    struct PasskeyTests {
        @Test("a passkey signs in with and without a name, and the session records the method")
        func success() async throws {
            try await TestServer.with { server in
                let user = try await TestUser.withPasskey(on: server)
                for (count, named) in [(2, true), (3, false)] {
                    let answer = try await user.logInByPasskey(signCount: UInt32(count), named: named)
                    #expect(answer.status == 200, "\(answer.text)")
                    #expect(answer["acr"]?.string == "phr")
                    #expect(answer["amr"] == ["pop", "swk", "user"])
                }
                let list = try await user.call(.GET, "/v1/credentials")
                let credential = list["credentials"]?.array?.first
                #expect(credential?["signCount"]?.integer == 3)
                #expect(credential?["assurance"]?.string == "self")
                #expect(credential?["uvEvidence"]?.string == "flag")
                #expect(credential?["lastUsedAt"]?.integer ?? 0 > 0)
                #expect(list["rpId"]?.string == "localhost")
            }
        }

        @Test("the audit record has the device's known statements about a use, and no other members")
        func statement() async throws {
            try await TestServer.with { server in
                var user = try await TestUser.withPasskey(on: server)
                let stated: JSONValue = [
                    "level": "substantial", "facts": ["currentSet", "keyBound", "perUse"],
                    "method": "fingerprint", "hardware": "software",
                ]
                func details(_ member: JSONValue, signCount: UInt32) async throws -> String? {
                    user.authenticator.otherMembers = [("touchstone", member), ("else", "x")]
                    let answer = try await user.logInByPasskey(signCount: signCount)
                    #expect(answer.status == 200, "\(answer.text)")
                    let audit = try await server.admin(.GET, "/users/\(user.id)/audit?count=1000")
                    let logins = audit["records"]?.array?.filter {
                        $0["event"]?.string == "authn_login_success"
                    }
                    let login = try #require(logins?.last)
                    return login["details"]?.string
                }
                #expect(
                    try await details(stated, signCount: 2) == """
                        {"counter":2,"touchstone":{"facts":["currentSet","keyBound","perUse"],\
                        "hardware":"software",\
                        "level":"substantial","method":"fingerprint"}}
                        """
                )
                // A use without a prompt has no method; unknown members are dropped.
                #expect(
                    try await details(
                        ["level": "low", "facts": [], "hardware": "test", "more": "x"],
                        signCount: 3
                    ) == #"{"counter":3,"touchstone":{"facts":[],"hardware":"test","level":"low"}}"#
                )
                let wrong: [JSONValue] = [
                    "low", [], ["level": "low"], ["level": 3, "facts": [], "hardware": "test"],
                    ["level": "<b>", "facts": [], "hardware": "test"],
                    ["level": "low", "facts": ["a", 1], "hardware": "test"],
                    ["level": "low", "facts": .array(Array(repeating: "a", count: 17)), "hardware": "test"],
                    ["level": .string(String(repeating: "a", count: 33)), "facts": [], "hardware": "test"],
                    ["level": "low", "facts": [], "hardware": "test", "method": ["x"]],
                    ["level": "low", "facts": [], "hardware": "test", "enrolment": "AAAA"],
                    ["level": "low", "facts": [], "hardware": "test", "reader": "a name"],
                    ["level": "low", "facts": [], "hardware": "test", "reader": ["name": "a"]],
                    [
                        "level": "low", "facts": [], "hardware": "test",
                        "reader": ["name": "\u{1B}[2J", "grade": "strong"],
                    ],
                    [
                        "level": "low", "facts": [], "hardware": "test",
                        "reader": ["name": .string(String(repeating: "é", count: 129)), "grade": "weak"],
                    ],
                    [
                        "level": "low", "facts": [], "hardware": "test",
                        "tpm": ["manufacturer": "IFX", "model": "a\u{202E}b", "firmware": "1"],
                    ],
                    [
                        "level": "low", "facts": [], "hardware": "test",
                        "tpm": ["model": "a", "firmware": "1"],
                    ],
                ]
                for (number, member) in wrong.enumerated() {
                    #expect(try await details(member, signCount: UInt32(4 + number)) == nil, "\(member)")
                }
            }
        }

        @Test("the extension uvm gives the factor")
        func factors() async throws {
            try await TestServer.with { server in
                let user = try await TestUser.withPasskey(on: server)
                let begun = try await user.options([:])
                let uvm = CBORValue.map([
                    CBORPair(.text("uvm"), .array([.array([.unsigned(2), .unsigned(2), .unsigned(1)])]))
                ])
                let assertion = try user.assertion(
                    try #require(begun["publicKey"]?["challenge"]?.bytes),
                    extensions: uvm
                )
                let answer = try await server.call(
                    .POST,
                    "/v1/login",
                    ["ceremonyId": begun["ceremonyId"] ?? .null, "credential": assertion]
                )
                #expect(answer["amr"] == ["pop", "swk", "user", "fpt"], "\(answer.text)")
            }
        }

        @Test("a response is accepted once, also when many are sent at a time")
        func replay() async throws {
            try await TestServer.with { server in
                let user = try await TestUser.withPasskey(on: server)
                let body = try await user.passkeyBody()
                let answers = try await withThrowingTaskGroup(of: Answer.self) { group in
                    for _ in 0..<8 { group.addTask { try await server.call(.POST, "/v1/login", body) } }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(answers.filter { $0.status == 200 }.count == 1)
                #expect(answers.filter { $0.status == 410 && $0.code == "ceremony_expired" }.count == 7)
                // A registration is accepted once too.
                var other = user
                other.authenticator = TestUser.authenticator()
                let begun = try await other.call(.POST, "/v1/credentials/options", ["kind": "passkey"])
                let registration = try other.registration(begun)
                #expect(try await other.call(.POST, "/v1/credentials", registration).status == 201)
                let again = try await other.call(.POST, "/v1/credentials", registration)
                #expect(again.status == 410 && again.code == "ceremony_expired")
            }
        }

        @Test("every wrong response gets the same error and consumes its ceremony")
        func refusals() async throws {
            try await TestServer.with { server in
                let user = try await TestUser.withPasskey(on: server)
                var wrongOrigin = user
                wrongOrigin.authenticator.origin = "https://evil.example"
                var otherRelyingParty = user
                otherRelyingParty.authenticator.rpId = "evil.example"
                var unknown = user
                unknown.authenticator = TestUser.authenticator()
                func attempt(_ spoil: (Answer) throws -> JSONValue) async throws -> Answer {
                    let begun = try await user.options(["username": .string(user.name)])
                    let body: JSONValue = [
                        "ceremonyId": begun["ceremonyId"] ?? .null, "credential": try spoil(begun),
                    ]
                    let answer = try await server.call(.POST, "/v1/login", body)
                    #expect(try await server.call(.POST, "/v1/login", body).status == 410)
                    return answer
                }
                func challenge(_ begun: Answer) throws -> [UInt8] {
                    try #require(begun["publicKey"]?["challenge"]?.bytes)
                }
                let answers = [
                    try await attempt { try wrongOrigin.assertion(challenge($0)) },
                    try await attempt { try otherRelyingParty.assertion(challenge($0)) },
                    try await attempt { try unknown.assertion(challenge($0)) },
                    try await attempt { _ in try user.assertion([UInt8](repeating: 1, count: 32)) },
                    try await attempt { try user.assertion(challenge($0), flags: [.userPresent]) },
                ]
                for answer in answers {
                    #expect(answer.status == 401 && answer.code == "authentication_failed")
                    #expect(!answer.text.contains("evil"))
                }
                // The audit names the reason.
                let audit = try await server.admin(.GET, "/audit?count=1000").text
                #expect(audit.contains("wrongOrigin") && audit.contains("evil.example"))
                #expect(try await user.logInByPasskey().status == 200)
            }
        }

        @Test("a counter that did not increase suspends the credential and ends its sessions")
        func clone() async throws {
            try await TestServer.with { server in
                let user = try await TestUser.withPasskey(on: server)
                var session = user
                try session.take(try await user.logInByPasskey(signCount: 9))
                let cloned = try await user.logInByPasskey(signCount: 9)
                #expect(cloned.status == 401 && cloned.code == "authentication_failed")
                #expect(try await session.call(.GET, "/v1/me").status == 401)
                let later = try await user.logInByPasskey(signCount: 20, named: false)
                #expect(later.status == 403 && later.code == "credential_suspended", "\(later.text)")
                let list = try await user.call(.GET, "/v1/credentials")
                #expect(list["credentials"]?.array?.first?["suspension"]?.string == "cloned_counter")
                // An administrator may restore it.
                let id = Base64URL.encode(user.authenticator.credentialId)
                let path = "/users/\(user.id)/credentials/\(id)/restore"
                #expect(try await server.admin(.POST, path)["suspended"]?.bool == false)
                #expect(try await user.logInByPasskey(signCount: 30).status == 200)
            }
        }

        @Test("a removed device cannot sign in, and its tokens are invalid")
        func revoked() async throws {
            try await TestServer.with { server in
                let user = try await TestUser.withPasskey(on: server)
                var session = user
                try session.take(try await user.logInByPasskey())
                let id = Base64URL.encode(user.authenticator.credentialId)
                let renamed = try await user.call(.PATCH, "/v1/credentials/\(id)", ["label": "Laptop"])
                #expect(renamed["label"]?.string == "Laptop")
                #expect(try await user.call(.GET, "/v1/credentials/\(id)")["label"]?.string == "Laptop")
                let begun = try await user.passkeyBody(signCount: 5, named: false)
                #expect(try await user.call(.DELETE, "/v1/credentials/\(id)").status == 204)
                #expect(try await session.call(.GET, "/v1/me").status == 401)
                #expect(try await session.renew().status == 400)
                let late = try await server.call(.POST, "/v1/login", begun)
                #expect(late.status == 401 && late.code == "authentication_failed")
                #expect(try await user.call(.GET, "/v1/credentials/\(id)").status == 404)
                #expect(try await user.call(.DELETE, "/v1/credentials/\(id)").status == 404)
                #expect(try await user.call(.GET, "/v1/me").status == 200)
            }
        }

        @Test("a credential belongs to one account and is invisible to others")
        func others() async throws {
            try await TestServer.with { server in
                let anna = try await TestUser.withPasskey(on: server)
                var berta = try await TestUser.signedIn(on: server, "berta")
                berta.authenticator = anna.authenticator
                let taken = try await berta.register()
                #expect(taken.status == 409 && taken.code == "credential_exists", "\(taken.text)")
                let id = Base64URL.encode(anna.authenticator.credentialId)
                for answer in [
                    try await berta.call(.GET, "/v1/credentials/\(id)"),
                    try await berta.call(.PATCH, "/v1/credentials/\(id)", ["label": "mine"]),
                    try await berta.call(.DELETE, "/v1/credentials/\(id)"),
                ] { #expect(answer.status == 404 && answer.code == "not_found") }
                // Another session cannot complete a registration that it did not begin.
                let begun = try await anna.call(.POST, "/v1/credentials/options", ["kind": "passkey"])
                var fresh = anna
                fresh.authenticator = TestUser.authenticator()
                let body = try fresh.registration(begun)
                #expect(try await berta.call(.POST, "/v1/credentials", body).status == 410)
            }
        }

        @Test("a device that registers again supersedes its former key")
        func superseded() async throws {
            try await TestServer.with { server in
                var user = try await TestUser.signedIn(on: server)
                #expect(try await user.register("device").status == 201)
                user.authenticator = TestUser.authenticator()
                #expect(try await user.register("device").status == 201)
                let list = try await user.call(.GET, "/v1/credentials")["credentials"]?.array ?? []
                #expect(list.map { $0["suspension"]?.string } == ["superseded", nil])
            }
        }

        @Test("a refused registration names the failed step and does not echo the input")
        func registrationRefused() async throws {
            try await TestServer.with { server in
                var user = try await TestUser.signedIn(on: server)
                user.authenticator.origin = "https://evil.example"
                let origin = try await user.register()
                #expect(origin.status == 422 && origin.code == "attestation_rejected", "\(origin.text)")
                #expect(!origin.text.contains("evil"))
                user.authenticator = TestUser.authenticator()
                #expect(try await user.register(flags: [.userPresent]).status == 422)
            }
            // Where hardware is required, self attestation is not enough.
            try await TestServer.with {
                $0.deviceAttestation = .policy
            } _: { server in
                let user = try await TestUser.signedIn(on: server)
                let answer = try await user.register("device")
                #expect(answer.status == 422 && answer.code == "attestation_untrusted", "\(answer.text)")
            }
        }
    }
}
