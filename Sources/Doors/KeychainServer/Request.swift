import CBOR
import KeychainModel
import SecretMemory

/// A completely decoded request.
enum Request: ~Copyable, Sendable {
    case hello(Hello)
    case status(PromptFields?)
    case check
    case watch(WatchRequest)
    case setUp(PromptFields)
    case unlock(PromptFields)
    case lock(LockRequest)
    case changePasscode(PromptFields)
    case recover(PromptFields)
    case migrate(PromptFields)
    case protectLockout(PromptFields)
    case startOver(PromptFields)
    case changeRecoveryCode(PromptFields)
    case checkRecoveryCode(PromptFields)
    case exportKeychain(PromptFields)
    case sendImport(ImportPart)
    case importKeychain(PromptFields)
    case openExport(ExportRequest)
    case backUp(PromptFields)
    case addItem(AddItem)
    case copyItems(CopyItems)
    case updateItems(UpdateItems)
    case deleteItems(DeleteItems)
    case makeKey(MakeKey)
    case readKey(ReadKey)
    case useKey(UseKey)
    case attestKey(AttestKey)
    case attestationIdentity
    case activateCredential(ActivationChallenge)
    case quoteBoot(BootQuoteRequest)
    case invalidateContext(ContextNumber)
    case setCredential(SetCredential)
    case evaluatePolicy(EvaluatePolicy)
    case evaluateAccessControl(EvaluateAccessControl)
    case canEvaluatePolicy(CanEvaluatePolicy)
    case lastAuthentications
    case cancel(CancelRequest)
    case listApps
    case moveItems(MoveItems)
    case switchFingers(SwitchFingers)
    case readProtection
    case changeProtection(ChangeProtection)
    case represent(RepresentedProgram)
    case repair(RepairRequest)
    case replaceItem(ReplaceItem)
    case eraseItems(EraseItems)
    case agentRegister(AgentRegistration)
    case agentNext
    case agentShown(ShownBox)
    case agentAnswer(AgentAnswer)
    case agentGone(BoxNumber)
    case agentJudge(AgentDraft)
    case agentCheck(BoxNumber)

    /// Whether the request contains a secret, which it holds until it is done.
    var holdsSecret: Bool {
        switch self {
        case .addItem: true
        case .updateItems: true
        case .replaceItem: true
        case .eraseItems: true
        case .agentAnswer: true
        case .agentJudge: true
        default: false
        }
    }

    /// The item query of the request, if it has one.
    var query: ItemQuery? {
        switch self {
        case .copyItems(let body): body.query
        case .updateItems(let body): body.query
        case .deleteItems(let body): body.query
        case .replaceItem(let body): body.query
        case .eraseItems(let body): body.query
        default: nil
        }
    }

    /// Whether the client asks for the misses at the request's prompts.
    var tellsMisses: Bool {
        switch self {
        case .evaluatePolicy(let body): body.prompt.tellsMisses
        case .evaluateAccessControl(let body): body.prompt.tellsMisses
        case .addItem(let body): body.prompt.tellsMisses
        case .copyItems(let body): body.prompt.tellsMisses
        case .updateItems(let body): body.prompt.tellsMisses
        case .deleteItems(let body): body.prompt.tellsMisses
        case .replaceItem(let body): body.prompt.tellsMisses
        case .eraseItems(let body): body.prompt.tellsMisses
        case .makeKey(let body): body.prompt.tellsMisses
        case .readKey(let body): body.prompt.tellsMisses
        case .useKey(let body): body.prompt.tellsMisses
        case .attestKey(let body): body.prompt.tellsMisses
        case .unlock(let prompt): prompt.tellsMisses
        default: false
        }
    }

    /// Decodes the body of a request of `method`.
    init(_ method: Method, from reader: inout CBORReader) throws {
        switch method {
        case .hello: self = .hello(try Hello(from: &reader))
        // The contract's body is null; a client that gives its prompt location queries prompts there.
        case .status: self = .status(try reader.readOptional { try PromptFields(from: &$0) })
        case .check:
            try reader.readNull()
            self = .check
        case .watch: self = .watch(try WatchRequest(from: &reader))
        case .setUp: self = .setUp(try PromptFields(from: &reader))
        case .unlock: self = .unlock(try PromptFields(from: &reader))
        case .lock: self = .lock(try LockRequest(from: &reader))
        case .changePasscode: self = .changePasscode(try PromptFields(from: &reader))
        case .recover: self = .recover(try PromptFields(from: &reader))
        case .migrate: self = .migrate(try PromptFields(from: &reader))
        case .protectLockout: self = .protectLockout(try PromptFields(from: &reader))
        case .startOver: self = .startOver(try PromptFields(from: &reader))
        case .changeRecoveryCode: self = .changeRecoveryCode(try PromptFields(from: &reader))
        case .checkRecoveryCode: self = .checkRecoveryCode(try PromptFields(from: &reader))
        case .exportKeychain: self = .exportKeychain(try PromptFields(from: &reader))
        case .sendImport: self = .sendImport(try ImportPart(from: &reader))
        case .importKeychain: self = .importKeychain(try PromptFields(from: &reader))
        case .backUp: self = .backUp(try PromptFields(from: &reader))
        case .openExport: self = .openExport(try ExportRequest(from: &reader))
        case .addItem: self = .addItem(try AddItem(from: &reader))
        case .copyItems: self = .copyItems(try CopyItems(from: &reader))
        case .updateItems: self = .updateItems(try UpdateItems(from: &reader))
        case .deleteItems: self = .deleteItems(try DeleteItems(from: &reader))
        case .makeKey: self = .makeKey(try MakeKey(from: &reader))
        case .readKey: self = .readKey(try ReadKey(from: &reader))
        case .useKey: self = .useKey(try UseKey(from: &reader))
        case .attestKey: self = .attestKey(try AttestKey(from: &reader))
        case .attestationIdentity:
            try reader.readNull()
            self = .attestationIdentity
        case .activateCredential: self = .activateCredential(try ActivationChallenge(from: &reader))
        case .quoteBoot: self = .quoteBoot(try BootQuoteRequest(from: &reader))
        case .invalidateContext: self = .invalidateContext(try ContextNumber(from: &reader))
        case .setCredential: self = .setCredential(try SetCredential(from: &reader))
        case .evaluatePolicy: self = .evaluatePolicy(try EvaluatePolicy(from: &reader))
        case .evaluateAccessControl: self = .evaluateAccessControl(try EvaluateAccessControl(from: &reader))
        case .canEvaluatePolicy: self = .canEvaluatePolicy(try CanEvaluatePolicy(from: &reader))
        case .lastAuthentications:
            try reader.readNull()
            self = .lastAuthentications
        case .cancel: self = .cancel(try CancelRequest(from: &reader))
        case .listApps:
            try reader.readNull()
            self = .listApps
        case .moveItems: self = .moveItems(try MoveItems(from: &reader))
        case .switchFingers: self = .switchFingers(try SwitchFingers(from: &reader))
        case .readProtection:
            try reader.readNull()
            self = .readProtection
        case .changeProtection: self = .changeProtection(try ChangeProtection(from: &reader))
        case .represent: self = .represent(try RepresentedProgram(from: &reader))
        case .repair: self = .repair(try RepairRequest(from: &reader))
        case .replaceItem: self = .replaceItem(try ReplaceItem(from: &reader))
        case .eraseItems: self = .eraseItems(try EraseItems(from: &reader))
        case .agentRegister: self = .agentRegister(try AgentRegistration(from: &reader))
        case .agentNext:
            try reader.readNull()
            self = .agentNext
        case .agentShown: self = .agentShown(try ShownBox(from: &reader))
        case .agentAnswer: self = .agentAnswer(try AgentAnswer(from: &reader))
        case .agentGone: self = .agentGone(try BoxNumber(from: &reader))
        case .agentJudge: self = .agentJudge(try AgentDraft(from: &reader))
        case .agentCheck: self = .agentCheck(try BoxNumber(from: &reader))
        }
    }
}

/// The outcome of decoding a frame.
enum FrameContent: ~Copyable {
    /// A request with its number and method.
    case request(RequestHead, Request)
    /// A well-formed request that cannot be served; the connection continues.
    case refused(UInt64, KeychainError)
    /// Not a request: the connection ends; with the request number, if it could be read.
    case malformed(UInt64?)

    /// Decodes one frame.
    init(_ message: borrowing ReceivedMessage) {
        var id: UInt64?
        var method: Method?
        var request: Request?
        do {
            try message.read { reader in
                try reader.readFields(4)
                guard try reader.readUnsigned() == WireProtocol.version else { throw WireError.malformed }
                id = try reader.readUnsigned()
                let number = try reader.readUnsigned()
                guard let known = Method(rawValue: number) else {
                    try reader.skipValue()
                    return
                }
                method = known
                request = try Request(known, from: &reader)
            }
            guard let id else {
                self = .malformed(nil)
                return
            }
            if let method, let request = request.take() {
                self = .request(RequestHead(id: id, method: method), request)
            } else {
                self = .refused(id, KeychainError(.unimplemented))
            }
        } catch let error as KeychainError {
            if let id { self = .refused(id, error) } else { self = .malformed(nil) }
        } catch {
            self = .malformed(id)
        }
    }
}

/// Carries a request, which cannot be copied, into the task that serves it.
final class RequestBox: Sendable {
    private let request: Guarded<Request?>

    init(_ request: consuming Request) { self.request = Guarded(request) }

    /// The request, for the first caller; nil afterwards.
    func take() -> Request? { request.withLock { $0.take() } }
}
