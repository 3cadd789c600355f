import AccountStore
import Foundation
import NIOHTTP1
import RelyingParty
import Testing
import WebAuthnModel

@testable import TouchstoneServer

extension ServerTests {
    @Suite("Self-registration")
    struct SelfRegistrationTests {
        private func register(
            _ server: TestServer,
            _ name: String,
            _ password: String = TestUser.password
        ) async throws -> Answer {
            try await server.call(
                .POST,
                "/v1/accounts",
                ["username": .string(name), "password": .string(password)]
            )
        }

        @Test("it is off unless it is set")
        func off() async throws {
            try await TestServer.with { server in
                let answer = try await register(server, "anna")
                #expect(answer.status == 403 && answer.code == "forbidden")
                #expect(try await server.admin(.GET, "/users")["users"] == [])
            }
            let environment = ["TOUCHSTONE_SERVER_SELF_REGISTRATION": "on"]
            #expect(
                try ServerConfiguration.read(file: nil, environment: environment).selfRegistration
            )
            #expect(try !ServerConfiguration.read(file: nil, environment: [:]).selfRegistration)
        }

        @Test(
            "somebody makes an account and signs in; a taken name is told only to a right request",
            arguments: ServerDatabase.allCases
        )
        func on(_ database: ServerDatabase) async throws {
            try await TestServer.with(on: database) {
                $0.selfRegistration = true
            } _: { server in
                let made = try await register(server, "Ａnna")
                #expect(made.status == 201 && made["username"] == "anna", "\(made.text)")
                let id = try #require(made["id"]?.string)
                let user = TestUser(server: server, id: id, name: "anna")
                #expect(try await user.logIn().status == 200)
                let audit = try await server.audit(of: id)
                #expect(audit.first == "user_created self_registration")
                for name in ["anna", "ANNA", "Ａnna"] {
                    let taken = try await register(server, name)
                    #expect(taken.status == 409 && taken.code == "username_taken", "\(name)")
                    #expect(taken["detail"] == nil)
                }
                // The password is checked first: this tells nothing.
                for name in ["anna", "free"] {
                    #expect(try await register(server, name, "short").code == "weak_password")
                }
                #expect(try await register(server, "a b").status == 400)
                // The other one's password is not changed by any of it.
                #expect(try await user.logIn().status == 200)
                #expect(try await server.admin(.GET, "/users")["users"]?.array?.count == 1)
            }
        }

        @Test("of eight at once with one name one is made", arguments: ServerDatabase.allCases)
        func concurrently(_ database: ServerDatabase) async throws {
            try await TestServer.with(on: database) {
                $0.selfRegistration = true
            } _: { server in
                let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                    for _ in 0..<8 { group.addTask { try await register(server, "anna").status } }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(statuses.count { $0 == 201 } == 1, "\(statuses)")
                #expect(statuses.count { $0 == 409 } == 7, "\(statuses)")
            }
        }

        @Test("an address may ask for ten names in an hour")
        func limit() async throws {
            try await TestServer.with {
                $0.selfRegistration = true
            } _: { server in
                for number in 1...10 {
                    let name = number % 2 == 0 ? "taken" : "user-\(number)"
                    let status = try await register(server, name).status
                    #expect(status == (number % 2 == 1 || number == 2 ? 201 : 409), "\(number)")
                }
                let answer = try await register(server, "one-more")
                #expect(answer.status == 429 && answer.headers.contains(name: "Retry-After"))
                #expect(try await server.admin(.GET, "/users")["users"]?.array?.count == 6)
            }
        }
    }
}
