import CBOR
import WebAuthnModel

/// A relying party's input from clients: JSON, client data, authenticator data, public keys.
///
/// The first byte selects the form.
enum CredentialFormsTarget: FuzzTarget {
    static let name = "credential-forms"

    static func run(_ input: Span<UInt8>) {
        let bytes = input.array
        guard let first = bytes.first else { return }
        let rest = Array(bytes.dropFirst())
        switch first {
        case UInt8(ascii: "d"):
            guard let data = try? AuthenticatorData(parsing: rest) else { return }
            // The reserved bits are not preserved; everything else is.
            if data.flags.isSubset(of: [
                .userPresent, .userVerified, .backupEligible, .backupState, .attestedCredentialData,
                .extensionData,
            ]) {
                // The keys of extension outputs may have come in another order.
                let canonical = data.encoded
                require(canonical.count == rest.count, "only the order of keys is free")
                require(
                    data.extensions != nil || canonical == rest,
                    "without extensions there is one encoding"
                )
                let again = try? AuthenticatorData(parsing: canonical)
                require(again?.encoded == canonical, "the canonical form has one encoding")
            }
        case UInt8(ascii: "k"):
            guard let key = try? COSEKey(parsing: rest) else { return }
            require((try? COSEKey(parsing: key.encoded)) == key, "a key reads back")
        case UInt8(ascii: "c"):
            guard let data = try? CollectedClientData(parsing: rest) else { return }
            require((try? CollectedClientData(parsing: data.json)) == data, "client data read back")
        case UInt8(ascii: "b"):
            let text = String(decoding: rest, as: UTF8.self)
            guard let decoded = Base64URL.decode(text) else { return }
            require(Base64URL.encode(decoded) == text, "bytes have one text")
        default:
            _ = try? JSONValue(parsing: rest)
        }
    }

    static func seeds() -> [[UInt8]] {
        let key = COSEKey.ec2(algorithm: .es256, curve: .p256, x: octets(32), y: octets(32, from: 40))
        let rsa = COSEKey.rsa(algorithm: .rs256, n: octets(256), e: [1, 0, 1])
        let new = AuthenticatorData(
            rpIdHash: octets(32),
            flags: [.userPresent, .userVerified],
            signCount: 1,
            attestedCredentialData: AttestedCredentialData(
                aaguid: octets(16),
                credentialId: octets(32),
                credentialPublicKey: key.encoded
            )
        )
        let login = AuthenticatorData(
            rpIdHash: octets(32),
            flags: .userPresent,
            signCount: 7,
            extensions: .map([CBORPair(.text("uvm"), .array([]))])
        )
        // Solo's outputs, not in canonical order: {"hmac-secret": true, "credProtect": 1}.
        let unordered: [UInt8] =
            [0xA2]
            + [0x6B] + Array("hmac-secret".utf8) + [0xF5] + [0x6B] + Array("credProtect".utf8) + [0x01]
        let solo = Array(login.encoded[..<37]) + unordered
        let clients = [
            CollectedClientData(type: "webauthn.get", challenge: octets(32), origin: "https://example.org"),
            CollectedClientData(
                type: "webauthn.create",
                challenge: octets(16),
                origin: "https://example.org",
                crossOrigin: true,
                topOrigin: "https://example.com"
            ),
        ]
        let documents = [
            "{}", "[]", "null", "-1.5e-3", #""\u00e9\ud83d\ude00\n""#, #"{"a":[1,2,{"b":true}],"c":"d"}"#,
            "[[[[[[[[]]]]]]]]", "[[[[[[[[[]]]]]]]]]", #"{"a":1,"a":2}"#, "[1,]", "\"\u{1}\"", "01", "1e999",
        ]
        var seeds: [[UInt8]] = []
        for (letter, bodies) in [
            ("d", [new.encoded, login.encoded, solo]),
            ("k", [key.encoded, rsa.encoded, COSEKey.ed25519(octets(32)).encoded]),
            ("c", clients.map(\.json)),
            ("b", ["Zm9vYmFy", "-_8", "Zg", "Zh", "A"].map { Array($0.utf8) }),
            ("j", documents.map { Array($0.utf8) }),
        ] {
            for body in bodies {
                seeds.append(Array(letter.utf8) + body)
                if body.count > 8 { seeds += damaged(body).map { Array(letter.utf8) + $0 } }
            }
        }
        return seeds
    }
}
