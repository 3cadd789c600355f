public import WebAuthnModel

/// The result of a registration: a credential to keep, and the response for the relying party (WebAuthn Level 3,
/// section 5.2.1).
public struct RegistrationResponse: Sendable, Equatable {
    /// The credential, which the app has to keep.
    public let credential: DeviceCredential
    /// The client data that were signed.
    public let clientDataJSON: [UInt8]
    /// The attestation object: CBOR with `fmt`, `attStmt` and `authData`.
    public let attestationObject: [UInt8]
    /// The policy steps that result in the key's `authPolicy`, if a chip attests it: for the relying party to
    /// recompute.
    public let keyPolicy: [PolicyStep]?

    /// `RegistrationResponseJSON` (section 5.1), with the policy's steps as the client extension output `keyPolicy`.
    public var json: JSONValue {
        let steps = keyPolicy.map { steps in
            JSONValue.array(
                steps.map { step in
                    [
                        "command": .integer(Int64(step.command)),
                        "operands": .array(step.operands.map { JSONValue(base64URL: $0) }),
                    ]
                }
            )
        }
        return CredentialJSON.make(
            credential,
            response: [
                "clientDataJSON": JSONValue(base64URL: clientDataJSON),
                "attestationObject": JSONValue(base64URL: attestationObject), "transports": ["internal"],
            ],
            extensions: JSONValue(members: ["keyPolicy": steps])
        )
    }
}

/// The result of a login: the response for the relying party (WebAuthn Level 3, section 5.2.2).
public struct AssertionResponse: Sendable, Equatable {
    /// The credential whose key signed.
    public let credential: DeviceCredential
    /// The client data that were signed.
    public let clientDataJSON: [UInt8]
    /// The authenticator data that were signed.
    public let authenticatorData: [UInt8]
    /// The ES256 signature: ECDSA-Sig-Value in DER.
    public let signature: [UInt8]

    /// `AuthenticationResponseJSON` (section 5.1).
    public var json: JSONValue {
        CredentialJSON.make(
            credential,
            response: [
                "clientDataJSON": JSONValue(base64URL: clientDataJSON),
                "authenticatorData": JSONValue(base64URL: authenticatorData),
                "signature": JSONValue(base64URL: signature),
                "userHandle": JSONValue(base64URL: credential.userHandle),
            ],
            extensions: [:]
        )
    }
}

private enum CredentialJSON {
    static func make(_ credential: DeviceCredential, response: JSONValue, extensions: JSONValue) -> JSONValue
    {
        let id = JSONValue(base64URL: credential.id)
        return [
            "id": id, "rawId": id, "type": "public-key", "authenticatorAttachment": "platform",
            "response": response, "clientExtensionResults": extensions,
        ]
    }
}
