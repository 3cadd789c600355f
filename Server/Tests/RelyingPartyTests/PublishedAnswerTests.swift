import Crypto
import RelyingParty
import TestVectors
import Testing
import WebAuthnModel

@Suite("Published test vectors", .vectors)
struct PublishedAnswerTests {
    @Test("a credential for a TPM equals go-tpm's output for the same inputs, byte for byte")
    func makeCredential() throws {
        let file = try Vectors.json("tpm-makecredential.json")
        let answer = try #require(file["ecc"]?.object)
        let activation = try CredentialActivation(
            try file.hexadecimal("secret"),
            try file.hexadecimal("akName"),
            to: try answer.hexadecimal("ekPublicX963"),
            ephemeral: P256.KeyAgreement.PrivateKey(
                rawRepresentation: try answer.hexadecimal("ephemeralPrivate")
            )
        )
        #expect(activation.credentialBlob == (try answer.hexadecimal("TPM2B_ID_OBJECT")))
        #expect(activation.encryptedSecret == (try answer.hexadecimal("TPM2B_ENCRYPTED_SECRET")))
        // For an RSA key the seed is encrypted; the rest depends on the seed only, not on the key.
        let rsa = try #require(file["rsa"]?.object)
        let sealed = try CredentialActivation(
            try file.hexadecimal("secret"),
            try file.hexadecimal("akName"),
            toRSA: [UInt8](repeating: 0xFF, count: 256),
            [1, 0, 1],
            seed: try rsa.hexadecimal("seed")
        )
        #expect(sealed.credentialBlob == (try rsa.hexadecimal("TPM2B_ID_OBJECT")))
        #expect(sealed.encryptedSecret.count == 258)
    }

    @Test("stored passwords match scrypt (RFC 7914) with OWASP's parameters")
    func scrypt() throws {
        var count = 0
        for value in try #require(try Vectors.json("scrypt.json")["cases"]?.array) {
            guard let item = value.object, let text = item["phc"]?.string,
                let password = item["password"]?.string
            else { continue }
            count += 1
            let hash = try #require(PasswordHash(text))
            #expect(hash.description == text)
            #expect(try hash.matches(password))
        }
        #expect(count == 5)
    }

    @Test("the proofs of RFC 9449 are accepted only for their own request and time")
    func dpop() throws {
        let file = try Vectors.json("dpop-rfc9449.json")
        var count = 0
        for value in try #require(file["cases"]?.array) {
            guard let item = value.object, item["header"]?.object?["typ"]?.string == "dpop+jwt",
                let jwt = item["jwt"]?.string, let payload = item["payload"]?.object,
                let method = payload["htm"]?.string, let url = payload["htu"]?.string,
                let time = payload["iat"]?.integer
            else { continue }
            count += 1
            let token = payload["ath"] == nil ? nil : file["accessTokenForAth"]?.string
            func verify(_ method: String, _ url: String, _ now: Int64, token: String?) throws -> DPoPProof {
                try DPoPProof(
                    verifying: jwt,
                    for: .init(method: method, url: url, now: now, accessToken: token)
                )
            }
            let proof = try verify(method, url + "?a=b", time + 60, token: token)
            #expect(proof.thumbprint == item["jkt"]?.bytes)
            #expect(proof.jti == payload["jti"]?.string)
            #expect(throws: DPoPProof.Refusal.otherTime) {
                _ = try verify(method, url, time + 61, token: token)
            }
            #expect(throws: DPoPProof.Refusal.otherTime) {
                _ = try verify(method, url, time - 61, token: token)
            }
            #expect(throws: DPoPProof.Refusal.otherRequest) { _ = try verify("PUT", url, time, token: token) }
            #expect(throws: DPoPProof.Refusal.otherRequest) {
                _ = try verify(method, url + "/x", time, token: token)
            }
            #expect(throws: DPoPProof.Refusal.otherToken) {
                _ = try verify(method, url, time, token: "other")
            }
            #expect(throws: DPoPProof.Refusal.otherNonce) {
                _ = try DPoPProof(
                    verifying: jwt,
                    for: .init(method: method, url: url, now: time, acceptsNonce: { _ in true })
                )
            }
        }
        #expect(count == 3)
    }
}
