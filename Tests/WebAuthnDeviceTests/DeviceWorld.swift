import CBOR
import Crypto
import Foundation
import KeychainClient
import KeychainModel
import Testing
import TouchstoneTesting
import WebAuthnDevice
import WebAuthnModel

/// A device with its daemon, and the requests of a relying party.
struct DeviceWorld {
    static let relyingParty = "example.org"
    static let origin = "linux:app-id:org.example.Bank"

    let keychain: PrivateKeychain
    let chip: SoftwareTPM?

    init(_ chip: SoftwareTPM.Chip?, bus: PrivateBus? = nil) async throws {
        let chip = if let chip { try await SoftwareTPM.start(chip) } else { SoftwareTPM?.none }
        self.chip = chip
        keychain = try await PrivateKeychain.ready(
            bus: bus,
            tpm: chip?.tcti,
            settings: bus.map { ["test.template-directory = \($0.templateDirectory)"] } ?? []
        )
    }

    /// The device as used by an app.
    func device(_ relyingParty: String = relyingParty, _ origin: String = origin, place: PromptOrigin? = nil)
        -> DeviceAuthenticator
    {
        DeviceAuthenticator(
            relyingParty: relyingParty,
            origin: origin,
            keychain: keychain.client,
            place: place ?? keychain.prompt().origin
        )
    }

    /// A server's `publicKey` options for a registration.
    static func creation(
        _ challenge: [UInt8] = Array(0..<32),
        relyingParty: String = relyingParty,
        algorithms: [Int64] = [-8, -7, -257],
        excluded: [[UInt8]] = [],
        attestation: String? = "direct"
    ) -> JSONValue {
        JSONValue(members: [
            "rp": ["id": .string(relyingParty), "name": "Example"],
            "user": ["id": JSONValue(base64URL: [7, 7, 7]), "name": "anna", "displayName": "Anna"],
            "challenge": JSONValue(base64URL: challenge),
            "pubKeyCredParams": .array(algorithms.map { ["type": "public-key", "alg": .integer($0)] }),
            "excludeCredentials": .array(
                excluded.map { ["type": "public-key", "id": JSONValue(base64URL: $0)] }
            ), "attestation": attestation.map { .string($0) },
        ])
    }

    /// A server's `publicKey` options for a login.
    static func request(
        _ challenge: [UInt8] = Array(32..<64),
        relyingParty: String = relyingParty,
        allowed: [[UInt8]] = []
    ) -> JSONValue {
        [
            "challenge": JSONValue(base64URL: challenge), "rpId": .string(relyingParty),
            "allowCredentials": .array(
                allowed.map { ["type": "public-key", "id": JSONValue(base64URL: $0)] }
            ),
        ]
    }

    func register(
        _ verification: UserVerification = .passcode,
        attestation: String? = "direct"
    ) throws -> RegistrationResponse {
        try device().register(
            try CreationOptions(parsing: Self.creation(attestation: attestation)),
            verification: verification,
            reason: "a test"
        )
    }
}

/// A registration, parsed independently of the device's code.
struct ReadRegistration {
    let format: String
    let statement: [CBORPair]
    let dataBytes: [UInt8]
    let data: AuthenticatorData
    let key: P256.Signing.PublicKey
    let clientData: CollectedClientData
    /// The data that the attestation signs.
    let signed: [UInt8]

    init(_ response: RegistrationResponse) throws {
        guard case .map(let members) = try CBORValue(decoding: response.attestationObject),
            case .text(let format) = try #require(members.first { $0.key == .text("fmt") }?.value),
            case .map(let statement) = try #require(members.first { $0.key == .text("attStmt") }?.value),
            case .bytes(let bytes) = try #require(members.first { $0.key == .text("authData") }?.value)
        else { throw TestKitError.unexpected("no attestation object") }
        #expect(members.count == 3)
        self.format = format
        self.statement = statement
        dataBytes = bytes
        data = try AuthenticatorData(parsing: bytes)
        let credential = try #require(data.attestedCredentialData)
        guard case .ec2(.es256, .p256, let x, let y) = try COSEKey(parsing: credential.credentialPublicKey)
        else {
            throw TestKitError.unexpected("no key of ES256")
        }
        key = try P256.Signing.PublicKey(rawRepresentation: x + y)
        clientData = try CollectedClientData(parsing: response.clientDataJSON)
        signed = bytes + Array(SHA256.hash(data: response.clientDataJSON))
    }

    /// A byte string member of the statement.
    func bytes(_ name: String) throws -> [UInt8] {
        guard case .bytes(let bytes)? = statement.first(where: { $0.key == .text(name) })?.value else {
            throw TestKitError.unexpected("no \(name)")
        }
        return bytes
    }
}

extension AuthenticatorData {
    /// The entries of the extension `uvm`, each with the kind of key protection.
    var methods: [[UInt64]] {
        guard case .map(let pairs)? = extensions, pairs.count == 1, pairs[0].key == .text("uvm"),
            case .array(let entries) = pairs[0].value
        else { return [] }
        return entries.map { entry in
            guard case .array(let numbers) = entry else { return [] }
            return numbers.map { number in
                guard case .unsigned(let number) = number else { return .max }
                return number
            }
        }
    }
}
