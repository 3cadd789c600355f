import AccountStore
import CBOR
import Crypto
import Foundation
import HTTPTypes
import NIOHTTP1
import RelyingParty
import Testing
import WebAuthnModel
import WebAuthnTestKit

@testable import TouchstoneServer

/// A user of a server, with a password, a software authenticator and tokens.
struct TestUser: Sendable {
    static let password = "horse battery staple 7"

    let server: TestServer
    let id: String
    let name: String
    var access = ""
    var refresh = ""
    var authenticator = TestUser.authenticator()
    /// The key that sign-ins bind sessions to; nil: their refresh tokens rotate, and they cannot change credentials.
    var key: SoftProofKey? = SoftProofKey()

    static func authenticator() -> SoftAuthenticator {
        var authenticator = SoftAuthenticator()
        authenticator.rpId = "localhost"
        authenticator.origin = TestServer.origin
        authenticator.credentialId = (0..<32).map { _ in UInt8.random(in: 0...255) }
        return authenticator
    }

    /// Created by an administrator; not signed in.
    static func make(on server: TestServer, _ name: String = "anna") async throws -> TestUser {
        let answer = try await server.admin(
            .POST,
            "/users",
            ["username": .string(name), "password": .string(password)]
        )
        #expect(answer.status == 201, "\(answer.text)")
        return TestUser(server: server, id: try #require(answer["id"]?.string), name: name)
    }

    /// Created, and signed in by password.
    static func signedIn(
        on server: TestServer,
        _ name: String = "anna",
        key: SoftProofKey? = SoftProofKey()
    ) async throws -> TestUser {
        var user = try await make(on: server, name)
        user.key = key
        try await user.signIn()
        return user
    }

    /// Created, signed in by password, with a passkey.
    static func withPasskey(on server: TestServer, _ name: String = "anna") async throws -> TestUser {
        let user = try await signedIn(on: server, name)
        let answer = try await user.register()
        #expect(answer.status == 201, "\(answer.text)")
        return user
    }

    mutating func take(_ answer: Answer) throws {
        access = try #require(answer["access_token"]?.string, "\(answer.text)")
        refresh = try #require(answer["refresh_token"]?.string)
    }

    mutating func signIn(dpop: String? = nil) async throws {
        let answer = try await logIn(dpop: dpop)
        #expect(answer.status == 200, "\(answer.text)")
        try take(answer)
    }

    func logIn(_ password: String = TestUser.password, dpop: String? = nil) async throws -> Answer {
        try await server.call(
            .POST,
            "/v1/login/password",
            ["username": .string(name), "password": .string(password)],
            dpop: dpop,
            key: key
        )
    }

    func call(_ method: HTTPMethodName, _ path: String, _ body: JSONValue? = nil) async throws -> Answer {
        let changesCredentials = API.operations.contains {
            $0.access == .fresh && $0.method.rawValue == method.rawValue && $0.describes(path)
        }
        return try await server.call(
            .init(rawValue: method.rawValue),
            path,
            body,
            token: access,
            key: changesCredentials ? key : nil
        )
    }

    enum HTTPMethodName: String { case GET, POST, PUT, PATCH, DELETE }

    // MARK: Registration

    func register(
        _ kind: String = "passkey",
        flags: AuthenticatorData.Flags = [.userPresent, .userVerified]
    ) async throws -> Answer {
        let begun = try await call(.POST, "/v1/credentials/options", ["kind": .string(kind), "label": "Key"])
        #expect(begun.status == 200, "\(begun.text)")
        return try await call(.POST, "/v1/credentials", registration(begun, flags: flags))
    }

    /// The body that completes a registration.
    func registration(
        _ begun: Answer,
        flags: AuthenticatorData.Flags = [.userPresent, .userVerified]
    ) throws -> JSONValue {
        let challenge = try #require(begun["publicKey"]?["challenge"]?.bytes)
        let clientData = authenticator.clientData("webauthn.create", challenge)
        let data = authenticator.authenticatorData(flags: flags, isNew: true)
        let object = SoftAuthenticator.attestationObject(
            statement: authenticator.selfStatement(data, clientData),
            data: .bytes(data)
        )
        return [
            "ceremonyId": begun["ceremonyId"] ?? .null,
            "credential": [
                "id": JSONValue(base64URL: authenticator.credentialId),
                "rawId": JSONValue(base64URL: authenticator.credentialId), "type": "public-key",
                "response": [
                    "clientDataJSON": JSONValue(base64URL: clientData),
                    "attestationObject": JSONValue(base64URL: object), "transports": ["internal"],
                ],
                "clientExtensionResults": [:],
            ],
        ]
    }

    // MARK: Login

    /// The `credential` member of a login for a challenge.
    func assertion(
        _ challenge: [UInt8],
        signCount: UInt32 = 2,
        flags: AuthenticatorData.Flags = [.userPresent, .userVerified],
        extensions: CBORValue? = nil
    ) throws -> JSONValue {
        let clientData = authenticator.clientData("webauthn.get", challenge)
        let data = authenticator.authenticatorData(flags: flags, signCount: signCount, extensions: extensions)
        return [
            "id": JSONValue(base64URL: authenticator.credentialId),
            "rawId": JSONValue(base64URL: authenticator.credentialId), "type": "public-key",
            "response": [
                "clientDataJSON": JSONValue(base64URL: clientData),
                "authenticatorData": JSONValue(base64URL: data),
                "signature": JSONValue(
                    base64URL: authenticator.sign(data + SoftAuthenticator.hash(clientData))
                ),
                "userHandle": .string(id),
            ],
            "clientExtensionResults": [:],
        ]
    }

    func options(_ body: JSONValue) async throws -> Answer {
        try await server.call(.POST, "/v1/login/options", body)
    }

    func passkeyBody(signCount: UInt32 = 2, named: Bool = true) async throws -> JSONValue {
        let begun = try await options(named ? ["username": .string(name)] : [:])
        #expect(begun.status == 200, "\(begun.text)")
        let challenge = try #require(begun["publicKey"]?["challenge"]?.bytes)
        return [
            "ceremonyId": begun["ceremonyId"] ?? .null,
            "credential": try assertion(challenge, signCount: signCount),
        ]
    }

    func logInByPasskey(signCount: UInt32 = 2, named: Bool = true, dpop: String? = nil) async throws -> Answer
    {
        try await server.call(
            .POST,
            "/v1/login",
            passkeyBody(signCount: signCount, named: named),
            dpop: dpop,
            key: key
        )
    }

    /// Renews the tokens; `audience` names the fields `resource` and `scope`.
    func renew(dpop: String? = nil, audience: [(String, String)] = []) async throws -> Answer {
        let fields = [("grant_type", "refresh_token"), ("refresh_token", refresh)] + audience
        return try await server.form("/v1/token", fields, dpop: dpop, key: key)
    }

    /// An access token for a resource server.
    func token(for resource: String) async throws -> String {
        let answer = try await renew(audience: [("resource", resource)])
        return try #require(answer["access_token"]?.string, "\(answer.text)")
    }
}

extension TouchstoneServer.Operation {
    /// Whether a path is one of this operation's.
    fileprivate func describes(_ other: String) -> Bool {
        let (own, parts) = (path.split(separator: "/"), other.split(separator: "/"))
        return own.count == parts.count && zip(own, parts).allSatisfy { $0 == $1 || $0.hasPrefix("{") }
    }
}

/// A device's session key, which signs DPoP proofs.
struct SoftProofKey: Sendable {
    let key = P256.Signing.PrivateKey()

    /// Its thumbprint (RFC 7638), which tokens are bound to.
    var thumbprint: [UInt8] {
        TokenKey(rawRepresentation: Array(key.publicKey.rawRepresentation))?.thumbprint ?? []
    }

    func proof(
        _ server: TestServer,
        _ path: String,
        method: String = "POST",
        nonce: String? = nil,
        token: String? = nil,
        issuedAt: Int64? = nil,
        jti: String = UUID().uuidString,
        origin: String? = nil
    ) throws -> String {
        let raw = Array(key.publicKey.rawRepresentation)
        let now = issuedAt ?? Int64(Date().timeIntervalSince1970)
        let header =
            #"{"typ":"dpop+jwt","alg":"ES256","jwk":{"kty":"EC","crv":"P-256","x":"\#(Base64URL.encode(Array(raw.prefix(32))))","y":"\#(Base64URL.encode(Array(raw.suffix(32))))"}}"#
        let nonceMember = nonce.map { #","nonce":"\#($0)""# } ?? ""
        let ath =
            token.map { #","ath":"\#(Base64URL.encode(Array(SHA256.hash(data: Array($0.utf8)))))""# } ?? ""
        let url = (origin ?? server.configuration.publicURL) + path
        let payload =
            #"{"jti":"\#(jti)","htm":"\#(method)","htu":"\#(url)","iat":\#(now)\#(nonceMember)\#(ath)}"#
        let text = "\(Base64URL.encode(Array(header.utf8))).\(Base64URL.encode(Array(payload.utf8)))"
        let signature = try key.signature(for: Array(text.utf8))
        return "\(text).\(Base64URL.encode(Array(signature.rawRepresentation)))"
    }

    /// A proof with the server's current nonce, taken from one of its responses.
    func freshProof(_ server: TestServer, _ path: String) async throws -> String {
        let answer = try await server.call(.POST, "/v1/login/options", [:])
        return try proof(server, path, nonce: answer.headers.first(name: "DPoP-Nonce"))
    }
}
