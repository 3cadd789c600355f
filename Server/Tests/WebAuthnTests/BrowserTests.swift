import Foundation
import TestVectors
import Testing
import WebAuthn
import WebAuthnModel
import X509

/// Responses of Chromium's virtual authenticator, in the JSON forms of WebAuthn Level 3.
@Suite("Chromium's responses", .vectors)
struct BrowserTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        let create: JSONObject
        let get: [JSONObject]

        var testDescription: String { name }
    }

    static let cases: [Case] = {
        let file = try? Vectors.json("chromium-virtual-authenticator.json")
        return (file?["cases"]?.array ?? []).compactMap { value in
            guard let json = value.object, let name = json["name"]?.string,
                let create = json["create"]?.object,
                let get = json["get"]
            else { return nil }
            return Case(name: name, create: create, get: (get.array ?? [get]).compactMap(\.object))
        }
    }()

    private let relyingParty = RelyingParty(
        id: "localhost",
        origins: ["http://localhost:8765"],
        attestation: AttestationPolicy(acceptsUntrusted: true)
    )

    @Test("there are eight cases") func count() {
        #expect(Self.cases.count == 8)
    }

    @Test("each registration and each login is accepted", arguments: cases)
    func verify(_ item: Case) async throws {
        let options = try #require(item.create["options"]?.object)
        let asked = (options["pubKeyCredParams"]?.array ?? []).compactMap { $0.object?["alg"]?.integer }
        let wish = options["authenticatorSelection"]?.object?["userVerification"]?.string
        let verification = wish.flatMap(UserVerificationRequirement.init) ?? .preferred
        let registration = try await relyingParty.verify(
            try RegistrationResponse(try #require(item.create["response"])),
            for: RegistrationCeremony(
                challenge: try #require(options["challenge"]?.bytes),
                algorithms: asked.map(COSEAlgorithm.init),
                userVerification: verification
            )
        )
        let userHandle = try #require(options["user"]?.object?["id"]?.bytes)
        var record = registration.record
        for get in item.get {
            let options = try #require(get["options"]?.object)
            let wish = options["userVerification"]?.string
            let login = try relyingParty.verify(
                try AuthenticationResponse(try #require(get["response"])),
                for: AuthenticationCeremony(
                    challenge: try #require(options["challenge"]?.bytes),
                    userVerification: wish.flatMap(UserVerificationRequirement.init) ?? .preferred
                ),
                record: record,
                userHandle: userHandle,
                isUserKnown: true
            )
            #expect(login.record.signCount > record.signCount || item.name == "u2f")
            record = login.record
        }
        // Replayed: the counter does not increase.
        let last = try #require(item.get.last)
        let error = #expect(throws: WebAuthnError.self) {
            _ = try relyingParty.verify(
                try AuthenticationResponse(try #require(last["response"])),
                for: AuthenticationCeremony(
                    challenge: try #require(last["options"]?.object?["challenge"]?.bytes),
                    userVerification: .discouraged
                ),
                record: record,
                userHandle: userHandle,
                isUserKnown: true
            )
        }
        #expect(error?.reason == .signCountNotGrown)
    }
}

/// Responses of real authenticators, recorded by the tests of py_webauthn.
@Suite("Real authenticators' responses", .vectors)
struct RecordedDeviceTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        let isRegistration: Bool
        let arguments: JSONObject
        let isAccepted: Bool

        var testDescription: String { name }
    }

    static let cases: [Case] = {
        let file = try? Vectors.json("py_webauthn-fixtures.json")
        return (file?["cases"]?.array ?? []).compactMap { value in
            guard let json = value.object, let test = json["test"]?.string, let call = json["call"]?.string,
                let arguments = json["args"]?.object, let outcome = json["outcome"]?.string
            else { return nil }
            return Case(
                name: test.split(separator: ".").suffix(2).joined(separator: "."),
                isRegistration: call == "verify_registration_response",
                arguments: arguments,
                isAccepted: outcome == "ok"
            )
        }
    }()

    /// Cases with another result than py_webauthn's, and why.
    private static let exceptions: [String: WebAuthnError.Reason?] = [
        // Formats not verified here yet.
        "test_verify_registration_response_android_key.test_verify_attestation_android_key_hardware_authority":
            .unsupportedFormat,
        "test_verify_registration_response_apple.test_verify_attestation_apple_passkey": .unsupportedFormat,
        // WebAuthn Level 3 ignores token binding.
        "test_verify_registration_response_fido_u2f.test_verify_attestation_with_unsupported_token_binding_status":
            nil,
    ]

    /// Some cases have a printed Python object instead of JSON; other cases have the same response.
    private var isReadable: (Case) -> Bool { { $0.arguments["credential"]?.object != nil } }

    @Test("there are twenty-nine calls, three of which repeat others as Python objects") func count() {
        #expect(Self.cases.count == 29)
        #expect(Self.cases.filter { !isReadable($0) }.count == 3)
    }

    @Test("each response is accepted or refused as by py_webauthn", arguments: cases)
    func verify(_ item: Case) async throws {
        guard isReadable(item) else { return }
        let arguments = item.arguments
        func bytes(_ name: String) throws -> [UInt8] {
            try #require(arguments[name]?.object?["b64u"]?.bytes)
        }
        let origin = try #require(arguments["expected_origin"])
        let relyingParty = RelyingParty(
            id: try #require(arguments["expected_rp_id"]?.string),
            origins: origin.string.map { [$0] } ?? (origin.array ?? []).compactMap(\.string),
            // Windows Hello signs with SHA-1; the trust anchors are not tested here.
            attestation: AttestationPolicy(
                acceptsUntrusted: item.name.contains("root_cert_invalid") == false,
                acceptsSHA1: true
            )
        )
        let isVerified = arguments["require_user_verification"]?.bool ?? false
        let verification: UserVerificationRequirement = isVerified ? .required : .preferred
        let credential = try #require(arguments["credential"]).inBase64URL
        var failure: WebAuthnError?
        do {
            if item.isRegistration {
                _ = try await relyingParty.verify(
                    try RegistrationResponse(credential),
                    for: RegistrationCeremony(
                        challenge: try bytes("expected_challenge"),
                        algorithms: relyingParty.algorithms,
                        userVerification: verification
                    )
                )
            } else {
                let response = try AuthenticationResponse(credential)
                let data = try? AuthenticatorData(parsing: response.authenticatorData)
                let isEligible = data?.flags.contains(.backupEligible) ?? false
                _ = try relyingParty.verify(
                    response,
                    for: AuthenticationCeremony(
                        challenge: try bytes("expected_challenge"),
                        userVerification: verification
                    ),
                    record: CredentialRecord(
                        id: response.rawId,
                        publicKey: try bytes("credential_public_key"),
                        signCount: UInt32(try #require(arguments["credential_current_sign_count"]?.integer)),
                        uvInitialized: false,
                        backupEligible: isEligible,
                        backupState: false,
                        isHardwareBound: false
                    ),
                    userHandle: response.userHandle ?? [],
                    isUserKnown: true
                )
            }
        } catch let error as WebAuthnError {
            failure = error
        }
        if let exception = Self.exceptions[item.name] {
            #expect(failure?.reason == exception)
        } else {
            #expect((failure == nil) == item.isAccepted, "\(failure.map { "\($0)" } ?? "accepted")")
        }
    }

    @Test(
        "a Windows Hello key needs the SHA-1 setting, and its chain is trusted while it is valid"
    )
    func windowsHello() async throws {
        let item = try #require(
            Self.cases.first { $0.name.hasSuffix("test_verify_tpm_with_ecc_public_area_type") }
        )
        let arguments = item.arguments
        let response = try RegistrationResponse(try #require(arguments["credential"]))
        let ceremony = RegistrationCeremony(
            challenge: try #require(arguments["expected_challenge"]?.object?["b64u"]?.bytes),
            algorithms: [.es256, .rs256],
            userVerification: .preferred
        )
        var relyingParty = RelyingParty(id: "webauthn.io", origins: ["https://webauthn.io"])
        relyingParty.attestation.acceptsUntrusted = true
        let refusal = await #expect(throws: WebAuthnError.self) {
            _ = try await relyingParty.verify(response, for: ceremony)
        }
        #expect(refusal?.reason == .invalidAttestation)
        relyingParty.attestation.acceptsSHA1 = true
        let untrusted = try await relyingParty.verify(response, for: ceremony)
        #expect(!untrusted.attestation.isTrusted)
        // Trusts the last certificate of the chain as an anchor, at a time when all are valid.
        let path = untrusted.attestation.trustPath
        relyingParty.attestation.acceptsUntrusted = false
        relyingParty.attestation.trustAnchors = [try #require(path.last)]
        relyingParty.attestation.validationTime = path[0].notValidBefore.addingTimeInterval(3600)
        let trusted = try await relyingParty.verify(response, for: ceremony)
        #expect(trusted.attestation.isTrusted)
        let area = try #require(trusted.attestation.tpm?.publicArea)
        #expect(area.attributes.isSuperset(of: [.fixedTPM, .fixedParent, .sensitiveDataOrigin, .sign]))
        // An hour after it expired.
        relyingParty.attestation.validationTime = path[0].notValidAfter.addingTimeInterval(3600)
        let expired = await #expect(throws: WebAuthnError.self) {
            _ = try await relyingParty.verify(response, for: ceremony)
        }
        #expect(expired?.reason == .untrustedAttestation)
    }
}

extension JSONValue {
    /// Three recorded calls use base64 with padding, which py_webauthn accepts too.
    fileprivate var inBase64URL: JSONValue {
        guard case .object(let object) = self else {
            guard case .string(let text) = self else { return self }
            let map: [Character: Character] = ["+": "-", "/": "_"]
            return .string(String(text.filter { $0 != "=" }.map { map[$0] ?? $0 }))
        }
        let members = object.members.map { "\"\($0.name)\":\($0.value.inBase64URL.text)" }
        return (try? JSONValue(parsing: Array("{\(members.joined(separator: ","))}".utf8))) ?? .null
    }

    /// As JSON; the strings here need no escaping.
    private var text: String {
        switch self {
        case .null, .number: "null"
        case .bool(let value): "\(value)"
        case .integer(let value): "\(value)"
        case .string(let value): "\"\(value)\""
        case .array(let values): "[\(values.map(\.text).joined(separator: ","))]"
        case .object(let object):
            "{\(object.members.map { "\"\($0.name)\":\($0.value.text)" }.joined(separator: ","))}"
        }
    }
}
