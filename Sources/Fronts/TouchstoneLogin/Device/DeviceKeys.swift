internal import Foundation
internal import KeychainClient
internal import KeychainModel
internal import Touchstone
internal import WebAuthnDevice
internal import WebAuthnModel

/// This device's keys for one server: the credential keys, which sign after the user has authenticated, and the session
/// key for DPoP, which needs no prompt while the keychain is unlocked.
///
/// All calls to the daemon run on a thread of their own.
struct DeviceKeys: Sendable {
    let keychain: Keychain
    /// The server's origin, which is also the app's.
    let origin: String
    /// The server's host.
    let host: String

    // MARK: The session key

    /// Makes a session key.
    func makeProofKey() async throws(TouchstoneError) -> Data {
        try await keychain.perform(.standard) { client, prompt, cancellation throws(TouchstoneError) in
            try onDevice { () throws(DeviceError) in
                Data(try ProofKey(keychain: client, asking: prompt, cancellation: cancellation).encoded)
            }
        }
    }

    /// Makes a DPoP proof for one request, with or without an access token; without a text no prompt may be shown.
    func proof(
        by key: Data,
        _ method: String,
        _ url: String,
        nonce: String?,
        access: String?,
        asking text: PromptText? = .standard
    ) async throws(TouchstoneError) -> String {
        try await keychain.perform(text) { client, prompt, cancellation throws(TouchstoneError) in
            try onDevice { () throws(DeviceError) in
                try ProofKey(parsing: Array(key), keychain: client)
                    .proof(
                        method: method,
                        url: url,
                        nonce: nonce,
                        accessToken: access,
                        asking: prompt,
                        cancellation: cancellation
                    )
            }
        }
    }

    // MARK: Credentials

    /// A new credential that is not registered with a server yet.
    struct Made: Sendable {
        let id: Data
        let credential: Data
        let response: JSONValue
    }

    /// Makes a credential after the user has consented; stores nothing.
    ///
    /// The signed data include what the device is, and what was shown.
    func register(
        _ options: CreationOptions,
        _ rule: AccessRule,
        label: String,
        certificates: [[UInt8]],
        _ prompt: PromptText
    ) async throws(TouchstoneError) -> Made {
        try await keychain.perform(prompt) { client, fields, cancellation throws(TouchstoneError) in
            let access = try rule.keyControl(on: client)
            let status = try Self.status(of: client)
            return try onDevice { () throws(DeviceError) in
                let made = try authenticator(client, options.relyingParty).register(
                    options,
                    access: access,
                    certificates: certificates,
                    asking: fields,
                    cancellation: cancellation
                ) { factors, isHardware, enrolment in
                    let assurance = Touchstone.Assurance(ofUseUnder: rule, factors, status, isHardware)
                    let consent = prompt.consent(
                        label: label,
                        rule: rule,
                        server: origin,
                        language: fields.origin.language
                    )
                    return [("touchstone", assurance.statement(enrolment, status, consent))]
                }
                return Made(
                    id: Data(made.credential.id),
                    credential: Data(made.credential.encoded),
                    response: made.json
                )
            }
        }
    }

    /// Signs a challenge with a credential's key, after a prompt; the signed data include what the use is worth.
    ///
    /// - Throws: `TouchstoneError`: `invalidated`, `deviceRevoked` if the server requests another credential, and the errors
    ///   of a prompt.
    func assert(
        _ options: RequestOptions,
        by credential: Data,
        _ rule: AccessRule,
        _ prompt: PromptText
    ) async throws(TouchstoneError) -> (response: JSONValue, assurance: Touchstone.Assurance) {
        try await keychain.perform(prompt) { client, fields, cancellation throws(TouchstoneError) in
            let status = try Self.status(of: client)
            return try onDevice { () throws(DeviceError) in
                var assurance = Touchstone.Assurance.withoutKey(HardwareLevel(status.assurance))
                let signed = try authenticator(client, options.relyingParty).assert(
                    options,
                    by: try DeviceCredential(parsing: Array(credential)),
                    asking: fields,
                    cancellation: cancellation
                ) { factors, isHardware, enrolment in
                    assurance = Touchstone.Assurance(ofUseUnder: rule, factors, status, isHardware)
                    return [("touchstone", assurance.statement(enrolment, status))]
                }
                return (signed.json, assurance)
            }
        }
    }

    private static func status(of client: RemoteKeychain) throws(TouchstoneError) -> StatusReply {
        do throws(KeychainError) { return try client.status() } catch { throw TouchstoneError(below: error) }
    }

    /// The account of a credential: the user handle that the server gave, in base64url.
    static func account(of credential: Data) throws(TouchstoneError) -> String {
        try onDevice { () throws(DeviceError) in
            Base64URL.encode(try DeviceCredential(parsing: Array(credential)).userHandle)
        }
    }

    /// The representation of a credential's key.
    static func representation(of credential: Data) throws(TouchstoneError) -> [UInt8] {
        try onDevice { () throws(DeviceError) in
            try DeviceCredential(parsing: Array(credential)).representation
        }
    }

    /// Whether a credential's key can still be used; shows no prompt.
    ///
    /// - Throws: `TouchstoneError`: `locked`, and other errors that prevent the check.
    func isUsable(_ credential: Data) async throws(TouchstoneError) -> Bool {
        do throws(TouchstoneError) {
            try await keychain.perform(nil) { client, fields, cancellation throws(TouchstoneError) in
                try onDevice { () throws(DeviceError) in
                    let credential = try DeviceCredential(parsing: Array(credential))
                    do throws(KeychainError) {
                        let key = ReadKey(representation: credential.representation, prompt: fields)
                        _ = try client.readKey(key, cancellation: cancellation)
                    } catch {
                        throw DeviceError.keychain(error)
                    }
                }
            }
            return true
        } catch {
            guard error.code == .invalidated || error.code == .deleted else { throw error }
            return false
        }
    }

    /// What protects the keychain.
    func hardwareLevel() async throws(TouchstoneError) -> HardwareLevel {
        try await keychain.perform(nil) { client, _, _ throws(TouchstoneError) in
            try HardwareLevel(of: client)
        }
    }

    // MARK: Attestation

    /// The identity of this device's chip, to send to a server's attestation CA; nil without a chip.
    func beginAttestation() async throws(TouchstoneError) -> AttestationEnrolment? {
        try await keychain.perform(.standard) { client, _, _ throws(TouchstoneError) in
            do throws(DeviceError) {
                return try AttestationEnrolment(keychain: client)
            } catch {
                guard error.isWithoutChip else { throw TouchstoneError(error) }
                return nil
            }
        }
    }

    /// Decrypts the CA's secret with the chip.
    func activate(
        _ enrolment: AttestationEnrolment,
        _ answer: JSONObject
    ) async throws(TouchstoneError) -> JSONValue {
        try await keychain.perform(.standard) { _, _, _ throws(TouchstoneError) in
            try onDevice { () throws(DeviceError) in try enrolment.activate(.object(answer)) }
        }
    }

    /// The authenticator for a relying party that the server is allowed to represent: its own host or a
    /// parent domain.
    ///
    /// - Throws: ``DeviceError/otherRelyingParty(_:)``.
    private func authenticator(
        _ client: RemoteKeychain,
        _ relyingParty: String
    ) throws(DeviceError) -> DeviceAuthenticator {
        let isAbove = relyingParty.contains(".") && host.hasSuffix(".\(relyingParty)")
        guard relyingParty == host || isAbove else { throw .otherRelyingParty(relyingParty) }
        return DeviceAuthenticator(relyingParty: relyingParty, origin: origin, keychain: client)
    }
}

extension Touchstone.Assurance {
    /// What a registration or an assertion is worth: each has a prompt of its own, even if the rule is reusable for reads of the
    /// token.
    fileprivate init(
        ofUseUnder rule: AccessRule,
        _ factors: Set<AuthenticationFactor>,
        _ status: StatusReply,
        _ isHardware: Bool
    ) {
        self.init(
            ofKeyUnder: rule.reusable(for: .zero),
            factors,
            status,
            hardware: isHardware ? HardwareLevel(status.assurance) : .software
        )
    }
}

/// Runs the device's part of a ceremony and converts its errors to `TouchstoneError`.
func onDevice<R>(_ body: () throws(DeviceError) -> R) throws(TouchstoneError) -> R {
    do throws(DeviceError) {
        return try body()
    } catch {
        throw TouchstoneError(error)
    }
}

extension TouchstoneError {
    /// The error of `Touchstone` for an error of the device's part.
    init(_ error: DeviceError) {
        switch error {
        case .options(let member): self = .badReply(member)
        case .otherRelyingParty(let name):
            self.init(
                .untrustedServer,
                part: "server",
                details: ["it speaks for another relying party: \(name.loggable)"]
            )
        case .algorithm: self.init(.unsupported, part: "server", cause: "no ES256")
        case .credentialExists: self.init(.alreadyExists)
        case .credentialNotAllowed:
            self.init(.deviceRevoked, part: "server", cause: "credentialNotAllowed")
        case .damaged: self.init(.damaged, details: ["the record of a device"])
        case .keychain(let refusal): self.init(below: refusal.error)
        }
    }
}
