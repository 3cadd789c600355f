import Crypto
import RelyingParty
import Testing
import WebAuthnModel

@Suite("Tokens and proofs")
struct TokenTests {
    @Test("a token's text parses back; mistyped, truncated or of another kind it does not")
    func tokens() throws {
        for kind in OpaqueToken.Kind.allCases {
            let token = OpaqueToken(kind, at: 0x0102_0304_0506)
            #expect(OpaqueToken(token.text, kind) == token)
            #expect(OpaqueToken(token.text, kind)?.digest == token.digest)
            #expect(OpaqueToken(kind, at: 0x0102_0304_0506).text != token.text)
            #expect(token.digest == [1, 2, 3, 4, 5, 6] + SHA256.hash(data: Array(token.text.utf8)))
            for other in OpaqueToken.Kind.allCases where other != kind {
                #expect(OpaqueToken(token.text, other) == nil)
                #expect(OpaqueToken(other.rawValue + token.text.dropFirst(kind.rawValue.count), other) == nil)
            }
            for index in token.text.indices {
                var changed = token.text
                changed.replaceSubrange(index...index, with: token.text[index] == "A" ? "B" : "A")
                #expect(OpaqueToken(changed, kind) == nil)
            }
        }
        #expect(OpaqueToken("", .access) == nil)
    }

    @Test("a token without a time, as earlier versions issued them, is found by its hash alone")
    func tokenWithoutTime() throws {
        let text = "ts_at_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh-PkiXe"
        let token = try #require(OpaqueToken(text, .access))
        #expect(token.digest == Array(SHA256.hash(data: Array(text.utf8))))
        #expect(OpaqueToken(text, .refresh) == nil)
        #expect(OpaqueToken(String(text.dropLast(2)), .access) == nil)
    }

    private let key = P256.Signing.PrivateKey()

    /// A proof with arbitrary parts, signed by the key.
    private func proof(
        header: String? = nil,
        payload: String,
        signer: P256.Signing.PrivateKey? = nil
    ) throws -> String {
        let raw = Array(key.publicKey.rawRepresentation)
        let (x, y) = (Base64URL.encode(raw[..<32]), Base64URL.encode(raw[32...]))
        let jwk = #"{"kty":"EC","crv":"P-256","x":"\#(x)","y":"\#(y)"}"#
        let header = header ?? #"{"typ":"dpop+jwt","alg":"ES256","jwk":\#(jwk)}"#
        let text =
            Base64URL.encode(header.replacing("JWK", with: jwk).utf8) + "." + Base64URL.encode(payload.utf8)
        let signature = try (signer ?? key).signature(for: Array(text.utf8))
        return text + "." + Base64URL.encode(signature.rawRepresentation.map { $0 })
    }

    private let good = #"{"jti":"1","htm":"POST","htu":"https://a.example/token","iat":1000}"#

    private func refusal(_ jwt: String) -> DPoPProof.Refusal? {
        do throws(DPoPProof.Refusal) {
            _ = try DPoPProof(
                verifying: jwt,
                for: .init(method: "POST", url: "https://a.example/token", now: 1000)
            )
            return nil
        } catch {
            return error
        }
    }

    @Test("a malformed proof is refused")
    func brokenProofs() throws {
        #expect(refusal(try proof(payload: good)) == nil)
        #expect(refusal(try proof(payload: good, signer: P256.Signing.PrivateKey())) == .invalidSignature)
        let headers: [(String, DPoPProof.Refusal)] = [
            (#"{"typ":"JWT","alg":"ES256","jwk":JWK}"#, .unsupported),
            (#"{"typ":"dpop+jwt","alg":"none","jwk":JWK}"#, .unsupported),
            (#"{"typ":"dpop+jwt","alg":"HS256","jwk":JWK}"#, .unsupported),
            (#"{"typ":"dpop+jwt","alg":"ES256","crit":["x"],"jwk":JWK}"#, .unsupported),
            (#"{"typ":"dpop+jwt","alg":"ES256"}"#, .malformed),
            (#"{"typ":"dpop+jwt","alg":"ES256","jwk":{"kty":"oct","k":"AA"}}"#, .unsupported),
            (#"{"typ":"dpop+jwt","alg":"ES256","alg":"none","jwk":JWK}"#, .malformed),
            (
                #"{"typ":"dpop+jwt","alg":"ES256","jwk":{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}}"#,
                .malformed
            ),
            (
                #"{"typ":"dpop+jwt","alg":"ES256","jwk":{"kty":"EC","crv":"P-256","x":"AA","y":"AA","d":"AA"}}"#,
                .unsupported
            ),
        ]
        for (header, expected) in headers {
            #expect(refusal(try proof(header: header, payload: good)) == expected)
        }
        for name in ["jti", "htm", "htu", "iat"] {
            #expect(refusal(try proof(payload: good.replacing("\"\(name)\"", with: "\"x\""))) == .malformed)
        }
        #expect(
            refusal(try proof(payload: good.replacing("1000", with: "-9223372036854775808"))) == .otherTime
        )
        #expect(
            refusal(try proof(payload: good.replacing("1000", with: "9223372036854775807"))) == .otherTime
        )
        for text in ["", ".", "..", "a.b.c", String(repeating: "A", count: 5000)] {
            #expect(refusal(text) == .malformed)
        }
    }

    @Test("a nonce is accepted in its interval and the next, and only with its key")
    func nonces() {
        let nonces = DPoPNonces(key: [UInt8](repeating: 1, count: 32))
        let nonce = nonces.nonce(at: 6000)
        #expect(nonces.accepts(nonce, at: 6000))
        #expect(nonces.accepts(nonce, at: 6599))
        #expect(!nonces.accepts(nonce, at: 6600))
        #expect(!nonces.accepts(nonce, at: 5999))
        #expect(!nonces.accepts("", at: 6000))
        #expect(!DPoPNonces(key: [UInt8](repeating: 2, count: 32)).accepts(nonce, at: 6000))
    }

    @Test("a transaction's challenge depends on its details and nonce, not on the order of members")
    func transactions() throws {
        func challenge(_ details: String, _ nonce: UInt8 = 1) throws -> [UInt8] {
            let object = try #require(try JSONValue(parsing: Array(details.utf8)).object)
            return try TransactionChallenge.challenge(
                details: object,
                nonce: [UInt8](repeating: nonce, count: 32)
            )
        }
        let one = try challenge(#"{"payee":"Anna","amount":"12.30"}"#)
        #expect(one == (try challenge(#" { "amount" : "12.30", "payee" : "Ann\u0061" } "#)))
        #expect(one != (try challenge(#"{"payee":"Anna","amount":"12.3"}"#)))
        #expect(one != (try challenge(#"{"payee":"Anna","amount":"12.30"}"#, 2)))
        #expect(throws: CanonicalJSON.Unsupported.self) { _ = try challenge(#"{"amount":12.30}"#) }
        #expect(throws: CanonicalJSON.Unsupported.self) { _ = try challenge(#"{"amount":9007199254740993}"#) }
    }

    /// RFC 8785, section 3.2.3: sorted by UTF-16, so a character beyond the Basic Multilingual Plane comes before U+FB33.
    @Test("canonical JSON follows RFC 8785")
    func canonicalJSON() throws {
        let text =
            #"{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Dalet","1":"One","\ud83d\ude00":"Smiley","\u0080":"Control","\u00f6":"O"}"#
        let value = try JSONValue(parsing: Array(text.utf8))
        let expected =
            "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u{80}\":\"Control\",\"ö\":\"O\",\"€\":\"Euro Sign\","
            + "\"😀\":\"Smiley\",\"\u{FB33}\":\"Dalet\"}"
        #expect(String(decoding: try CanonicalJSON.encode(value), as: UTF8.self) == expected)
        let escapes = try JSONValue(parsing: Array(#"["\u0001\u001f\b\t\n\f\r\"\\\/é"]"#.utf8))
        #expect(
            String(decoding: try CanonicalJSON.encode(escapes), as: UTF8.self)
                == #"["\u0001\u001f\b\t\n\f\r\"\\/é"]"#
        )
    }
}
