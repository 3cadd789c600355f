internal import Crypto
internal import WebAuthn
internal import WebAuthnModel

/// Measures how many logins a core verifies, compared to the signature alone: `Scripts/benchmark-server`.
@main
struct WebAuthnBench {
    private static let challenge = [UInt8](repeating: 9, count: 32)

    /// A login as received over HTTP, and the server's data for it.
    private struct Login {
        let json: [UInt8]
        let record: CredentialRecord
        let message: [UInt8]
        let signature: [UInt8]
        let rawKey: [UInt8]

        init() throws {
            let key = P256.Signing.PrivateKey()
            let raw = Array(key.publicKey.rawRepresentation)
            let id = [UInt8](repeating: 5, count: 32)
            record = CredentialRecord(
                id: id,
                publicKey: COSEKey.ec2(
                    algorithm: .es256,
                    curve: .p256,
                    x: Array(raw[..<32]),
                    y: Array(raw[32...])
                ).encoded,
                signCount: 0,
                uvInitialized: true,
                backupEligible: false,
                backupState: false,
                isHardwareBound: false
            )
            let clientData = CollectedClientData(
                type: "webauthn.get",
                challenge: challenge,
                origin: "https://example.org"
            ).json
            let data = AuthenticatorData(
                rpIdHash: Array(SHA256.hash(data: Array("example.org".utf8))),
                flags: [.userPresent, .userVerified],
                signCount: 1
            ).encoded
            message = data + Array(SHA256.hash(data: clientData))
            signature = Array(try key.signature(for: message).derRepresentation)
            rawKey = raw
            func quoted(_ bytes: [UInt8]) -> String { "\"\(Base64URL.encode(bytes))\"" }
            let response =
                "{\"clientDataJSON\":\(quoted(clientData)),\"authenticatorData\":\(quoted(data)),"
                + "\"signature\":\(quoted(signature))}"
            json = Array(
                """
                {"id":\(quoted(id)),"rawId":\(quoted(id)),"type":"public-key","response":\(response),\
                "clientExtensionResults":{},"authenticatorAttachment":"platform"}
                """.utf8
            )
        }
    }

    static func main() throws {
        let login = try Login()
        let relyingParty = RelyingParty(id: "example.org", origins: ["https://example.org"])
        let ceremony = AuthenticationCeremony(challenge: challenge, allowedCredentials: [login.record.id])
        func verify() throws {
            _ = try relyingParty.verify(
                try AuthenticationResponse(try JSONValue(parsing: login.json)),
                for: ceremony,
                record: login.record,
                userHandle: [1],
                isUserKnown: true
            )
        }
        func bare() throws {
            let key = try P256.Signing.PublicKey(rawRepresentation: login.rawKey)
            let signature = try P256.Signing.ECDSASignature(derRepresentation: login.signature)
            guard key.isValidSignature(signature, for: SHA256.hash(data: login.message)) else {
                throw WebAuthnBenchFailure()
            }
        }
        // Alternating, so that both are measured under the same conditions.
        var ours: [Double] = []
        var limit: [Double] = []
        for _ in 0..<15 {
            limit.append(try rate(bare))
            ours.append(try rate(verify))
        }
        let (our, bareRate) = (median(ours), median(limit))
        print("login verified: \(Int(our)) /s a core; the signature alone: \(Int(bareRate)) /s")
        print("ratio \(hundredths(our / bareRate)), bound 0.8")
        if our / bareRate < 0.8 { throw WebAuthnBenchFailure() }
    }

    /// How many times per second `body` runs, measured over a tenth of a second.
    private static func rate(_ body: () throws -> Void) rethrows -> Double {
        let clock = ContinuousClock()
        let start = clock.now
        var count = 0
        while clock.now - start < .milliseconds(100) {
            for _ in 0..<50 { try body() }
            count += 50
        }
        return Double(count) / ((clock.now - start) / .seconds(1))
    }

    private static func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

    private static func hundredths(_ value: Double) -> String {
        let whole = Int((value * 100).rounded())
        return "\(whole / 100).\(whole % 100 < 10 ? "0" : "")\(whole % 100)"
    }
}

struct WebAuthnBenchFailure: Error {}
