public import CBOR
public import SecretMemory

/// Creates a private key: `[access control, group, limits, context, prompt]`; answered by ``KeyReply``.
public struct MakeKey: WireBody, Sendable {
    /// The access control of its use.
    public let accessControl: AccessControl
    /// The group it will belong to; nil for the caller's own group.
    public let group: AccessGroup?
    /// When it may be used, how often, and whether its signatures are counted.
    public let limits: KeyLimits
    /// The context whose application password to use.
    public let context: UInt64?
    /// How to prompt if the keybag is locked.
    public let prompt: PromptFields

    /// Describes the key.
    public init(
        accessControl: AccessControl,
        group: AccessGroup? = nil,
        limits: KeyLimits = .none,
        context: UInt64? = nil,
        prompt: PromptFields
    ) {
        self.accessControl = accessControl
        self.group = group
        self.limits = limits
        self.context = context
        self.prompt = prompt
    }

    /// Writes the request.
    public func encode(to writer: inout WireWriter) {
        writer.writeArrayHead(count: 5)
        writer.write(bytes: accessControl.encoded)
        writer.write(optionalText: group?.name)
        limits.encode(to: &writer)
        writer.write(optionalUnsigned: context)
        prompt.encode(to: &writer)
    }

    /// Reads the request.
    public init(from reader: inout CBORReader) throws {
        try reader.readFields(5)
        accessControl = try AccessControl(decoding: try reader.readBytes())
        group = try reader.readOptional { reader in
            guard let group = AccessGroup(try reader.readText()) else { throw WireError.malformed }
            return group
        }
        limits = try KeyLimits(from: &reader)
        context = try reader.readOptional { try $0.readUnsigned() }
        prompt = try PromptFields(from: &reader)
    }
}

/// Reads a private key's representation: `[representation, prompt]`; answered by ``KeyReply``.
public struct ReadKey: WireBody, Sendable {
    /// ``EnclaveKey/representation``.
    public let representation: [UInt8]
    /// How to prompt if the keybag is locked.
    public let prompt: PromptFields

    /// Identifies the key.
    public init(representation: [UInt8], prompt: PromptFields) {
        self.representation = representation
        self.prompt = prompt
    }

    /// Writes the request.
    public func encode(to writer: inout WireWriter) {
        writer.writeArrayHead(count: 2)
        writer.write(bytes: representation)
        prompt.encode(to: &writer)
    }

    /// Reads the request.
    public init(from reader: inout CBORReader) throws {
        try reader.readFields(2)
        representation = try reader.readRepresentation()
        prompt = try PromptFields(from: &reader)
    }
}

/// Uses a private key: `[representation, operation, bytes, context, prompt]`; answered by ``KeyResult``.
///
/// The operation is Apple's number (`LAAccessControlOperation`). For a counted signature, the bytes are what is signed before the
/// number, and a last field is what is signed after it.
public struct UseKey: WireBody, Sendable {
    /// ``EnclaveKey/representation``.
    public let representation: [UInt8]
    /// The use.
    public let use: KeyUse
    /// The context to use; nil for a fresh one.
    public let context: UInt64?
    /// How to prompt.
    public let prompt: PromptFields

    /// Describes the use.
    public init(representation: [UInt8], use: KeyUse, context: UInt64? = nil, prompt: PromptFields) {
        self.representation = representation
        self.use = use
        self.context = context
        self.prompt = prompt
    }

    /// Writes the request.
    public func encode(to writer: inout WireWriter) {
        writer.writeArrayHead(count: use.isCounted ? 6 : 5)
        writer.write(bytes: representation)
        writer.write(unsigned: UInt64(use.operation.rawValue))
        switch use {
        case .sign(let octets), .agree(let octets), .decrypt(let octets), .signCounted(let octets, _):
            writer.write(bytes: octets)
        }
        writer.write(optionalUnsigned: context)
        prompt.encode(to: &writer)
        if case .signCounted(_, let after) = use { writer.write(bytes: after) }
    }

    /// Reads the request.
    public init(from reader: inout CBORReader) throws {
        let isCounted = try reader.readFieldsOrOneMore(5)
        representation = try reader.readRepresentation()
        let operation = try reader.readUnsigned()
        let octets = try reader.readBytes()
        context = try reader.readOptional { try $0.readUnsigned() }
        prompt = try PromptFields(from: &reader)
        let after = isCounted ? try reader.readBytes() : []
        switch (Int(exactly: operation).flatMap(AccessOperation.init), isCounted) {
        case (.useKeySign, true): use = .signCounted(before: octets, after: after)
        case (.useKeySign, false): use = .sign(digest: octets)
        case (.useKeyKeyExchange, false): use = .agree(publicKey: octets)
        case (.useKeyDecrypt, false): use = .decrypt(publicKey: octets)
        default: throw KeychainError(.param)
        }
        guard use.isWellFormed else { throw KeychainError(.param) }
    }
}

/// Makes the hardware attest a key: `[representation, qualifying data, context, prompt]`.
///
/// Answered by ``Attestation``.
public struct AttestKey: WireBody, Sendable {
    /// ``EnclaveKey/representation``.
    public let representation: [UInt8]
    /// The data to include in the statement.
    public let qualifyingData: [UInt8]
    /// The context to use; nil for a fresh one.
    public let context: UInt64?
    /// How to prompt.
    public let prompt: PromptFields

    /// The most qualifying data, in bytes.
    public static let mostQualifyingData = 64

    /// Describes the request.
    public init(
        representation: [UInt8],
        qualifyingData: [UInt8],
        context: UInt64? = nil,
        prompt: PromptFields
    ) {
        self.representation = representation
        self.qualifyingData = qualifyingData
        self.context = context
        self.prompt = prompt
    }

    /// Writes the request.
    public func encode(to writer: inout WireWriter) {
        writer.writeArrayHead(count: 4)
        writer.write(bytes: representation)
        writer.write(bytes: qualifyingData)
        writer.write(optionalUnsigned: context)
        prompt.encode(to: &writer)
    }

    /// Reads the request.
    public init(from reader: inout CBORReader) throws {
        try reader.readFields(4)
        representation = try reader.readRepresentation()
        qualifyingData = try reader.readBytes()
        guard qualifyingData.count <= Self.mostQualifyingData else { throw KeychainError(.param) }
        context = try reader.readOptional { try $0.readUnsigned() }
        prompt = try PromptFields(from: &reader)
    }
}

extension ActivationChallenge: WireBody {
    /// Writes `[credential, encrypted secret]`.
    public func encode(to writer: inout WireWriter) {
        writer.writeArrayHead(count: 2)
        writer.write(bytes: credential)
        writer.write(bytes: encryptedSecret)
    }

    /// Reads a challenge.
    public init(from reader: inout CBORReader) throws {
        try reader.readFields(2)
        self.init(credential: try reader.readBytes(), encryptedSecret: try reader.readBytes())
        guard max(credential.count, encryptedSecret.count) <= Self.longestPart else {
            throw KeychainError(.param)
        }
    }
}

/// A private key: `[representation, public key, access control, hardware, uses left]`, and true if its signatures are counted.
public struct KeyReply: WireBody, Sendable, Equatable {
    /// The key.
    public let key: EnclaveKey

    /// Wraps a key.
    public init(_ key: EnclaveKey) { self.key = key }

    /// Writes the reply.
    public func encode(to writer: inout WireWriter) {
        writer.writeArrayHead(count: key.isCounted ? 6 : 5)
        writer.write(bytes: key.representation)
        writer.write(bytes: key.publicKey)
        writer.write(bytes: key.accessControl.encoded)
        writer.write(key.isHardware)
        writer.write(optionalUnsigned: key.usesLeft.map(UInt64.init))
        if key.isCounted { writer.write(true) }
    }

    /// Reads the reply.
    public init(from reader: inout CBORReader) throws {
        let isCounted = try reader.readFieldsOrOneMore(5)
        let representation = try reader.readRepresentation()
        let publicKey = try reader.readBytes()
        guard publicKey.count == HardwareKey.publicKeyOctetCount else { throw WireError.malformed }
        key = EnclaveKey(
            representation: representation,
            publicKey: publicKey,
            accessControl: try AccessControl(decoding: try reader.readBytes()),
            isHardware: try reader.readBool(),
            usesLeft: try reader.readOptional { try $0.readUInt32() },
            isCounted: isCounted
        )
        if isCounted, try !reader.readBool() { throw WireError.malformed }
    }
}

/// A signature, after its number if it is counted, or a shared secret: bytes.
public struct KeyResult: WireBody, ~Copyable, Sendable {
    /// The longest result, in bytes: a counted signature.
    public static let longest = 68

    /// The bytes.
    public let octets: SecretBytes

    /// Wraps the bytes.
    public init(_ octets: consuming SecretBytes) { self.octets = octets }

    /// Hands the bytes over.
    public consuming func take() -> SecretBytes { octets }

    /// Writes the reply.
    public borrowing func encode(to writer: inout WireWriter) {
        octets.withOctets { writer.write(bytes: $0) }
    }

    /// Reads the reply.
    public init(from reader: inout CBORReader) throws {
        self.init(
            try reader.readBytes { octets -> SecretBytes in
                guard octets.count <= Self.longest else { throw WireError.malformed }
                return try SecretBytes(received: octets)
            }
        )
    }
}

extension CBORReader {
    /// Reads a representation; a longer one than the longest cannot be valid.
    fileprivate mutating func readRepresentation() throws -> [UInt8] {
        let octets = try readBytes()
        guard octets.count <= EnclaveKey.longestRepresentation else {
            throw KeychainError(.decode, cause: .damaged)
        }
        return octets
    }
}
