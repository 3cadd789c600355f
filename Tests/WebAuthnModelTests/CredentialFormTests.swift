import CBOR
import Testing
import WebAuthnModel

@Suite("Encodings used by authenticators")
struct CredentialFormTests {
    private let p256 = COSEKey.ec2(
        algorithm: .es256,
        curve: .p256,
        x: [UInt8](repeating: 1, count: 32),
        y: [UInt8](repeating: 2, count: 32)
    )

    @Test("keys of each type are parsed")
    func keys() throws {
        let keys: [COSEKey] = [
            p256,
            .ec2(
                algorithm: .es384,
                curve: .p384,
                x: [UInt8](repeating: 1, count: 48),
                y: [UInt8](repeating: 2, count: 48)
            ),
            .ec2(
                algorithm: .es512,
                curve: .p521,
                x: [UInt8](repeating: 1, count: 66),
                y: [UInt8](repeating: 2, count: 66)
            ),
            .ed25519([UInt8](repeating: 3, count: 32)),
            .rsa(algorithm: .rs256, n: [UInt8](repeating: 0xC1, count: 256), e: [1, 0, 1]),
        ]
        for key in keys { #expect(try COSEKey(parsing: key.encoded) == key) }
    }

    @Test("an incomplete key, and one with extra or mixed members, is refused")
    func brokenKeys() {
        func map(_ pairs: [(Int64, CBORValue)]) -> [UInt8] {
            CBORValue.map(pairs.map { CBORPair(.integer($0.0), $0.1) }).encoded()
        }
        let coordinate = CBORValue.bytes([UInt8](repeating: 1, count: 32))
        let cases: [([UInt8], COSEKeyError)] = [
            ([], .malformed),
            ([0x80], .malformed),
            (map([(1, .integer(2)), (3, .integer(-7)), (-1, .integer(1)), (-2, coordinate)]), .malformed),
            (
                map([
                    (1, .integer(2)), (3, .integer(-7)), (-1, .integer(1)), (-2, coordinate),
                    (-3, .bytes([1])),
                ]),
                .malformed
            ),
            (
                map([
                    (1, .integer(2)), (3, .integer(-35)), (-1, .integer(1)), (-2, coordinate),
                    (-3, coordinate),
                ]),
                .unsupportedAlgorithm(.es384)
            ),
            (
                map([
                    (1, .integer(2)), (3, .integer(-7)), (-1, .integer(8)), (-2, coordinate),
                    (-3, coordinate),
                ]),
                .unsupportedCurve
            ),
            (map([(1, .integer(4)), (3, .integer(-7))]), .unsupportedKeyType),
            (
                map([
                    (1, .integer(2)), (3, .integer(-7)), (-1, .integer(1)), (-2, coordinate),
                    (-3, coordinate),
                    (-4, coordinate),
                ]), .unexpectedParameter
            ),
            (
                map([(1, .integer(3)), (3, .integer(-257)), (-1, .bytes([0, 1])), (-2, .bytes([3]))]),
                .malformed
            ),
            (p256.encoded + [0], .malformed),
        ]
        for (bytes, expected) in cases {
            let error = #expect(throws: COSEKeyError.self) { _ = try COSEKey(parsing: bytes) }
            #expect(error == expected)
        }
    }

    @Test("authenticator data is parsed, and truncated data is refused")
    func authenticatorData() throws {
        let data = AuthenticatorData(
            rpIdHash: [UInt8](repeating: 5, count: 32),
            flags: [.userPresent, .userVerified],
            signCount: 0x0102_0304,
            attestedCredentialData: AttestedCredentialData(
                aaguid: [UInt8](repeating: 6, count: 16),
                credentialId: [1, 2, 3],
                credentialPublicKey: p256.encoded
            ),
            extensions: .map([CBORPair(.text("uvm"), .array([]))])
        )
        let bytes = data.encoded
        #expect(bytes[32] == 0xC5)
        #expect(try AuthenticatorData(parsing: bytes) == data)
        for count in 0..<bytes.count {
            #expect(throws: AuthenticatorDataError.self) {
                _ = try AuthenticatorData(parsing: Array(bytes[..<count]))
            }
        }
        #expect(throws: AuthenticatorDataError.trailingBytes) {
            _ = try AuthenticatorData(parsing: bytes + [0])
        }
    }

    @Test("extension outputs are accepted in any order, without duplicates, and written in canonical order")
    func extensionOrder() throws {
        let prefix = Array(
            AuthenticatorData(rpIdHash: [UInt8](repeating: 5, count: 32), flags: .userPresent, signCount: 1)
                .encoded[..<32]
        )
        func data(_ outputs: [UInt8]) -> [UInt8] { prefix + [0x81, 0, 0, 0, 1] + outputs }
        func text(_ text: String) -> [UInt8] { [0x60 | UInt8(text.utf8.count)] + Array(text.utf8) }
        let secret = text("hmac-secret") + [0xF5]
        let protect = text("credProtect") + [0x01]
        // What Solo sends (solokeys/solo1, issue 499), and the canonical form.
        let solo = [0xA2] + secret + protect
        #expect(solo.count == 27)
        let parsed = try AuthenticatorData(parsing: data(solo))
        #expect(
            parsed.extensions
                == .map([
                    CBORPair(.text("hmac-secret"), .bool(true)), CBORPair(.text("credProtect"), .unsigned(1)),
                ])
        )
        #expect(parsed.encoded == data([0xA2] + protect + secret))
        #expect(try AuthenticatorData(parsing: data([0xA2] + protect + secret)).encoded == parsed.encoded)
        // An inner map in any order.
        let inner: [UInt8] = [0xA1] + text("a") + [0xA2] + text("z") + [0] + text("b") + [0]
        #expect(try AuthenticatorData(parsing: data(inner)).extensions != nil)
        let refused: [[UInt8]] = [
            [0xA2] + secret + secret, [0xA3] + secret + protect + secret,
            [0xA1] + text("a") + [0xA2] + text("z") + [0] + text("z") + [0],
            // Indefinite, with a head longer than needed, with a float, and none.
            [0xBF] + secret + protect + [0xFF], [0xB8, 2] + secret + protect, [0xA1] + text("a") + [0x18, 1],
            [0xA1] + text("a") + [0xF9, 0x3C, 0], [0xA2] + secret,
        ]
        for outputs in refused {
            #expect(throws: AuthenticatorDataError.extensions, "\(outputs)") {
                _ = try AuthenticatorData(parsing: data(outputs))
            }
        }
    }

    @Test("a public key in another than canonical order is refused")
    func keyOrder() throws {
        // alg before kty.
        let canonical = p256.encoded
        let swapped = [canonical[0]] + canonical[3..<5] + canonical[1..<3] + canonical[5...]
        #expect(throws: COSEKeyError.malformed) { _ = try COSEKey(parsing: swapped) }
        let data = AuthenticatorData(
            rpIdHash: [UInt8](repeating: 5, count: 32),
            flags: .userPresent,
            signCount: 1,
            attestedCredentialData: AttestedCredentialData(
                aaguid: [UInt8](repeating: 6, count: 16),
                credentialId: [1],
                credentialPublicKey: swapped
            )
        )
        #expect(throws: AuthenticatorDataError.publicKey) {
            _ = try AuthenticatorData(parsing: data.encoded)
        }
    }

    @Test("client data is serialised as in section 5.8.1.1, and parsed again")
    func clientData() throws {
        let data = CollectedClientData(
            type: "webauthn.get",
            challenge: [0xFB, 0xFF],
            origin: "https://example.org/\"\u{1}\\é"
        )
        #expect(
            String(decoding: data.json, as: UTF8.self)
                == #"{"type":"webauthn.get","challenge":"-_8","origin":"https://example.org/\"\u0001\\é","crossOrigin":false}"#
        )
        #expect(try CollectedClientData(parsing: data.json) == data)
        #expect(try CollectedClientData(parsing: [0xEF, 0xBB, 0xBF] + data.json) == data)
    }
}
