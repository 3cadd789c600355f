import CBOR
import KeychainModel
import SecretMemory

@testable import KeychainServer

/// Input from a client: as a stream of frames, and as one message.
enum FramesTarget: FuzzTarget {
    static let name = "frames"

    static func run(_ input: Span<UInt8>) {
        runStream(input)
        guard input.count > 0, let message = ReceivedMessage.arriving(input) else { return }
        judge(FrameContent(message), of: input)
    }

    private static func runStream(_ input: Span<UInt8>) {
        let socket = SocketInput(input.array)
        var receiver = FrameReceiver()
        do {
            while try receiver.receive(from: socket.receiver) == .received {
                while let message = try receiver.next() {
                    require(message.count > 0 && message.count <= Frame.longest, "a frame within its limits")
                    _ = FrameContent(message)
                }
            }
        } catch {
            guard case .frameLength(let length) = error else { fatalError("\(error)") }
            require(length == 0 || length > Frame.longest, "only a bad length ends a stream")
        }
    }

    private static func judge(_ content: consuming FrameContent, of input: Span<UInt8>) {
        guard case .request(let head, let request) = content else { return }
        do throws(SecretMemoryError) {
            let written = try written(head.id, request)
            written.withOctets { octets in
                require(octets.array == input.array, "a request has one encoding")
            }
        } catch {
            fatalError("a request that was read cannot be written: \(error)")
        }
    }

    /// The request as a client would encode it.
    private static func written(
        _ id: UInt64,
        _ request: consuming Request
    ) throws(SecretMemoryError) -> SecretBuffer {
        func head(_ method: Method) -> RequestHead { RequestHead(id: id, method: method) }
        switch consume request {
        case .hello(let body): return try head(.hello).message(body)
        case .status(let prompt?): return try head(.status).message(prompt)
        case .status(nil): return try head(.status).message(EmptyBody())
        case .check: return try head(.check).message(EmptyBody())
        case .watch(let request): return try head(.watch).message(request)
        case .setUp(let prompt): return try head(.setUp).message(prompt)
        case .unlock(let prompt): return try head(.unlock).message(prompt)
        case .lock(let request): return try head(.lock).message(request)
        case .changePasscode(let prompt): return try head(.changePasscode).message(prompt)
        case .recover(let prompt): return try head(.recover).message(prompt)
        case .changeRecoveryCode(let prompt): return try head(.changeRecoveryCode).message(prompt)
        case .checkRecoveryCode(let prompt): return try head(.checkRecoveryCode).message(prompt)
        case .migrate(let prompt): return try head(.migrate).message(prompt)
        case .startOver(let prompt): return try head(.startOver).message(prompt)
        case .protectLockout(let prompt): return try head(.protectLockout).message(prompt)
        case .exportKeychain(let prompt): return try head(.exportKeychain).message(prompt)
        case .sendImport(let body): return try head(.sendImport).message(body)
        case .importKeychain(let prompt): return try head(.importKeychain).message(prompt)
        case .backUp(let prompt): return try head(.backUp).message(prompt)
        case .openExport(let body): return try head(.openExport).message(body)
        case .addItem(let body): return try head(.addItem).message(body)
        case .copyItems(let body): return try head(.copyItems).message(body)
        case .updateItems(let body): return try head(.updateItems).message(body)
        case .deleteItems(let body): return try head(.deleteItems).message(body)
        case .replaceItem(let body): return try head(.replaceItem).message(body)
        case .eraseItems(let body): return try head(.eraseItems).message(body)
        case .makeKey(let body): return try head(.makeKey).message(body)
        case .readKey(let body): return try head(.readKey).message(body)
        case .useKey(let body): return try head(.useKey).message(body)
        case .attestKey(let body): return try head(.attestKey).message(body)
        case .attestationIdentity: return try head(.attestationIdentity).message(EmptyBody())
        case .activateCredential(let body): return try head(.activateCredential).message(body)
        case .quoteBoot(let body): return try head(.quoteBoot).message(body)
        case .invalidateContext(let body): return try head(.invalidateContext).message(body)
        case .setCredential(let body): return try head(.setCredential).message(body)
        case .evaluatePolicy(let body): return try head(.evaluatePolicy).message(body)
        case .evaluateAccessControl(let body): return try head(.evaluateAccessControl).message(body)
        case .canEvaluatePolicy(let body): return try head(.canEvaluatePolicy).message(body)
        case .lastAuthentications: return try head(.lastAuthentications).message(EmptyBody())
        case .cancel(let body): return try head(.cancel).message(body)
        case .repair(let body): return try head(.repair).message(body)
        case .listApps: return try head(.listApps).message(EmptyBody())
        case .moveItems(let body): return try head(.moveItems).message(body)
        case .switchFingers(let body): return try head(.switchFingers).message(body)
        case .readProtection: return try head(.readProtection).message(EmptyBody())
        case .changeProtection(let body): return try head(.changeProtection).message(body)
        case .represent(let body): return try head(.represent).message(body)
        case .agentRegister(let body): return try head(.agentRegister).message(body)
        case .agentNext: return try head(.agentNext).message(EmptyBody())
        case .agentShown(let body): return try head(.agentShown).message(body)
        case .agentAnswer(let body): return try head(.agentAnswer).message(body)
        case .agentGone(let body): return try head(.agentGone).message(body)
        case .agentJudge(let body): return try head(.agentJudge).message(body)
        case .agentCheck(let body): return try head(.agentCheck).message(body)
        }
    }
}
