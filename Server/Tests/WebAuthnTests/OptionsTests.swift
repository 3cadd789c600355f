import Foundation
import Testing
import WebAuthn
import WebAuthnModel

@Suite("Options for a client")
struct OptionsTests {
    private func json(_ options: some Encodable) throws -> JSONObject {
        try #require(try JSONValue(parsing: Array(try JSONEncoder().encode(options))).object)
    }

    @Test("registration options have the form of WebAuthn Level 3")
    func creation() throws {
        let options = PublicKeyCredentialCreationOptions(
            rp: RelyingPartyEntity(id: "example.org", name: "Example"),
            user: UserEntity(id: [1, 2, 3], name: "anna", displayName: "Anna"),
            challenge: [UInt8](repeating: 255, count: 32),
            algorithms: [.es256, .rs256],
            excludeCredentials: [PublicKeyCredentialDescriptor(id: [9], transports: ["internal"])],
            attestation: "direct"
        )
        let object = try json(options)
        #expect(object["challenge"]?.bytes == options.challenge.bytes)
        #expect(object["challenge"]?.string?.contains("=") == false)
        #expect(object["user"]?.object?["id"]?.string == "AQID")
        #expect(object["timeout"]?.integer == 300_000)
        #expect(object["pubKeyCredParams"]?.array?.map { $0.object?["alg"]?.integer } == [-7, -257])
        #expect(object["pubKeyCredParams"]?.array?.first?.object?["type"]?.string == "public-key")
        #expect(object["excludeCredentials"]?.array?.first?.object?["id"]?.string == "CQ")
        #expect(object["authenticatorSelection"]?.object?["userVerification"]?.string == "required")
        #expect(object["authenticatorSelection"]?.object?["authenticatorAttachment"] == nil)
        #expect(object["attestation"]?.string == "direct")
    }

    @Test("login options have the form of WebAuthn Level 3")
    func request() throws {
        let object = try json(
            PublicKeyCredentialRequestOptions(
                challenge: [1],
                timeout: .seconds(60),
                rpId: "example.org",
                allowCredentials: [PublicKeyCredentialDescriptor(id: [9])]
            )
        )
        #expect(object["rpId"]?.string == "example.org")
        #expect(object["timeout"]?.integer == 60_000)
        #expect(object["allowCredentials"]?.array?.count == 1)
        #expect(object["userVerification"]?.string == "required")
    }
}
