import CBOR
import Crypto
import Foundation
import Testing
import WebAuthn
import WebAuthnModel
import WebAuthnTestKit
import X509

/// The FIDO Alliance's server conformance cases that concern a verifier, with responses of a software authenticator.
///
/// The cases for a server's options (`register-options`, `login-options`, `register-structure P-1`) do not apply to a verifier.
@Suite("FIDO server cases")
struct FIDOServerCaseTests {
    /// The expected result of a case; nil: accepted.
    typealias Outcome = WebAuthnError.Reason?

    static let challenge = [UInt8](repeating: 9, count: 32)

    // MARK: Registration

    /// A registration with one part altered.
    struct Spoiled {
        var members: [String: String] = [:]
        var responseMembers: [String: String] = [:]
        var clientData: [UInt8]?
        var attestationObject: (([UInt8], [UInt8]) throws -> [UInt8])?
        var anchors: [Certificate] = []
        var acceptsSHA1 = false

        /// Replaces a member's JSON; an empty text removes the member.
        static func member(_ name: String, _ json: String) -> Spoiled { Spoiled(members: [name: json]) }
        static func response(_ name: String, _ json: String) -> Spoiled {
            Spoiled(responseMembers: [name: json])
        }
        static func clientData(_ json: String) -> Spoiled { Spoiled(clientData: Array(json.utf8)) }
        static func object(_ make: @escaping ([UInt8], [UInt8]) throws -> [UInt8]) -> Spoiled {
            Spoiled(attestationObject: make)
        }
    }

    private let authenticator = SoftAuthenticator()

    private static func json(_ members: [String: String], overriding defaults: [(String, String)]) -> String {
        var parts: [String] = []
        for (name, value) in defaults {
            let value = members[name] ?? value
            if !value.isEmpty { parts.append("\"\(name)\":\(value)") }
        }
        return "{\(parts.joined(separator: ","))}"
    }

    private static func quoted(_ bytes: [UInt8]) -> String { "\"\(Base64URL.encode(bytes))\"" }

    private func register(_ spoiled: Spoiled) async throws -> Registration {
        let clientData = spoiled.clientData ?? authenticator.clientData("webauthn.create", Self.challenge)
        let data = authenticator.authenticatorData(isNew: true)
        let object =
            try spoiled.attestationObject?(data, clientData)
            ?? SoftAuthenticator.attestationObject(
                statement: authenticator.selfStatement(data, clientData),
                data: .bytes(data)
            )
        let response = Self.json(
            spoiled.responseMembers,
            overriding: [
                ("clientDataJSON", Self.quoted(clientData)), ("attestationObject", Self.quoted(object)),
            ]
        )
        let id = Self.quoted(authenticator.credentialId)
        let json = Self.json(
            spoiled.members,
            overriding: [("id", id), ("rawId", id), ("type", "\"public-key\""), ("response", response)]
        )
        let relyingParty = RelyingParty(
            id: "example.org",
            origins: ["https://example.org"],
            attestation: AttestationPolicy(trustAnchors: spoiled.anchors, acceptsSHA1: spoiled.acceptsSHA1)
        )
        return try await relyingParty.verify(
            try RegistrationResponse(try JSONValue(parsing: Array(json.utf8))),
            for: RegistrationCeremony(challenge: Self.challenge, algorithms: relyingParty.algorithms)
        )
    }

    private func expect(_ outcome: Outcome, _ name: String, _ body: () async throws -> Void) async {
        do {
            try await body()
            #expect(outcome == nil, "\(name): accepted")
        } catch let error as WebAuthnError {
            #expect(error.reason == outcome, "\(name): \(error)")
        } catch {
            Issue.record("\(name): \(error)")
        }
    }

    @Test("register-structure and register-clientData")
    func registerStructure() async throws {
        let malformed = WebAuthnError.Reason.malformedResponse
        let clientData = WebAuthnError.Reason.malformedClientData
        let text = Base64URL.encode(Self.challenge)
        func json(_ type: String?, _ challenge: String?, _ origin: String?) -> Spoiled {
            let members = [("type", type), ("challenge", challenge), ("origin", origin)].compactMap {
                name,
                value in
                value.map { "\"\(name)\":\($0)" }
            }
            return .clientData("{\(members.joined(separator: ","))}")
        }
        let type = "\"webauthn.create\""
        let challenge = "\"\(text)\""
        let origin = "\"https://example.org\""
        let cases: [(String, Spoiled, Outcome)] = [
            ("register-structure valid", Spoiled(), nil),
            ("register-structure F-1", .member("id", ""), malformed),
            ("register-structure F-2", .member("id", "7"), malformed),
            ("register-structure F-3", .member("id", "\"&&%%\""), malformed),
            ("register-structure F-4", .member("type", ""), malformed),
            ("register-structure F-5", .member("type", "7"), malformed),
            ("register-structure F-6", .member("type", "\"password\""), malformed),
            ("register-structure F-7", .member("response", ""), malformed),
            ("register-structure F-8", .member("response", "[]"), malformed),
            ("register-structure F-9", .response("clientDataJSON", ""), malformed),
            ("register-structure F-10", .response("clientDataJSON", "{}"), malformed),
            ("register-structure F-11", .response("clientDataJSON", "\"\""), malformed),
            ("register-structure F-12", .response("attestationObject", ""), malformed),
            ("register-structure F-13", .response("attestationObject", "7"), malformed),
            ("register-structure F-14", .response("attestationObject", "\"\""), malformed),
            ("register-clientData valid", json(type, challenge, origin), nil),
            ("register-clientData F-1", json(nil, challenge, origin), clientData),
            ("register-clientData F-2", json("7", challenge, origin), clientData),
            ("register-clientData F-3", json("\"\"", challenge, origin), .wrongType),
            ("register-clientData F-4", json("\"other\"", challenge, origin), .wrongType),
            ("register-clientData F-5", json("\"webauthn.get\"", challenge, origin), .wrongType),
            ("register-clientData F-6", json(type, nil, origin), clientData),
            ("register-clientData F-7", json(type, "7", origin), clientData),
            ("register-clientData F-8", json(type, "\"\"", origin), .wrongChallenge),
            ("register-clientData F-9", json(type, "\"&&%%\"", origin), clientData),
            ("register-clientData F-10", json(type, "\"AAAA\"", origin), .wrongChallenge),
            ("register-clientData F-11", json(type, challenge, nil), clientData),
            ("register-clientData F-12", json(type, challenge, "7"), clientData),
            ("register-clientData F-13", json(type, challenge, "\"\""), .wrongOrigin),
            ("register-clientData F-14", json(type, challenge, "\"https://example.com\""), .wrongOrigin),
            (
                "an origin that only looks alike", json(type, challenge, "\"https://example.org.\""),
                .wrongOrigin
            ),
            ("a member twice", .clientData("{\"type\":\"webauthn.create\",\"type\":\"x\"}"), clientData),
            ("a null as text", .clientData("null"), clientData),
        ]
        for (name, spoiled, outcome) in cases {
            await expect(outcome, name) { _ = try await register(spoiled) }
        }
    }

    @Test("register-attestationObject, register-packed-self and register-none")
    func registerAttestationObject() async throws {
        let authenticator = authenticator
        let malformed = WebAuthnError.Reason.malformedAttestation
        let data = WebAuthnError.Reason.malformedAuthenticatorData
        func object(
            format: CBORValue? = .text("packed"),
            statement: ((CBORValue) -> CBORValue?)? = nil,
            data spoil: (([UInt8]) -> CBORValue?)? = nil
        ) -> Spoiled {
            .object { data, clientData in
                let valid = authenticator.selfStatement(data, clientData)
                let data = spoil.map { $0(data) } ?? .bytes(data)
                return SoftAuthenticator.attestationObject(
                    format: format,
                    statement: statement.map { $0(valid) } ?? valid,
                    data: data
                )
            }
        }
        /// Replaces or removes a member of the statement.
        func member(_ name: String, _ value: CBORValue?) -> (CBORValue) -> CBORValue? {
            { statement in
                guard case .map(let pairs) = statement else { return nil }
                return .map(
                    pairs.compactMap { pair in
                        guard pair.key == .text(name) else { return pair }
                        return value.map { CBORPair(pair.key, $0) }
                    }
                )
            }
        }
        let packedInNone: Spoiled = .object { data, clientData in
            SoftAuthenticator.attestationObject(
                format: .text("none"),
                statement: authenticator.selfStatement(data, clientData),
                data: .bytes(data)
            )
        }
        let extended: Spoiled = .object { _, clientData in
            let data = authenticator.authenticatorData(
                isNew: true,
                extensions: .map([CBORPair(.text("example.extension"), .bool(true))])
            )
            return SoftAuthenticator.attestationObject(
                statement: authenticator.selfStatement(data, clientData),
                data: .bytes(data)
            )
        }
        let cases: [(String, Spoiled, Outcome)] = [
            ("register-attestationObject P-1", extended, nil),
            ("register-attestationObject F-1", .object { _, _ in CBORValue.array([]).encoded() }, malformed),
            ("register-attestationObject F-2", object(format: Optional<CBORValue>.none), malformed),
            ("register-attestationObject F-3", object(format: .bytes([1])), malformed),
            ("register-attestationObject F-4", object(statement: { _ in nil }), malformed),
            ("register-attestationObject F-5", object(statement: { _ in .array([]) }), malformed),
            ("register-attestationObject F-6", object(data: { _ in nil }), malformed),
            ("register-attestationObject F-7", object(data: { _ in .text("x") }), malformed),
            ("register-attestationObject F-8", object(data: { _ in .bytes([]) }), data),
            (
                "register-attestationObject F-9",
                object(data: { .bytes(Array($0[..<32]) + [$0[32] & ~0x40] + $0[33...]) }), data
            ),
            (
                "register-attestationObject F-10",
                object(data: { .bytes(Array($0[..<32]) + [$0[32] & ~0x40] + $0[33..<37]) }), data
            ),
            ("register-attestationObject F-11", object(data: { .bytes(Array($0[..<37])) }), data),
            ("register-attestationObject F-12", object(data: { .bytes($0 + [0]) }), data),
            ("register-attestationObject F-13", object(statement: { _ in .map([]) }), malformed),
            ("register-attestationObject F-14", object(statement: member("alg", nil)), malformed),
            ("register-attestationObject F-15", object(statement: member("alg", .text("-7"))), malformed),
            (
                "register-attestationObject F-16", object(statement: member("alg", .integer(-35))),
                .invalidAttestation
            ),
            ("register-attestationObject F-17", object(statement: member("sig", nil)), malformed),
            ("register-attestationObject F-18", object(statement: member("sig", .text("x"))), malformed),
            ("register-attestationObject F-19", object(statement: member("sig", .bytes([]))), malformed),
            ("register-packed-self P-1", Spoiled(), nil),
            (
                "register-packed-self F-1", object(statement: member("sig", .bytes([0x30, 0]))),
                .invalidAttestation
            ),
            ("register-packed-self F-3", object(format: .text("packed-not")), .unsupportedFormat),
            ("register-none P-1", object(format: .text("none"), statement: { _ in .map([]) }), nil),
            ("register-none F-1", packedInNone, malformed),
            ("bytes after the map", .object { _, _ in CBORValue.map([]).encoded() + [0] }, malformed),
        ]
        for (name, spoiled, outcome) in cases {
            await expect(outcome, name) { _ = try await register(spoiled) }
        }
    }

    @Test(
        "members in any order are accepted, with the signature over the bytes that came; a name twice is refused"
    )
    func memberOrder() async throws {
        let authenticator = authenticator
        let malformed = WebAuthnError.Reason.malformedAttestation
        func text(_ text: String) -> [UInt8] { [0x60 | UInt8(text.utf8.count)] + Array(text.utf8) }
        /// A map of members in this order.
        func map(_ members: [[UInt8]]) -> [UInt8] { [0xA0 | UInt8(members.count)] + members.joined() }
        /// An object with its members, the statement's and the extension outputs' in these orders.
        func object(_ members: [Int], _ statementMembers: [Int], _ outputs: [Int]) -> Spoiled {
            .object { data, clientData in
                let output = [text("credProtect") + [0x01], text("hmac-secret") + [0xF5]]
                let data =
                    Array(data[..<32]) + [data[32] | 0x80] + data[33...] + map(outputs.map { output[$0] })
                let signature = authenticator.sign(data + SoftAuthenticator.hash(clientData))
                let statement = [text("alg") + [0x26], text("sig") + CBORValue.bytes(signature).encoded()]
                let member = [
                    text("fmt") + text("packed"),
                    text("attStmt") + map(statementMembers.map { statement[$0] }),
                    text("authData") + CBORValue.bytes(data).encoded(),
                ]
                return map(members.map { member[$0] })
            }
        }
        var cases: [(String, Spoiled, Outcome)] = []
        // Firefox and Yubico's library sent [2, 0, 1], Solo the outputs [1, 0].
        for members in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            for statement in [[0, 1], [1, 0]] {
                for outputs in [[0, 1], [1, 0]] {
                    let name = "\(members), \(statement), \(outputs)"
                    cases.append((name, object(members, statement, outputs), nil))
                }
            }
        }
        for members in [[0, 1, 2, 0], [0, 1, 2, 1], [2, 0, 1, 2]] {
            cases.append(("twice: \(members)", object(members, [0, 1], [0, 1]), malformed))
        }
        cases.append(("alg twice", object([0, 1, 2], [0, 1, 0], [0, 1]), malformed))
        cases.append(
            ("an output twice", object([0, 1, 2], [0, 1], [1, 0, 1]), .malformedAuthenticatorData)
        )
        for (name, spoiled, outcome) in cases {
            await expect(outcome, name) { _ = try await register(spoiled) }
        }
    }

    @Test("register-packed-full")
    func registerPackedFull() async throws {
        let maker = try SoftManufacturer()
        let stranger = try SoftManufacturer()
        let authenticator = authenticator
        func object(
            _ chain: [Certificate],
            anchors: [Certificate] = [maker.root],
            key: P256.Signing.PrivateKey = maker.leafKey,
            x5c: CBORValue? = nil,
            algorithm: Int64 = -7,
            signature: [UInt8]? = nil
        ) -> Spoiled {
            var spoiled = Spoiled.object { data, clientData in
                let message = data + SoftAuthenticator.hash(clientData)
                let signed = Array(try key.signature(for: message).derRepresentation)
                let certificates = try chain.map { CBORValue.bytes(try SoftManufacturer.der($0)) }
                return SoftAuthenticator.attestationObject(
                    statement: .map([
                        CBORPair(.text("alg"), .integer(algorithm)),
                        CBORPair(.text("sig"), .bytes(signature ?? signed)),
                        CBORPair(.text("x5c"), x5c ?? CBORValue.array(certificates)),
                    ]),
                    data: .bytes(data)
                )
            }
            spoiled.anchors = anchors
            return spoiled
        }
        let leaf = try maker.leaf()
        let invalid = WebAuthnError.Reason.invalidAttestation
        let malformed = WebAuthnError.Reason.malformedAttestation
        let untrusted = WebAuthnError.Reason.untrustedAttestation
        let cases: [(String, Spoiled, Outcome)] = [
            ("register-packed-full P-1", object([leaf], anchors: [leaf]), nil),
            ("register-packed-full P-2", object([leaf]), nil),
            ("register-packed-full F-2", object([leaf], signature: [0x30, 0]), invalid),
            ("register-packed-full F-4", object([], x5c: .text("x")), malformed),
            ("register-packed-full F-5", object([], x5c: .array([])), malformed),
            (
                "register-packed-full F-6", object([try maker.leaf(notBefore: -7200, notAfter: -3600)]),
                untrusted
            ),
            (
                "register-packed-full F-7", object([try maker.leaf(notBefore: 3600, notAfter: 7200)]),
                untrusted
            ),
            ("register-packed-full F-8", object([leaf], algorithm: -35), invalid),
            ("register-packed-full F-9", object([leaf], anchors: [stranger.root]), untrusted),
            ("register-packed-full F-10", object([leaf, maker.root]), untrusted),
            ("register-packed-full F-11", object([maker.root, leaf], key: maker.rootKey), invalid),
            ("register-packed-full F-13", object([leaf], key: stranger.leafKey), invalid),
            ("register-packed-full F-14", object([leaf], key: authenticator.key), invalid),
            ("another organizational unit", object([try maker.leaf(organizationalUnit: "Sales")]), invalid),
            ("a CA's certificate", object([try maker.leaf(isAuthority: true)]), invalid),
            ("another model's", object([try maker.leaf(aaguid: [UInt8](repeating: 8, count: 16))]), invalid),
            ("its model's", object([try maker.leaf(aaguid: authenticator.aaguid)]), nil),
            ("a certificate that is none", object([], x5c: .array([.bytes([0x30, 0])])), malformed),
        ]
        for (name, spoiled, outcome) in cases {
            await expect(outcome, name) { _ = try await register(spoiled) }
        }
    }

    // MARK: Login

    private func login(
        members: [String: String] = [:],
        response: [String: String] = [:],
        clientData: [UInt8]? = nil,
        authenticatorData: [UInt8]? = nil,
        signedHash: [UInt8]? = nil,
        signCount: UInt32 = 0,
        verification: UserVerificationRequirement = .required
    ) throws -> Authentication {
        let clientData = clientData ?? authenticator.clientData("webauthn.get", Self.challenge)
        let data = authenticatorData ?? authenticator.authenticatorData()
        let signature = authenticator.sign(data + (signedHash ?? SoftAuthenticator.hash(clientData)))
        let inner = Self.json(
            response,
            overriding: [
                ("clientDataJSON", Self.quoted(clientData)), ("authenticatorData", Self.quoted(data)),
                ("signature", Self.quoted(signature)), ("userHandle", "null"),
            ]
        )
        let id = Self.quoted(authenticator.credentialId)
        let json = Self.json(
            members,
            overriding: [("id", id), ("rawId", id), ("type", "\"public-key\""), ("response", inner)]
        )
        let relyingParty = RelyingParty(id: "example.org", origins: ["https://example.org"])
        return try relyingParty.verify(
            try AuthenticationResponse(try JSONValue(parsing: Array(json.utf8))),
            for: AuthenticationCeremony(challenge: Self.challenge, userVerification: verification),
            record: CredentialRecord(
                id: authenticator.credentialId,
                publicKey: authenticator.publicKey.encoded,
                signCount: signCount,
                uvInitialized: true,
                backupEligible: false,
                backupState: false,
                isHardwareBound: false
            ),
            userHandle: [1, 2, 3],
            isUserKnown: true
        )
    }

    @Test("login-structure")
    func loginStructure() async throws {
        let malformed = WebAuthnError.Reason.malformedResponse
        let members: [(String, [String: String])] = [
            ("F-1", ["id": ""]), ("F-2", ["id": "7"]), ("F-3", ["id": "\"&&%%\""]), ("F-4", ["type": ""]),
            ("F-5", ["type": "7"]), ("F-6", ["type": "\"password\""]), ("F-7", ["response": ""]),
            ("F-8", ["response": "7"]),
        ]
        for (name, members) in members {
            await expect(malformed, "login-structure \(name)") { _ = try login(members: members) }
        }
        let responses: [(String, [String: String])] = [
            ("F-9", ["clientDataJSON": ""]), ("F-10", ["clientDataJSON": "7"]),
            ("F-11", ["clientDataJSON": "\"\""]),
            ("F-12", ["authenticatorData": ""]), ("F-13", ["authenticatorData": "7"]),
            ("F-14", ["authenticatorData": "\"&&%%\""]), ("F-15", ["authenticatorData": "\"\""]),
            ("F-16", ["signature": ""]), ("F-17", ["signature": "7"]), ("F-18", ["signature": "\"&&%%\""]),
            ("F-19", ["signature": "\"\""]), ("F-21", ["userHandle": "7"]),
        ]
        for (name, response) in responses {
            await expect(malformed, "login-structure \(name)") { _ = try login(response: response) }
        }
        await expect(nil, "login-structure P-1") { _ = try login() }
        await expect(.invalidSignature, "login-structure F-20") {
            _ = try login(response: ["signature": "\"MAA\""])
        }
        await expect(.credentialNotAllowed, "another account's handle") {
            _ = try login(response: ["userHandle": "\"AQID_w\""])
        }
        await expect(nil, "the account's handle") { _ = try login(response: ["userHandle": "\"AQID\""]) }
    }

    @Test("login-clientData")
    func loginClientData() async throws {
        let text = "\"\(Base64URL.encode(Self.challenge))\""
        let malformed = WebAuthnError.Reason.malformedClientData
        let cases: [(String, [String?], Outcome)] = [
            ("F-1", [nil, text, "\"https://example.org\""], malformed),
            ("F-2", ["7", text, "\"https://example.org\""], malformed),
            ("F-3", ["\"\"", text, "\"https://example.org\""], .wrongType),
            ("F-4", ["\"x\"", text, "\"https://example.org\""], .wrongType),
            ("F-5", ["\"webauthn.create\"", text, "\"https://example.org\""], .wrongType),
            ("F-6", ["\"webauthn.get\"", nil, "\"https://example.org\""], malformed),
            ("F-7", ["\"webauthn.get\"", "7", "\"https://example.org\""], malformed),
            ("F-8", ["\"webauthn.get\"", "\"\"", "\"https://example.org\""], .wrongChallenge),
            ("F-9", ["\"webauthn.get\"", "\"&&%%\"", "\"https://example.org\""], malformed),
            ("F-10", ["\"webauthn.get\"", "\"AAAA\"", "\"https://example.org\""], .wrongChallenge),
            ("F-11", ["\"webauthn.get\"", text, nil], malformed),
            ("F-12", ["\"webauthn.get\"", text, "7"], malformed),
            ("F-13", ["\"webauthn.get\"", text, "\"\""], .wrongOrigin),
            ("F-14", ["\"webauthn.get\"", text, "\"https://example.com\""], .wrongOrigin),
        ]
        for (name, values, outcome) in cases {
            let members = zip(["type", "challenge", "origin"], values).compactMap { name, value in
                value.map { "\"\(name)\":\($0)" }
            }
            let json = Array("{\(members.joined(separator: ","))}".utf8)
            await expect(outcome, "login-clientData \(name)") { _ = try login(clientData: json) }
        }
    }

    @Test("login-authenticatorData")
    func loginAuthenticatorData() async throws {
        let authenticator = authenticator
        func data(_ flags: AuthenticatorData.Flags, _ count: UInt32 = 1, extensions: CBORValue? = nil)
            -> [UInt8]
        {
            authenticator.authenticatorData(flags: flags, signCount: count, extensions: extensions)
        }
        let both: AuthenticatorData.Flags = [.userPresent, .userVerified]
        await expect(nil, "P-1") { _ = try login(authenticatorData: data(both, 0)) }
        await expect(nil, "P-3") { _ = try login(authenticatorData: data(both)) }
        await expect(.userNotPresent, "P-4") {
            _ = try login(authenticatorData: data([]), verification: .preferred)
        }
        await expect(nil, "P-5") {
            _ = try login(authenticatorData: data(.userPresent), verification: .discouraged)
        }
        await expect(nil, "P-6") { _ = try login(authenticatorData: data(both), verification: .discouraged) }
        await expect(.userNotPresent, "P-7") {
            _ = try login(authenticatorData: data([]), verification: .discouraged)
        }
        let extensions = CBORValue.map([CBORPair(.text("uvm"), .array([]))])
        await expect(nil, "P-8") { _ = try login(authenticatorData: data(both, extensions: extensions)) }
        await expect(.malformedAuthenticatorData, "F-1") {
            _ = try login(authenticatorData: data(both) + [0])
        }
        var other = authenticator
        other.rpId = "example.com"
        let foreign = other.authenticatorData()
        await expect(.wrongRPID, "F-2") { _ = try login(authenticatorData: foreign) }
        await expect(.invalidSignature, "F-3") { _ = try login(signedHash: [UInt8](repeating: 0, count: 32)) }
        await expect(.signCountNotGrown, "F-4") { _ = try login(signCount: 1) }
        await expect(.signCountNotGrown, "a counter that went back to 0") {
            _ = try login(authenticatorData: data(both, 0), signCount: 5)
        }
        await expect(.userNotVerified, "F-5") { _ = try login(authenticatorData: data(.userPresent)) }
        await expect(.impossibleBackupState, "backed up and not eligible") {
            _ = try login(authenticatorData: data([.userPresent, .userVerified, .backupState]))
        }
        let changed = try login(authenticatorData: data([.userPresent, .userVerified, .backupEligible]))
        #expect(changed.changedBackupEligibility)
    }
}
