public import WebAuthnModel

/// A client's response from `navigator.credentials.create()`, in the form of `RegistrationResponseJSON` (WebAuthn Level
/// 3, section 5.1).
///
/// Only signed data is used: `publicKey`, `authenticatorData` and the like, which repeat parts of the attestation
/// object, are not read.
public struct RegistrationResponse: Sendable, Equatable {
    /// The credential's id.
    public let rawId: [UInt8]
    /// `clientDataJSON`, as the client hashed it.
    public let clientDataJSON: [UInt8]
    /// The attestation object, CBOR.
    public let attestationObject: [UInt8]
    /// The authenticator's transports, as reported by the client; unknown values are kept.
    public let transports: [String]
    /// The steps of a TPM key's `authPolicy` (`keyPolicy` in the client extension results); they need no signature,
    /// because they must yield a signed value.
    public let keyPolicy: [PolicyStep]?

    /// The maximum number of transports, and the maximum length of a name.
    private static let mostTransports = 16

    /// Creates a response.
    public init(
        rawId: [UInt8],
        clientDataJSON: [UInt8],
        attestationObject: [UInt8],
        transports: [String] = [],
        keyPolicy: [PolicyStep]? = nil
    ) {
        self.rawId = rawId
        self.clientDataJSON = clientDataJSON
        self.attestationObject = attestationObject
        self.transports = transports
        self.keyPolicy = keyPolicy
    }

    /// Parses a response from JSON.
    ///
    /// - Throws: ``WebAuthnError`` with `malformedResponse`.
    public init(_ json: JSONValue) throws(WebAuthnError) {
        let step = "7.1 step 3"
        let (members, response, id) = try CredentialJSON.parts(of: json, step: step)
        rawId = id
        clientDataJSON = try CredentialJSON.bytes("clientDataJSON", of: response, step: step)
        attestationObject = try CredentialJSON.bytes("attestationObject", of: response, step: step)
        switch response["transports"] {
        case nil, .null: transports = []
        case .array(let values):
            let names = values.compactMap(\.string)
            guard names.count == values.count, names.count <= Self.mostTransports,
                names.allSatisfy({ $0.utf8.count <= 64 })
            else { throw WebAuthnError(.malformedResponse, step, "transports") }
            transports = names
        default: throw WebAuthnError(.malformedResponse, step, "transports")
        }
        switch members["clientExtensionResults"] {
        case nil, .null: keyPolicy = nil
        case .object(let results): keyPolicy = try results["keyPolicy"].map(PolicyTranscript.steps)
        default: throw WebAuthnError(.malformedResponse, step, "clientExtensionResults")
        }
    }
}

/// The common parts of both ceremonies' responses.
enum CredentialJSON {
    /// The response's members, those of its member `response`, and the credential's id.
    static func parts(
        of json: JSONValue,
        step: String
    ) throws(WebAuthnError) -> (members: JSONObject, response: JSONObject, id: [UInt8]) {
        guard let members = json.object else {
            throw WebAuthnError(.malformedResponse, step, "not an object")
        }
        guard members["type"]?.string == "public-key" else {
            throw WebAuthnError(.malformedResponse, step, "type is not public-key")
        }
        let id = try bytes("rawId", of: members, step: step)
        // Both are the same by definition; FIDO's conformance cases require an error if either is missing or they
        // differ.
        guard members["id"]?.bytes == id else {
            throw WebAuthnError(.malformedResponse, step, "id is not rawId")
        }
        guard !id.isEmpty, id.count <= AttestedCredentialData.mostCredentialIdBytes else {
            throw WebAuthnError(.malformedResponse, step, "rawId has \(id.count) bytes")
        }
        guard let response = members["response"]?.object else {
            throw WebAuthnError(.malformedResponse, step, "response is not an object")
        }
        return (members, response, id)
    }

    static func bytes(_ name: String, of object: JSONObject, step: String) throws(WebAuthnError) -> [UInt8] {
        guard let bytes = object[name]?.bytes, !bytes.isEmpty else {
            throw WebAuthnError(.malformedResponse, step, "\(name) is missing or not base64url")
        }
        return bytes
    }
}
