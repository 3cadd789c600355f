public import CBOR
public import SecretMemory

/// Writes a message into locked memory that is wiped.
public typealias WireWriter = CBORWriter<SecretBuffer>

extension SecretBuffer: CBORSink {}

/// The protocol between client and daemon.
///
/// A request is the array `[version, id, method, body]`, a reply `[version, id, status, more, body]`. Ids increase on
/// each connection; replies may arrive out of order; a long result is split into several replies, all but the last
/// with `more` true. Before its first reply a request may get notices, with null for `more`: ``MissedTouch``, if it asks for
/// them. The daemon sends first: a reply with id 0 whose body is ``Greeting``; the first request is
/// ``Hello`` with the greeting's nonce, so that recorded bytes are useless on another connection.
public enum WireProtocol {
    /// The only version so far.
    public static let version: UInt64 = 1
}

/// The method of a request; the number on the wire.
public enum Method: UInt64, Sendable, CaseIterable {
    /// ``Hello``; must be first.
    case hello = 1
    /// No body; answered by ``StatusReply``.
    case status = 2
    /// No body; answered by ``ProgressBody`` while it runs long, then ``CheckReply``.
    case check = 3
    /// ``WatchRequest``: report changes until the request is cancelled; answered by any number of ``ChangesReply``.
    case watch = 4
    /// ``PromptFields``: create the keybag.
    case setUp = 10
    /// ``PromptFields``: unlock the keybag.
    case unlock = 11
    /// ``LockRequest``: lock the keybag.
    case lock = 12
    /// ``PromptFields``: change the passcode.
    case changePasscode = 13
    /// ``PromptFields``: open the keybag with the recovery code.
    case recover = 14
    /// ``PromptFields``: reseal the keybag with the best seal that this machine has.
    case migrate = 15
    /// ``PromptFields``: set the TPM's lockout authorisation.
    case protectLockout = 16
    /// ``PromptFields``; answered by any number of ``ExportPart``.
    case exportKeychain = 17
    /// ``ImportPart``: upload a part of an export, before ``importKeychain``.
    case sendImport = 18
    /// ``PromptFields``: create the keychain from the parts of ``sendImport``.
    ///
    /// Answered by ``ProgressBody`` while it runs long, then the number of items.
    case importKeychain = 19
    /// ``AddItem``; answered by one ``ItemsReply``.
    case addItem = 20
    /// ``CopyItems``; answered by any number of ``ItemsReply``.
    case copyItems = 21
    /// ``UpdateItems``; answered by the number of items.
    case updateItems = 22
    /// ``DeleteItems``; answered by ``DeletedItems``.
    case deleteItems = 23
    /// ``MakeKey``; answered by ``KeyReply``.
    case makeKey = 24
    /// ``ReadKey``; answered by ``KeyReply``.
    case readKey = 25
    /// ``UseKey``; answered by ``KeyResult``.
    case useKey = 26
    /// ``AttestKey``; answered by ``Attestation``.
    case attestKey = 27
    /// No body; answered by ``AttestationIdentity``.
    case attestationIdentity = 28
    /// ``ActivationChallenge``; answered by ``KeyResult``.
    case activateCredential = 29
    /// ``BootQuoteRequest``; answered by ``BootQuote``.
    case quoteBoot = 30
    /// ``ContextNumber``: discard the context's proofs.
    case invalidateContext = 31
    /// ``SetCredential``: an application password for a context.
    case setCredential = 32
    /// ``EvaluatePolicy``; answered by ``EvaluationReply``.
    case evaluatePolicy = 33
    /// ``EvaluateAccessControl``; answered by ``EvaluationReply``.
    case evaluateAccessControl = 34
    /// ``CanEvaluatePolicy``; answered by ``AvailabilityReply``.
    case canEvaluatePolicy = 35
    /// No body; answered by ``PastAuthenticationsReply``.
    case lastAuthentications = 36
    /// ``CancelRequest``: cancel another request of this connection; answered once that was received.
    case cancel = 40
    /// ``RepairRequest``; answered by ``ProgressBody`` while it runs long, then ``RepairReply``.
    case repair = 41
    /// ``ReplaceItem``; answered by ``Replacement``.
    case replaceItem = 42
    /// ``EraseItems``; answered by ``Erasure``.
    case eraseItems = 43
    /// ``PromptFields``: put the keychain's files aside, so that another keychain can be created.
    case startOver = 44
    /// ``PromptFields``: replace the recovery code.
    case changeRecoveryCode = 45
    /// ``PromptFields``: check a recovery code that the user types.
    case checkRecoveryCode = 46
    /// ``ExportRequest``: read the export of ``sendImport``, or merge it into the keychain.
    ///
    /// Answered by any number of ``ExportItems``. Only for the daemon's own command.
    case openExport = 47
    /// ``PromptFields``: write a backup; answered by any number of ``ExportPart``. Only for the daemon's own command.
    case backUp = 48
    /// No body; answered by ``AppsReply``. Only for the daemon's own command.
    case listApps = 60
    /// ``MoveItems``; answered by ``ProgressBody`` while it runs long, then ``MoveReply``. Only for the daemon's own command.
    case moveItems = 61
    /// ``SwitchFingers``; answered by an empty body. Only for the daemon's own command.
    case switchFingers = 62
    /// No body; answered by ``ProtectionReply``. Only for the daemon's own command.
    case readProtection = 63
    /// ``ChangeProtection``; answered by an empty body. Only for the daemon's own command.
    case changeProtection = 64
    /// ``RepresentedProgram``: ask for this program from now on; answered by ``RepresentedReply``. Only for the door of the Secret Service,
    /// once on each connection.
    case represent = 65
    /// ``AgentRegistration``; answered by ``AgentAdmission``. This method and the following ones are only for agents.
    case agentRegister = 70
    /// No body: wait for a prompt; answered by ``AgentBox``.
    case agentNext = 71
    /// ``BoxNumber``: the prompt is shown, which arms the sensor.
    case agentShown = 72
    /// ``AgentAnswer``: the outcome of a prompt.
    case agentAnswer = 73
    /// ``BoxNumber``; answered when the prompt is to be removed or has ended.
    case agentGone = 74
    /// ``AgentDraft``; answered by ``DraftVerdict``.
    case agentJudge = 75
    /// ``BoxNumber``; answered when the agent is to confirm with ``agentShown`` that it still shows the prompt, with
    /// `errSecParam` once the prompt has ended.
    case agentCheck = 76
}

/// A body of a request or a reply.
public protocol WireBody: ~Copyable {
    /// Writes exactly one CBOR item.
    borrowing func encode(to writer: inout WireWriter)
    /// Reads exactly one CBOR item.
    init(from reader: inout CBORReader) throws
}

/// An empty body: null.
public struct EmptyBody: WireBody, Sendable, Equatable {
    /// Creates an empty body.
    public init() {}
    /// Writes null.
    public func encode(to writer: inout WireWriter) { writer.writeNull() }
    /// Reads null.
    public init(from reader: inout CBORReader) throws { try reader.readNull() }
}

/// A body that is a number.
public struct CountBody: WireBody, Sendable, Equatable {
    /// The number.
    public let count: Int
    /// Wraps the number.
    public init(_ count: Int) { self.count = count }
    /// Writes the number.
    public func encode(to writer: inout WireWriter) { writer.write(Int64(count)) }
    /// Reads a number.
    public init(from reader: inout CBORReader) throws { count = Int(try reader.readInteger()) }
}

/// The start of a request.
public struct RequestHead: Sendable, Equatable {
    /// The request's number, greater than all earlier ones on this connection.
    public let id: UInt64
    /// The method.
    public let method: Method

    /// Identifies a request.
    public init(id: UInt64, method: Method) {
        self.id = id
        self.method = method
    }

    /// A complete request message.
    ///
    /// - Throws: ``SecretMemoryError`` if memory cannot be locked.
    public func message<Body: WireBody & ~Copyable>(
        _ body: borrowing Body
    ) throws(SecretMemoryError) -> SecretBuffer {
        var writer = WireWriter(try SecretBuffer(lockedCapacity: 512))
        writer.writeArrayHead(count: 4)
        writer.write(unsigned: WireProtocol.version)
        writer.write(unsigned: id)
        writer.write(unsigned: method.rawValue)
        body.encode(to: &writer)
        let message = writer.finish()
        if let refusal = message.refusal { throw refusal }
        return message
    }

    /// Reads the start of a request; the body follows.
    ///
    /// - Throws: ``WireError`` `version` or `method` for unknown ones; a reader's error otherwise.
    public init(from reader: inout CBORReader) throws {
        guard try reader.readArrayHead() == 4 else { throw WireError.malformed }
        let version = try reader.readUnsigned()
        guard version == WireProtocol.version else { throw WireError.version(version) }
        id = try reader.readUnsigned()
        let number = try reader.readUnsigned()
        guard let method = Method(rawValue: number) else { throw WireError.method(number) }
        self.method = method
    }
}

/// The start of a reply.
public struct ReplyHead: Sendable, Equatable {
    /// The request's number; 0 for the greeting.
    public let id: UInt64
    /// `errSecSuccess`, or the reason of the failure: the body is then ``Failure``.
    public let status: Status
    /// Whether more replies to this request follow.
    public let more: Bool
    /// Whether this is no reply but a notice about a request that goes on; its body is ``MissedTouch``.
    public let isNotice: Bool

    /// Starts a reply.
    public init(id: UInt64, status: Status = .success, more: Bool = false) {
        self.id = id
        self.status = status
        self.more = more
        isNotice = false
    }

    /// Starts a notice.
    public init(noticeAbout id: UInt64) {
        self.id = id
        status = .success
        more = true
        isNotice = true
    }

    /// A complete reply message.
    public func message<Body: WireBody & ~Copyable>(_ body: borrowing Body) -> SecretBuffer {
        var writer = WireWriter(SecretBuffer(minimumCapacity: 512))
        encode(to: &writer)
        body.encode(to: &writer)
        return writer.finish()
    }

    /// Writes the start of a reply; the body must follow.
    public func encode<Sink>(to writer: inout CBORWriter<Sink>) where Sink: ~Copyable {
        writer.writeArrayHead(count: 5)
        writer.write(unsigned: WireProtocol.version)
        writer.write(unsigned: id)
        writer.write(Int64(status.rawValue))
        if isNotice { writer.writeNull() } else { writer.write(more) }
    }

    /// Reads the start of a reply; the body follows.
    public init(from reader: inout CBORReader) throws {
        guard try reader.readArrayHead() == 5 else { throw WireError.malformed }
        let version = try reader.readUnsigned()
        guard version == WireProtocol.version else { throw WireError.version(version) }
        id = try reader.readUnsigned()
        guard let number = Int32(exactly: try reader.readInteger()) else { throw WireError.malformed }
        status = Status(rawValue: number)
        isNotice = try reader.readNullIfPresent()
        more = try isNotice || reader.readBool()
        guard !isNotice || status == .success && id > 0 else { throw WireError.malformed }
    }
}

/// Readers and writers for optional values: null stands for an absent one.
extension CBORReader {
    /// Reads null as nil, and anything else with `read`.
    public mutating func readOptional<R>(_ read: (inout CBORReader) throws -> R) throws -> R? {
        try readNullIfPresent() ? nil : try read(&self)
    }

    /// Reads a number of 32 bits.
    mutating func readUInt32() throws -> UInt32 {
        guard let number = UInt32(exactly: try readUnsigned()) else { throw WireError.malformed }
        return number
    }

    /// Reads an array head and throws unless it has this count.
    public mutating func readFields(_ count: Int) throws {
        guard try readArrayHead() == count else { throw WireError.malformed }
    }

    /// Reads an array head and throws unless it has this count or one more; a field that few messages have is the last one.
    ///
    /// - Parameter count: the number of fields that every message has.
    /// - Returns: whether there is one more.
    /// - Throws: ``WireError/malformed``.
    public mutating func readFieldsOrOneMore(_ count: Int) throws -> Bool {
        let found = try readArrayHead()
        guard found == count || found == count + 1 else { throw WireError.malformed }
        return found > count
    }
}

extension WireWriter {
    /// Writes text, or null.
    public mutating func write(optionalText text: String?) {
        if let text { write(text: text) } else { writeNull() }
    }

    /// Writes bytes, or null.
    public mutating func write(optionalBytes octets: [UInt8]?) {
        if let octets { write(bytes: octets) } else { writeNull() }
    }

    /// Writes a truth value, or null.
    mutating func write(optionalFlag flag: Bool?) {
        if let flag { write(flag) } else { writeNull() }
    }

    /// Writes a number, or null.
    public mutating func write(optionalUnsigned number: UInt64?) {
        if let number { write(unsigned: number) } else { writeNull() }
    }
}
