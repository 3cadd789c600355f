import SwiftASN1
import TestVectors
import Testing
import WebAuthn
import WebAuthnModel
import X509

/// The test vectors of WebAuthn Level 3, section "Test Vectors": every registration and every login.
@Suite("W3C Level 3 vectors", .vectors)
struct W3CVectorTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let id: String
        let registration: RegistrationResponse
        let registrationChallenge: [UInt8]
        let authentication: AuthenticationResponse
        let authenticationChallenge: [UInt8]
        let algorithm: COSEAlgorithm
        let hasVerifiedUser: Bool

        var testDescription: String { id }

        init(_ json: JSONObject) throws {
            id = try #require(json["id"]?.string)
            let registration = try #require(json["registration"]?.object)
            let authentication = try #require(json["authentication"]?.object)
            let derived = try #require(json["derived"]?.object)
            let credential = try registration.hexadecimal("credential_id")
            self.registration = RegistrationResponse(
                rawId: credential,
                clientDataJSON: try registration.hexadecimal("clientDataJSON"),
                attestationObject: try registration.hexadecimal("attestationObject")
            )
            registrationChallenge = try registration.hexadecimal("challenge")
            self.authentication = AuthenticationResponse(
                rawId: credential,
                clientDataJSON: try authentication.hexadecimal("clientDataJSON"),
                authenticatorData: try authentication.hexadecimal("authenticatorData"),
                signature: try authentication.hexadecimal("signature")
            )
            authenticationChallenge = try authentication.hexadecimal("challenge")
            algorithm = COSEAlgorithm(rawValue: try #require(derived["coseAlg"]?.integer))
            let data = try AuthenticatorData(parsing: self.authentication.authenticatorData)
            hasVerifiedUser = data.flags.contains(.userVerified)
        }
    }

    private static let file = try? Vectors.json("webauthn-l3/vectors.json")
    static let cases: [Case] = (file?["cases"]?.array ?? []).compactMap {
        $0.object.flatMap { try? Case($0) }
    }

    /// Formats that are not verified here, and an algorithm that swift-crypto does not support.
    private static let refused: [String: WebAuthnError.Reason] = [
        "packed-ed448": .unsupportedAlgorithm,
        "android-key-es256": .unsupportedFormat,
        "apple-es256": .unsupportedFormat,
    ]

    private func relyingParty() throws -> RelyingParty {
        let root = try #require(Self.file?["attestationRoot"]?.object).hexadecimal("attestation_ca_cert")
        return RelyingParty(
            id: "example.org",
            origins: ["https://example.org"],
            topOrigins: ["https://example.com"],
            attestation: AttestationPolicy(trustAnchors: [try Certificate(derEncoded: root)])
        )
    }

    @Test("there are fifteen cases") func count() {
        #expect(Self.cases.count == 15)
    }

    @Test("each registration and login is accepted, or refused for the expected reason", arguments: cases)
    func verify(_ item: Case) async throws {
        let relyingParty = try relyingParty()
        let ceremony = RegistrationCeremony(
            challenge: item.registrationChallenge,
            algorithms: relyingParty.algorithms,
            userVerification: .preferred
        )
        if let reason = Self.refused[item.id] {
            let error = await #expect(throws: WebAuthnError.self) {
                _ = try await relyingParty.verify(item.registration, for: ceremony)
            }
            #expect(error?.reason == reason)
            return
        }
        let registration = try await relyingParty.verify(item.registration, for: ceremony)
        #expect(registration.publicKey.algorithm == item.algorithm)
        #expect(registration.record.id == item.registration.rawId)
        let isSelf = item.id == "packed-self-es256"
        #expect(registration.attestation.isTrusted == (registration.attestation.format != "none" && !isSelf))
        let login = try relyingParty.verify(
            item.authentication,
            for: AuthenticationCeremony(
                challenge: item.authenticationChallenge,
                allowedCredentials: [item.registration.rawId],
                userVerification: item.hasVerifiedUser ? .required : .preferred
            ),
            record: registration.record,
            userHandle: [1],
            isUserKnown: true
        )
        #expect(login.record.signCount >= registration.record.signCount)
    }

    @Test(
        "a login with any byte changed is refused",
        arguments: cases.filter { refused[$0.id] == nil }
    )
    func changedLogin(_ item: Case) async throws {
        let relyingParty = try relyingParty()
        let registration = try await relyingParty.verify(
            item.registration,
            for: RegistrationCeremony(
                challenge: item.registrationChallenge,
                algorithms: relyingParty.algorithms,
                userVerification: .preferred
            )
        )
        let ceremony = AuthenticationCeremony(
            challenge: item.authenticationChallenge,
            userVerification: .discouraged
        )
        var refusedCount = 0
        var count = 0
        func attempt(_ response: AuthenticationResponse) {
            count += 1
            do throws(WebAuthnError) {
                _ = try relyingParty.verify(
                    response,
                    for: ceremony,
                    record: registration.record,
                    userHandle: [1],
                    isUserKnown: true
                )
                Issue.record("accepted with a changed byte")
            } catch {
                refusedCount += 1
            }
        }
        let original = item.authentication
        for index in original.clientDataJSON.indices {
            var changed = original.clientDataJSON
            changed[index] ^= 1
            attempt(original.with(clientDataJSON: changed))
        }
        for index in original.authenticatorData.indices {
            var changed = original.authenticatorData
            changed[index] ^= 1
            attempt(original.with(authenticatorData: changed))
        }
        for index in original.signature.indices {
            var changed = original.signature
            changed[index] ^= 1
            attempt(original.with(signature: changed))
        }
        #expect(refusedCount == count)
        #expect(count > 100)
    }

    /// For formats whose signature covers the whole authenticator data.
    @Test(
        "an attested registration with any byte changed is refused, or gives the same record",
        arguments: cases.filter {
            $0.id.hasPrefix("packed-e") && refused[$0.id] == nil || $0.id == "tpm-es256"
        }
    )
    func changedRegistration(_ item: Case) async throws {
        let relyingParty = try relyingParty()
        let ceremony = RegistrationCeremony(
            challenge: item.registrationChallenge,
            algorithms: relyingParty.algorithms,
            userVerification: .discouraged
        )
        let expected = try await relyingParty.verify(item.registration, for: ceremony)
        var refusedCount = 0
        for index in item.registration.attestationObject.indices {
            var changed = item.registration.attestationObject
            changed[index] ^= 4
            let response = RegistrationResponse(
                rawId: item.registration.rawId,
                clientDataJSON: item.registration.clientDataJSON,
                attestationObject: changed
            )
            do throws(WebAuthnError) {
                let found = try await relyingParty.verify(response, for: ceremony)
                #expect(found.record == expected.record)
            } catch {
                refusedCount += 1
            }
        }
        // Every byte is signed but one: the number of unused bits of the certificate's signature, which swift-certificates
        // accepts where the last bits are zero.
        #expect(refusedCount >= item.registration.attestationObject.count - 1)
    }
}

extension AuthenticationResponse {
    func with(
        clientDataJSON: [UInt8]? = nil,
        authenticatorData: [UInt8]? = nil,
        signature: [UInt8]? = nil
    ) -> AuthenticationResponse {
        AuthenticationResponse(
            rawId: rawId,
            clientDataJSON: clientDataJSON ?? self.clientDataJSON,
            authenticatorData: authenticatorData ?? self.authenticatorData,
            signature: signature ?? self.signature,
            userHandle: userHandle
        )
    }
}
