import AccountStore
import Foundation
import HTTPTypes
import NIOHTTP1
import Testing
import WebAuthnModel

@testable import TouchstoneServer

// Calls that let users in without a credential.

extension TestServer {
    /// Makes a link of an account, and returns its token.
    func link(
        _ id: String,
        _ body: JSONValue = ["kind": "enrolment"],
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> String {
        let answer = try await admin(.POST, "/users/\(id)/links", body)
        #expect(answer.status == 201, "\(answer.text)", sourceLocation: sourceLocation)
        let url = try #require(answer["url"]?.string, sourceLocation: sourceLocation)
        let prefix = "\(configuration.publicURL)/#link="
        #expect(url.hasPrefix("\(prefix)ts_lk_"), sourceLocation: sourceLocation)
        return String(url.dropFirst(prefix.count))
    }

    /// Uses a link; with tokens that are bound to a key.
    func redeem(_ token: String, key: SoftProofKey? = SoftProofKey()) async throws -> Answer {
        try await call(.POST, "/v1/links/redeem", ["token": .string(token), "client": "Phone"], key: key)
    }

    /// Uses a recovery code.
    func recover(
        _ name: String,
        _ code: String,
        _ credentials: String = "keep",
        key: SoftProofKey? = SoftProofKey()
    ) async throws -> Answer {
        try await call(
            .POST,
            "/v1/recovery",
            [
                "username": .string(name), "code": .string(code), "credentials": .string(credentials),
            ],
            key: key
        )
    }

    /// Expects that a limited session is refused by each operation that its task does not need.
    func expectNothingBut(
        _ task: SessionTask,
        token: String?,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        for operation in API.operations
        where [.session, .fresh, .openOrSession, .serviceOrSession].contains(operation.access)
            && !operation.tasks.contains(task)
        {
            let refused = try await call(
                .init(rawValue: operation.method.rawValue),
                operation.path.replacing("{id}", with: "AAAA"),
                ["username": "anna", "password": "x"],
                token: token
            )
            #expect(
                refused.status == 403 && refused.code == "session_limited",
                "\(operation.id)",
                sourceLocation: sourceLocation
            )
        }
    }

    /// The events of an account's audit with their reasons.
    func audit(of id: String) async throws -> [String] {
        let audit = try await admin(.GET, "/users/\(id)/audit?count=1000")
        return (audit["records"]?.array ?? []).map { record in
            let reason = record["reason"]?.string ?? ""
            return (record["event"]?.string ?? "") + (reason.isEmpty ? "" : " " + reason)
        }
    }
}

extension TestUser {
    /// The same user in the limited session of an answer.
    func inSession(_ answer: Answer, key: SoftProofKey) throws -> TestUser {
        var user = self
        user.key = key
        try user.take(answer)
        return user
    }

    /// Makes recovery codes.
    func makeCodes() async throws -> [String] {
        let answer = try await call(.POST, "/v1/me/recovery-codes")
        #expect(answer.status == 201, "\(answer.text)")
        return (answer["codes"]?.array ?? []).compactMap(\.string)
    }

    /// Gets in by a link, and returns the user in the limited session.
    func enter(by token: String) async throws -> TestUser {
        let key = SoftProofKey()
        let answer = try await server.redeem(token, key: key)
        #expect(answer.status == 200, "\(answer.text)")
        return try inSession(answer, key: key)
    }
}
