internal import WebAuthnModel

extension Attestation {
    /// The attestation as JSON (RFC 8259), bytes in base64url without padding (RFC 4648, section 5).
    public var json: String {
        var members = [("level", quoted(level.rawValue)), ("publicKey", quoted(publicKey))]
        if let evidence {
            let (identity, certification) = (evidence.identity, evidence.certification)
            members += [
                ("endorsementKey", quoted(identity.endorsementKey)),
                ("certificates", list(identity.certificates.map(quoted))),
                ("attestationKey", quoted(identity.attestationKey)),
                ("publicArea", quoted(certification.publicArea)),
                ("statement", quoted(certification.statement)),
                ("signature", quoted(certification.signature)),
                ("policy", list(certification.policy.map(step))),
            ]
        }
        let lines = members.map { name, value in "  \(quoted(name)): \(value)" }
        return "{\n\(lines.joined(separator: ",\n"))\n}"
    }

    private func step(_ step: PolicyStep) -> String {
        #"{"command": \#(step.command), "operands": \#(list(step.operands.map(quoted)))}"#
    }

    private func list(_ values: [String]) -> String { "[\(values.joined(separator: ", "))]" }

    /// Names and base64url need no escapes.
    private func quoted(_ text: String) -> String { "\"\(text)\"" }

    private func quoted(_ octets: [UInt8]) -> String { quoted(Base64URL.encode(octets)) }
}
