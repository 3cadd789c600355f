internal import WebAuthnModel

extension Attestation {
    /// The attestation as JSON (RFC 8259), bytes in base64url without padding (RFC 4648, section 5).
    public var json: String { json(with: nil) }

    /// The attestation as JSON, with a quote of the boot state: its registers, its digest in hexadecimal, as a server lists it,
    /// the statement and the signature.
    public func json(with quote: BootQuote?) -> String {
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
        if let quote {
            let parts = [
                ("registers", list(BootRegisters.numbers.map { "\($0)" })),
                ("digest", quoted(hexadecimal(quote.digest))),
                ("statement", quoted(quote.statement)), ("signature", quoted(quote.signature)),
            ]
            members.append(("quote", "{\(parts.map { "\(quoted($0)): \($1)" }.joined(separator: ", "))}"))
        }
        let lines = members.map { name, value in "  \(quoted(name)): \(value)" }
        return "{\n\(lines.joined(separator: ",\n"))\n}"
    }

    private func step(_ step: PolicyStep) -> String {
        #"{"command": \#(step.command), "operands": \#(list(step.operands.map(quoted)))}"#
    }

    private func list(_ values: [String]) -> String { "[\(values.joined(separator: ", "))]" }

    private func hexadecimal(_ octets: [UInt8]) -> String {
        octets.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// Names and base64url need no escapes.
    private func quoted(_ text: String) -> String { "\"\(text)\"" }

    private func quoted(_ octets: [UInt8]) -> String { quoted(Base64URL.encode(octets)) }
}
