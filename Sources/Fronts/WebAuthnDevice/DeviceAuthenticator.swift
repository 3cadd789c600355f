internal import CBOR
internal import Crypto
package import KeychainClient
package import KeychainModel
package import WebAuthnModel

/// The device as a WebAuthn authenticator: the daemon holds the credentials' keys, in the TPM or in software, and uses
/// a key after the user has met its access control.
///
/// ```swift
/// let device = DeviceAuthenticator(relyingParty: "example.org", origin: "linux:app-id:org.example.Bank")
/// let made = try device.register(CreationOptions(parsing: publicKey), verification: .either, reason: "Trust this computer")
/// let signed = try device.assert(RequestOptions(parsing: publicKey), by: made.credential, reason: "Sign in")
/// ```
///
/// Calls block while the user is asked. Keys are bound to their device, so the flags BE and BS are never set. The daemon counts each
/// key's signatures, durably and before it signs, and writes the number into what it signs: `signCount` (Level 3, section 6.1.1). An
/// interrupted signature only skips a number. Without a TPM, an older copy of all the keychain's files brings an older number back,
/// which a server refuses; with one, the daemon refuses the copy. Keys of earlier versions are not counted: their `signCount` stays 0.
/// The flag UV is set only when the daemon reports that the user was verified for this use.
public struct DeviceAuthenticator: Sendable {
    /// The AAGUID: one for all devices with Touchstone.
    public static let aaguid: [UInt8] = [
        0xE4, 0xCE, 0x03, 0x70, 0xF0, 0x38, 0x4E, 0xBC, 0xB1, 0xA6, 0x7B, 0x9C, 0xF2, 0xFA, 0x03, 0x31,
    ]

    /// The RP ID that the app signs in to.
    public let relyingParty: String
    /// The app's origin, as its server knows it: a web origin, or one such as
    /// `linux:app-id:org.example.Bank`.
    public let origin: String
    private let keychain: RemoteKeychain
    /// Where prompts appear; nil: where this process runs.
    private let place: PromptOrigin?

    /// Makes an app's authenticator for one relying party.
    public init(relyingParty: String, origin: String) {
        self.init(relyingParty: relyingParty, origin: origin, keychain: .shared)
    }

    /// Makes an authenticator for a keychain other than the user's, and with prompts at another place.
    package init(relyingParty: String, origin: String, keychain: RemoteKeychain, place: PromptOrigin? = nil) {
        self.relyingParty = relyingParty
        self.origin = origin
        self.keychain = keychain
        self.place = place
    }

    // MARK: Ceremonies

    /// Makes a credential (`authenticatorMakeCredential`, section 6.3.2).
    ///
    /// The attestation is `tpm` if a chip holds the key and there are `certificates` of its attestation key, `none` if the
    /// relying party requests none, and otherwise `packed` with the credential's own key.
    ///
    /// - Parameters:
    ///   - options: the relying party's options.
    ///   - verification: the user verification that the credential will require.
    ///   - held: the credentials that the app keeps, to compare with those that the options exclude.
    ///   - certificates: the certificates of the chip's attestation key, from ``AttestationEnrolment``; empty for none.
    ///   - reason: the app's reason, for the prompt.
    /// - Returns: the credential to keep, and the response for the relying party.
    /// - Throws: ``DeviceError``.
    public func register(
        _ options: CreationOptions,
        verification: UserVerification,
        held: [DeviceCredential] = [],
        certificates: [[UInt8]] = [],
        reason: String
    ) throws(DeviceError) -> RegistrationResponse {
        let access: AccessControl
        do throws(KeychainError) {
            access = try verification.accessControl
        } catch {
            throw .keychain(error)
        }
        return try register(
            options,
            access: access,
            held: held,
            certificates: certificates,
            asking: PromptFields(origin: place ?? .current(), reason: reason)
        )
    }

    /// What an app adds to the client data of a use: members, made of the verified factors, the protection of the key, and the app's
    /// digest of the enrolled fingers.
    package typealias Stating = (
        _ factors: Set<AuthenticationFactor>, _ isHardware: Bool, _ enrolment: [UInt8]?
    ) -> [(name: String, value: JSONValue)]

    /// Makes a credential with any access control and all fields of a prompt.
    ///
    /// `stating` returns additional members of the client data.
    package func register(
        _ options: CreationOptions,
        access: AccessControl,
        held: [DeviceCredential] = [],
        certificates: [[UInt8]] = [],
        asking prompt: PromptFields,
        cancellation: Cancellation? = nil,
        stating: Stating = { _, _, _ in [] }
    ) throws(DeviceError) -> RegistrationResponse {
        try check(options.relyingParty)
        guard options.acceptsES256 else { throw .algorithm }
        guard !held.contains(where: { options.excluded.contains($0.id) }) else { throw .credentialExists }
        do throws(KeychainError) {
            let key = try keychain.makeKey(
                MakeKey(accessControl: access, limits: try KeyLimits(isCounted: true), prompt: prompt),
                cancellation: cancellation
            )
            let credential = DeviceCredential(
                id: Self.random(32),
                relyingParty: relyingParty,
                userHandle: options.userHandle,
                representation: key.representation
            )
            let use = try VerifiedUse(of: key, keychain, prompt, cancellation)
            defer { use.end() }
            let clientData = clientData("webauthn.create", options.challenge, use, stating)
            let data = authenticatorData(use, attesting: credential)
            let statement =
                options.wantsAttestation
                ? try AttestationStatement(of: use, over: data, Self.hash(clientData), certificates) : .none
            return RegistrationResponse(
                credential: credential,
                clientDataJSON: clientData,
                attestationObject: statement.object(data),
                keyPolicy: statement.policy
            )
        } catch {
            throw .keychain(error)
        }
    }

    /// Signs in (`authenticatorGetAssertion`, section 6.3.3).
    ///
    /// - Parameters:
    ///   - options: the relying party's options.
    ///   - credential: the credential whose key signs.
    ///   - reason: the app's reason, for the prompt.
    /// - Returns: the response for the relying party.
    /// - Throws: ``DeviceError``.
    public func assert(
        _ options: RequestOptions,
        by credential: DeviceCredential,
        reason: String
    ) throws(DeviceError) -> AssertionResponse {
        try assert(
            options,
            by: credential,
            asking: PromptFields(origin: place ?? .current(), reason: reason)
        )
    }

    /// Signs in, with all fields of a prompt.
    ///
    /// `stating` returns additional members of the client data.
    package func assert(
        _ options: RequestOptions,
        by credential: DeviceCredential,
        asking prompt: PromptFields,
        cancellation: Cancellation? = nil,
        stating: Stating = { _, _, _ in [] }
    ) throws(DeviceError) -> AssertionResponse {
        try check(options.relyingParty)
        try check(credential.relyingParty)
        guard options.allowed.isEmpty || options.allowed.contains(credential.id) else {
            throw .credentialNotAllowed
        }
        do throws(KeychainError) {
            let key = try keychain.readKey(
                ReadKey(representation: credential.representation, prompt: prompt),
                cancellation: cancellation
            )
            let use = try VerifiedUse(of: key, keychain, prompt, cancellation)
            defer { use.end() }
            let clientData = clientData("webauthn.get", options.challenge, use, stating)
            let signed = try use.sign(authenticatorData(use, attesting: nil), Self.hash(clientData))
            return AssertionResponse(
                credential: credential,
                clientDataJSON: clientData,
                authenticatorData: signed.data,
                signature: try ECDSASignature.der(signed.signature)
            )
        } catch {
            throw .keychain(error)
        }
    }

    // MARK: Parts

    private func check(_ relyingParty: String) throws(DeviceError) {
        guard relyingParty == self.relyingParty else { throw .otherRelyingParty(relyingParty) }
    }

    private func clientData(
        _ type: String,
        _ challenge: [UInt8],
        _ use: VerifiedUse,
        _ stating: Stating
    ) -> [UInt8] {
        CollectedClientData(type: type, challenge: challenge, origin: origin)
            .json(adding: stating(use.factors, use.key.isHardware, use.enrolment))
    }

    private func authenticatorData(
        _ use: VerifiedUse,
        attesting credential: DeviceCredential?
    ) -> AuthenticatorData {
        AuthenticatorData(
            rpIdHash: Self.hash(Array(relyingParty.utf8)),
            flags: use.isVerified ? [.userPresent, .userVerified] : .userPresent,
            signCount: 0,
            attestedCredentialData: credential.map { credential in
                AttestedCredentialData(
                    aaguid: Self.aaguid,
                    credentialId: credential.id,
                    credentialPublicKey: COSEKey.ec2(
                        algorithm: .es256,
                        curve: .p256,
                        x: Array(use.key.publicKey[1..<33]),
                        y: Array(use.key.publicKey[33...])
                    ).encoded
                )
            },
            extensions: use.methods
        )
    }

    static func prompt(_ reason: String) -> PromptFields { PromptFields(origin: .current(), reason: reason) }

    static func hash(_ bytes: [UInt8]) -> [UInt8] { Array(SHA256.hash(data: bytes)) }

    static func random(_ count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
    }
}

/// Converts signatures to the form that WebAuthn uses.
enum ECDSASignature {
    /// ECDSA-Sig-Value in DER, from r and s.
    static func der(_ signature: [UInt8]) throws(KeychainError) -> [UInt8] {
        guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature) else {
            throw KeychainError(.internalComponent)
        }
        return Array(signature.derRepresentation)
    }
}
