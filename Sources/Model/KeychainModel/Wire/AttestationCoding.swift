public import CBOR
internal import WebAuthnModel

extension Attestation: WireBody {
    /// The most certificates, steps and operands that are read.
    private static let mostParts = 16
    /// The longest certificate or structure that is read, in bytes.
    private static let longestPart = 8192

    /// Writes `[public key, evidence]`.
    ///
    /// The evidence is null, or `[endorsement key, [certificate…], attestation key, public area, statement,
    /// signature, [[command, [operand…]]…]]`.
    public func encode(to writer: inout WireWriter) {
        writer.writeArrayHead(count: 2)
        writer.write(bytes: publicKey)
        guard let evidence else { return writer.writeNull() }
        let (identity, certification) = (evidence.identity, evidence.certification)
        writer.writeArrayHead(count: 7)
        identity.encode(partsTo: &writer)
        writer.write(bytes: certification.publicArea)
        writer.write(bytes: certification.statement)
        writer.write(bytes: certification.signature)
        writer.writeArrayHead(count: certification.policy.count)
        for step in certification.policy {
            writer.writeArrayHead(count: 2)
            writer.write(unsigned: UInt64(step.command))
            writer.write(list: step.operands)
        }
    }

    /// Reads an attestation.
    public init(from reader: inout CBORReader) throws {
        try reader.readFields(2)
        self.init(
            publicKey: try Self.part(&reader),
            evidence: try reader.readOptional { try Self.evidence(&$0) }
        )
    }

    private static func evidence(_ reader: inout CBORReader) throws -> Evidence {
        try reader.readFields(7)
        let identity = try AttestationIdentity(parts: &reader)
        let certification = KeyCertification(
            publicArea: try part(&reader),
            statement: try part(&reader),
            signature: try part(&reader),
            policy: try list(&reader, step)
        )
        return Evidence(identity: identity, certification: certification)
    }

    private static func step(_ reader: inout CBORReader) throws -> PolicyStep {
        try reader.readFields(2)
        return PolicyStep(command: try reader.readUInt32(), operands: try list(&reader, part))
    }

    fileprivate static func list<Part>(
        _ reader: inout CBORReader,
        _ read: (inout CBORReader) throws -> Part
    ) throws -> [Part] {
        let count = try reader.readArrayHead()
        guard count <= mostParts else { throw WireError.malformed }
        var parts: [Part] = []
        for _ in 0..<count { parts.append(try read(&reader)) }
        return parts
    }

    fileprivate static func part(_ reader: inout CBORReader) throws -> [UInt8] {
        let octets = try reader.readBytes()
        guard octets.count <= longestPart else { throw WireError.malformed }
        return octets
    }
}

extension WireWriter {
    fileprivate mutating func write(list: [[UInt8]]) {
        writeArrayHead(count: list.count)
        for octets in list { write(bytes: octets) }
    }
}

extension AttestationIdentity: WireBody {
    /// Writes `[endorsement key, [certificate…], attestation key]`.
    public func encode(to writer: inout WireWriter) {
        writer.writeArrayHead(count: 3)
        encode(partsTo: &writer)
    }

    /// Reads an identity.
    public init(from reader: inout CBORReader) throws {
        try reader.readFields(3)
        try self.init(parts: &reader)
    }

    fileprivate func encode(partsTo writer: inout WireWriter) {
        writer.write(bytes: endorsementKey)
        writer.write(list: certificates)
        writer.write(bytes: attestationKey)
    }

    fileprivate init(parts reader: inout CBORReader) throws {
        self.init(
            endorsementKey: try Attestation.part(&reader),
            certificates: try Attestation.list(&reader, Attestation.part),
            attestationKey: try Attestation.part(&reader)
        )
    }
}
