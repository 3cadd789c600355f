extension Attestation {
    /// The attestation as JSON (RFC 8259), octets in base64url without padding (RFC 4648, section 5).
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

    private func quoted(_ octets: [UInt8]) -> String { quoted(base64URL(octets)) }

    private func base64URL(_ octets: [UInt8]) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        var text: [UInt8] = []
        text.reserveCapacity((octets.count * 4 + 2) / 3)
        for start in stride(from: 0, to: octets.count, by: 3) {
            let group = octets[start..<min(start + 3, octets.count)]
            let bits = group.reduce(0) { $0 << 8 | UInt32($1) } << (8 * UInt32(3 - group.count))
            for place in 0...group.count { text.append(alphabet[Int(bits >> (18 - 6 * place) & 63)]) }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
