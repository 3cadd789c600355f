import CBOR
import KeychainModel
import SecretMemory

@testable import KeychainServer

/// What a client sends: the input as a stream of frames, and as one message.
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
        let written = written(head.id, request)
        written.withOctets { octets in
            require(octets.array == input.array, "a request has one encoding")
        }
    }

    /// The request as a client would send it.
    private static func written(_ id: UInt64, _ request: consuming Request) -> SecretBuffer {
        func head(_ method: Method) -> RequestHead { RequestHead(id: id, method: method) }
        switch consume request {
        case .hello(let body): return head(.hello).message(body)
        case .status(let prompt?): return head(.status).message(prompt)
        case .status(nil): return head(.status).message(EmptyBody())
        case .check: return head(.check).message(EmptyBody())
        case .setUp(let prompt): return head(.setUp).message(prompt)
        case .unlock(let prompt): return head(.unlock).message(prompt)
        case .lock: return head(.lock).message(EmptyBody())
        case .changePasscode(let prompt): return head(.changePasscode).message(prompt)
        case .recover(let prompt): return head(.recover).message(prompt)
        case .migrate(let prompt): return head(.migrate).message(prompt)
        case .protectLockout(let prompt): return head(.protectLockout).message(prompt)
        case .exportKeychain(let prompt): return head(.exportKeychain).message(prompt)
        case .sendImport(let body): return head(.sendImport).message(body)
        case .importKeychain(let prompt): return head(.importKeychain).message(prompt)
        case .addItem(let body): return head(.addItem).message(body)
        case .copyItems(let body): return head(.copyItems).message(body)
        case .updateItems(let body): return head(.updateItems).message(body)
        case .deleteItems(let body): return head(.deleteItems).message(body)
        case .makeKey(let body): return head(.makeKey).message(body)
        case .readKey(let body): return head(.readKey).message(body)
        case .useKey(let body): return head(.useKey).message(body)
        case .attestKey(let body): return head(.attestKey).message(body)
        case .attestationIdentity: return head(.attestationIdentity).message(EmptyBody())
        case .activateCredential(let body): return head(.activateCredential).message(body)
        case .invalidateContext(let body): return head(.invalidateContext).message(body)
        case .setCredential(let body): return head(.setCredential).message(body)
        case .evaluatePolicy(let body): return head(.evaluatePolicy).message(body)
        case .evaluateAccessControl(let body): return head(.evaluateAccessControl).message(body)
        case .canEvaluatePolicy(let body): return head(.canEvaluatePolicy).message(body)
        case .cancel(let body): return head(.cancel).message(body)
        }
    }
}
