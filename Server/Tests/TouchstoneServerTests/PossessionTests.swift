import Foundation
import NIOHTTP1
import Testing
import WebAuthnModel

@testable import TouchstoneServer

extension ServerTests {
    @Suite("Changes of credentials need the session's own client")
    struct PossessionTests {
        /// What accompanies a request that changes credentials.
        enum Caller: CaseIterable {
            case proof, bearer, otherKey, withoutHash, otherHash, otherPath, withoutNonce, used
            case unbound, unboundWithProof, audience, cookies, cookiesWithProof, cookiesWithUsedProof,
                cookiesOfOtherPage, cookiesWithoutOrigin

            /// The error code; nil: the request is let through.
            var refusal: String? {
                switch self {
                case .proof, .cookies, .cookiesWithProof: nil
                case .bearer, .otherKey, .withoutHash, .otherHash, .otherPath, .used, .cookiesWithUsedProof:
                    "invalid_dpop_proof"
                case .withoutNonce: "use_dpop_nonce"
                case .unbound, .unboundWithProof, .cookiesOfOtherPage, .cookiesWithoutOrigin: "forbidden"
                case .audience: "invalid_token"
                }
            }
        }

        private static let changes: [(NIOHTTP1.HTTPMethod, String, JSONValue?)] = [
            (.POST, "/v1/credentials/options", ["kind": "passkey"]), (.POST, "/v1/credentials", [:]),
            (.DELETE, "/v1/credentials/AAAA", nil), (.POST, "/v1/credentials/AAAA/restore", nil),
            (.PUT, "/v1/me/password", ["new": "x"]), (.POST, "/v1/me/recovery-codes", nil),
            (.DELETE, "/v1/account", ["username": "x"]), (.POST, "/v1/device-keys/options", [:]),
            (.POST, "/v1/device-keys", [:]), (.DELETE, "/v1/device-keys/AAAA", nil),
        ]

        @Test("every change is tried by every caller: only the session's key and its page are let through")
        func matrix() async throws {
            #expect(API.operations.filter { $0.access == .fresh }.count == Self.changes.count)
            try await TestServer.with { server in
                let user = try await TestUser.signedIn(on: server)
                let key = try #require(user.key)
                let unbound = try await TestUser.signedIn(on: server, "berta", key: nil)
                let audience = try await user.token(for: TestServer.audience)
                let other = try await user.renew()["access_token"]?.string ?? ""
                let page = try await cookies(user)
                let nonce = try #require(
                    try await server.call(.POST, "/v1/login/options", [:]).headers.first(name: "DPoP-Nonce")
                )
                for (method, path, body) in Self.changes {
                    func proof(
                        _ key: SoftProofKey,
                        _ token: String?,
                        at place: String? = nil,
                        nonce: String? = nonce
                    ) throws -> String {
                        try key.proof(
                            server,
                            place ?? path,
                            method: method.rawValue,
                            nonce: nonce,
                            token: token
                        )
                    }
                    for caller in Caller.allCases {
                        var (token, shown): (String?, String?) = (user.access, nil)
                        var headers = HTTPHeaders()
                        switch caller {
                        case .proof, .used: shown = try proof(key, user.access)
                        case .bearer: break
                        case .otherKey: shown = try proof(SoftProofKey(), user.access)
                        case .withoutHash: shown = try proof(key, nil)
                        case .otherHash: shown = try proof(key, other)
                        case .otherPath: shown = try proof(key, user.access, at: "/v1/token")
                        case .withoutNonce: shown = try proof(key, user.access, nonce: nil)
                        case .unbound: token = unbound.access
                        case .unboundWithProof:
                            (token, shown) = (unbound.access, try proof(key, unbound.access))
                        case .audience: (token, shown) = (audience, try proof(key, audience))
                        case .cookies, .cookiesWithProof, .cookiesWithUsedProof, .cookiesOfOtherPage,
                            .cookiesWithoutOrigin:
                            token = nil
                            headers.add(name: "Cookie", value: page)
                            if [.cookiesWithProof, .cookiesWithUsedProof].contains(caller) {
                                shown = try proof(SoftProofKey(), nil)
                            }
                            if caller == .cookiesOfOtherPage {
                                headers.add(name: "Origin", value: "https://evil.example")
                            } else if caller != .cookiesWithoutOrigin {
                                headers.add(name: "Origin", value: TestServer.origin)
                            }
                        }
                        if let token { headers.add(name: "Authorization", value: "Bearer \(token)") }
                        if let shown { headers.add(name: "DPoP", value: shown) }
                        func send() async throws -> Answer {
                            let content = body.map { (bytes: Array($0.text.utf8), type: "application/json") }
                            return try await server.send(method, server.api + path, headers, content)
                        }
                        if [.used, .cookiesWithUsedProof].contains(caller) { _ = try await send() }
                        let answer = try await send()
                        let refusals = Set(Caller.allCases.compactMap(\.refusal))
                        if let refusal = caller.refusal {
                            #expect(answer.code == refusal, "\(method) \(path) by \(caller): \(answer.text)")
                            #expect(answer.status == (refusal == "forbidden" ? 403 : 401))
                            let challenge = answer.headers.first(name: "WWW-Authenticate")
                            let isOfProof = refusal.hasSuffix("dpop_proof") || refusal.hasSuffix("dpop_nonce")
                            #expect(
                                (challenge == #"DPoP error="\#(refusal)", algs="ES256""#) == isOfProof,
                                "\(challenge ?? "-")"
                            )
                        } else {
                            #expect(
                                !refusals.contains(answer.code ?? ""),
                                "\(method) \(path) by \(caller): \(answer.text)"
                            )
                        }
                        #expect(answer.headers.contains(name: "DPoP-Nonce"))
                    }
                }
                // Nothing was changed.
                #expect(try await user.call(.GET, "/v1/me")["credentials"] == 0)
            }
        }

        @Test(
            "a session that a passkey began without a proof can change credentials after a sign-in with one"
        )
        func later() async throws {
            try await TestServer.with { server in
                let user = try await TestUser.withPasskey(on: server)
                var other = user
                other.key = nil
                try other.take(try await other.logInByPasskey(signCount: 3))
                other.authenticator = TestUser.authenticator()
                let refused = try await other.call(.POST, "/v1/credentials/options", ["kind": "passkey"])
                #expect(refused.status == 403 && refused.text.contains("DPoP"), "\(refused.text)")
                var bound = user
                bound.key = SoftProofKey()
                try bound.take(try await bound.logInByPasskey(signCount: 4))
                bound.authenticator = TestUser.authenticator()
                #expect(try await bound.register().status == 201)
            }
        }

        /// The cookies of a page that the user signed in to.
        private func cookies(_ user: TestUser) async throws -> String {
            let body = """
                {"username": "\(user.name)", "password": "\(TestUser.password)", "session": "cookie"}
                """
            let answer = try await user.server.send(
                .POST,
                user.server.api + "/v1/login/password",
                ["Origin": TestServer.origin],
                (Array(body.utf8), "application/json")
            )
            #expect(answer.status == 200, "\(answer.text)")
            return answer.headers["Set-Cookie"].map { String($0.prefix { $0 != ";" }) }.joined(
                separator: "; "
            )
        }
    }
}
