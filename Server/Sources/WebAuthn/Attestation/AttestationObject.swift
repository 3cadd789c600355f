internal import CBOR
internal import WebAuthnModel

/// An attestation object (WebAuthn Level 3, section 6.5.4): `{"fmt": text, "attStmt": map, "authData": bytes}`.
///
/// The members, and those of the statement, may come in any order (``CBORLimits/ctap2InAnyOrder``); no name may come twice.
struct AttestationObject {
    let format: String
    let statement: AttestationStatement
    let authenticatorDataBytes: [UInt8]
    let authenticatorData: AuthenticatorData

    /// The maximum size: a TPM's statement has three certificates of 1 to 2 KB each.
    private static let mostBytes = 48 << 10

    init(parsing bytes: [UInt8]) throws(WebAuthnError) {
        let step = "7.1 step 13"
        var limits = CBORLimits.ctap2InAnyOrder
        limits.octets = Self.mostBytes
        let value: CBORValue
        do throws(CBORError) {
            value = try CBORValue(decoding: bytes, limits: limits)
        } catch {
            throw WebAuthnError(.malformedAttestation, step, "CBOR: \(error)")
        }
        guard case .map(let pairs) = value else {
            throw WebAuthnError(.malformedAttestation, step, "not a map")
        }
        var format: String?
        var statement: AttestationStatement?
        var data: [UInt8]?
        for pair in pairs {
            switch (pair.key, pair.value) {
            case (.text("fmt"), .text(let text)): format = text
            case (.text("attStmt"), .map(let members)): statement = try AttestationStatement(members)
            case (.text("authData"), .bytes(let octets)): data = octets
            default:
                throw WebAuthnError(.malformedAttestation, step, "an unknown member, or one of another type")
            }
        }
        guard let format, let statement, let data else {
            throw WebAuthnError(.malformedAttestation, step, "fmt, attStmt or authData is missing")
        }
        self.format = format
        self.statement = statement
        authenticatorDataBytes = data
        do throws(AuthenticatorDataError) {
            authenticatorData = try AuthenticatorData(parsing: data)
        } catch {
            throw WebAuthnError(.malformedAuthenticatorData, step, "\(error)")
        }
    }
}

/// The members of an attestation statement, whose names are all text.
struct AttestationStatement {
    private let members: [String: CBORValue]

    init(_ pairs: [CBORPair]) throws(WebAuthnError) {
        var members: [String: CBORValue] = [:]
        for pair in pairs {
            guard case .text(let name) = pair.key else {
                throw WebAuthnError(.malformedAttestation, "6.5.4", "a name that is no text")
            }
            members[name] = pair.value
        }
        self.members = members
    }

    var isEmpty: Bool { members.isEmpty }

    /// Requires these members and no others.
    func requireMembers(_ names: Set<String>, optional: Set<String> = [], _ step: String)
        throws(WebAuthnError)
    {
        let found = Set(members.keys)
        guard found.isSuperset(of: names), found.isSubset(of: names.union(optional)) else {
            let cause = "members \(found.sorted().joined(separator: ", "))"
            throw WebAuthnError(.malformedAttestation, step, cause)
        }
    }

    func has(_ name: String) -> Bool { members[name] != nil }

    func algorithm(_ step: String) throws(WebAuthnError) -> COSEAlgorithm {
        switch members["alg"] {
        case .unsigned(let number):
            if let number = Int64(exactly: number) { return COSEAlgorithm(rawValue: number) }
        case .negative(let number):
            if let number = Int64(exactly: number) { return COSEAlgorithm(rawValue: ~number) }
        default: break
        }
        throw WebAuthnError(.malformedAttestation, step, "alg is no integer")
    }

    func bytes(_ name: String, _ step: String) throws(WebAuthnError) -> [UInt8] {
        guard case .bytes(let octets) = members[name], !octets.isEmpty else {
            throw WebAuthnError(.malformedAttestation, step, "\(name) is no byte string, or empty")
        }
        return octets
    }

    func text(_ name: String, _ step: String) throws(WebAuthnError) -> String {
        guard case .text(let text) = members[name] else {
            throw WebAuthnError(.malformedAttestation, step, "\(name) is no text")
        }
        return text
    }

    /// `x5c`: DER certificates, the attestation certificate first.
    func certificates(_ step: String) throws(WebAuthnError) -> [[UInt8]] {
        guard case .array(let values) = members["x5c"], !values.isEmpty, values.count <= 8 else {
            throw WebAuthnError(.malformedAttestation, step, "x5c is no array of 1 to 8 certificates")
        }
        var certificates: [[UInt8]] = []
        for value in values {
            guard case .bytes(let octets) = value, !octets.isEmpty else {
                throw WebAuthnError(.malformedAttestation, step, "x5c holds something else than byte strings")
            }
            certificates.append(octets)
        }
        return certificates
    }
}
