public import WebAuthnModel

/// A client's response from `navigator.credentials.get()`, in the form of `AuthenticationResponseJSON` (WebAuthn Level
/// 3, section 5.1).
public struct AuthenticationResponse: Sendable, Equatable {
    /// The credential's id, by which the server finds its record.
    public let rawId: [UInt8]
    /// `clientDataJSON`, as the client hashed it.
    public let clientDataJSON: [UInt8]
    /// The authenticator data, as signed.
    public let authenticatorData: [UInt8]
    /// The signature over the authenticator data and the hash of the client data.
    public let signature: [UInt8]
    /// The user handle; required only for a discoverable credential.
    public let userHandle: [UInt8]?

    /// Creates a response.
    public init(
        rawId: [UInt8],
        clientDataJSON: [UInt8],
        authenticatorData: [UInt8],
        signature: [UInt8],
        userHandle: [UInt8]? = nil
    ) {
        self.rawId = rawId
        self.clientDataJSON = clientDataJSON
        self.authenticatorData = authenticatorData
        self.signature = signature
        self.userHandle = userHandle
    }

    /// Parses a response from JSON.
    ///
    /// - Throws: ``WebAuthnError`` with `malformedResponse`.
    public init(_ json: JSONValue) throws(WebAuthnError) {
        let step = "7.2 step 3"
        let (members, response, id) = try CredentialJSON.parts(of: json, step: step)
        rawId = id
        clientDataJSON = try CredentialJSON.bytes("clientDataJSON", of: response, step: step)
        authenticatorData = try CredentialJSON.bytes("authenticatorData", of: response, step: step)
        signature = try CredentialJSON.bytes("signature", of: response, step: step)
        switch response["userHandle"] {
        case nil, .null: userHandle = nil
        case .string(let text):
            guard let bytes = Base64URL.decode(text), bytes.count <= 64 else {
                throw WebAuthnError(.malformedResponse, step, "userHandle")
            }
            // Some clients send an empty one for a credential that is not discoverable.
            userHandle = bytes.isEmpty ? nil : bytes
        default: throw WebAuthnError(.malformedResponse, step, "userHandle")
        }
        switch members["clientExtensionResults"] {
        case nil, .null, .object: break
        default: throw WebAuthnError(.malformedResponse, step, "clientExtensionResults")
        }
    }
}
