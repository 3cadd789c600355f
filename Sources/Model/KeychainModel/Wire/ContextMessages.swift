public import CBOR
public import SecretMemory

/// A context of this connection, by the number that its client chose.
public struct ContextNumber: WireBody, Sendable, Equatable {
    /// The number.
    public let number: UInt64

    /// Identifies a context.
    public init(_ number: UInt64) { self.number = number }

    /// Writes the number.
    public func encode(to writer: inout WireWriter) { writer.write(unsigned: number) }

    /// Reads a number.
    public init(from reader: inout CBORReader) throws { number = try reader.readUnsigned() }
}

/// Sets or removes a context's application password: `[context, password]`.
public struct SetCredential: WireBody, ~Copyable, Sendable {
    /// The context.
    public let context: UInt64
    /// The password; nil removes it.
    public let password: SecretBytes?

    /// Describes the change.
    public init(context: UInt64, password: consuming SecretBytes?) {
        self.context = context
        self.password = password
    }

    /// Writes the request.
    public borrowing func encode(to writer: inout WireWriter) {
        writer.writeArrayHead(count: 2)
        writer.write(unsigned: context)
        writer.write(optionalSecret: password)
    }

    /// Reads the request.
    public init(from reader: inout CBORReader) throws {
        try reader.readFields(2)
        let context = try reader.readUnsigned()
        self.init(context: context, password: try reader.readOptionalSecret())
    }
}

/// Queries whether a policy could be evaluated: its number.
public struct CanEvaluatePolicy: WireBody, Sendable, Equatable {
    /// The policy's number, known or not.
    public let policy: Int64

    /// Identifies a policy.
    public init(policy: Int64) { self.policy = policy }

    /// Writes the number.
    public func encode(to writer: inout WireWriter) { writer.write(policy) }

    /// Reads a number.
    public init(from reader: inout CBORReader) throws { policy = try reader.readInteger() }
}

/// Evaluates a policy: `[policy, context, reuse seconds, prompt]`.
public struct EvaluatePolicy: WireBody, Sendable {
    /// The policy's number, known or not.
    public let policy: Int64
    /// The context that the proof will belong to.
    public let context: UInt64
    /// How old a proof may be, in seconds.
    public let reuseSeconds: Double
    /// How to prompt.
    public let prompt: PromptFields

    /// Describes the evaluation.
    public init(policy: Int64, context: UInt64, reuseSeconds: Double, prompt: PromptFields) {
        self.policy = policy
        self.context = context
        self.reuseSeconds = reuseSeconds
        self.prompt = prompt
    }

    /// Writes the request.
    public func encode(to writer: inout WireWriter) {
        writer.writeArrayHead(count: 4)
        writer.write(policy)
        writer.write(unsigned: context)
        writer.write(reuseSeconds)
        prompt.encode(to: &writer)
    }

    /// Reads the request.
    public init(from reader: inout CBORReader) throws {
        try reader.readFields(4)
        policy = try reader.readInteger()
        context = try reader.readUnsigned()
        reuseSeconds = try reader.readDouble()
        prompt = try PromptFields(from: &reader)
    }
}

/// Evaluates an access control: `[access control, operation, context, reuse seconds, prompt]`.
public struct EvaluateAccessControl: WireBody, Sendable {
    /// The access control.
    public let accessControl: AccessControl
    /// The operation's number, known or not.
    public let operation: Int64
    /// The context that the proof will belong to.
    public let context: UInt64
    /// How old a proof may be, in seconds.
    public let reuseSeconds: Double
    /// How to prompt.
    public let prompt: PromptFields

    /// Describes the evaluation.
    public init(
        accessControl: AccessControl,
        operation: Int64,
        context: UInt64,
        reuseSeconds: Double,
        prompt: PromptFields
    ) {
        self.accessControl = accessControl
        self.operation = operation
        self.context = context
        self.reuseSeconds = reuseSeconds
        self.prompt = prompt
    }

    /// Writes the request.
    public func encode(to writer: inout WireWriter) {
        writer.writeArrayHead(count: 5)
        writer.write(bytes: accessControl.encoded)
        writer.write(operation)
        writer.write(unsigned: context)
        writer.write(reuseSeconds)
        prompt.encode(to: &writer)
    }

    /// Reads the request.
    public init(from reader: inout CBORReader) throws {
        try reader.readFields(5)
        accessControl = try AccessControl(decoding: try reader.readBytes())
        operation = try reader.readInteger()
        context = try reader.readUnsigned()
        reuseSeconds = try reader.readDouble()
        prompt = try PromptFields(from: &reader)
    }
}

/// The result of an evaluation: `[factors, domain state]`.
public struct EvaluationReply: WireBody, Sendable, Equatable {
    /// The factors that were shown.
    public let factors: Set<AuthenticationFactor>
    /// 32 bytes that change with the enrolled set.
    public let domainState: [UInt8]?

    /// Reports a success.
    public init(factors: Set<AuthenticationFactor>, domainState: [UInt8]?) {
        self.factors = factors
        self.domainState = domainState
    }

    /// Writes the reply.
    public func encode(to writer: inout WireWriter) {
        writer.writeArrayHead(count: 2)
        writer.writeArrayHead(count: factors.count)
        for factor in factors.map(\.rawValue).sorted() { writer.write(unsigned: UInt64(factor)) }
        writer.write(optionalBytes: domainState)
    }

    /// Reads the reply.
    public init(from reader: inout CBORReader) throws {
        try reader.readFields(2)
        var factors: Set<AuthenticationFactor> = []
        for _ in 0..<(try reader.readArrayHead()) {
            let number = try reader.readUnsigned()
            guard let factor = UInt8(exactly: number).flatMap(AuthenticationFactor.init) else { continue }
            factors.insert(factor)
        }
        self.factors = factors
        domainState = try reader.readOptional { try $0.readBytes() }
    }
}

/// Whether a policy could be evaluated: `[failure or null, has sensor, domain state]`.
public struct AvailabilityReply: WireBody, Sendable, Equatable {
    /// The availability.
    public let availability: AuthenticationAvailability

    /// Wraps the availability.
    public init(_ availability: AuthenticationAvailability) { self.availability = availability }

    /// Writes the availability.
    public func encode(to writer: inout WireWriter) {
        writer.writeArrayHead(count: 3)
        if let error = availability.error {
            Failure(KeychainError(error)).encode(to: &writer)
        } else {
            writer.writeNull()
        }
        writer.write(availability.hasSensor)
        writer.write(optionalBytes: availability.domainState)
    }

    /// Reads the availability.
    public init(from reader: inout CBORReader) throws {
        try reader.readFields(3)
        let failure = try reader.readOptional { try Failure(from: &$0) }
        availability = AuthenticationAvailability(
            error: failure?.error.authentication,
            hasSensor: try reader.readBool(),
            domainState: try reader.readOptional { try $0.readBytes() }
        )
    }
}
