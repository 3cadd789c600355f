import CBOR
import Foundation
import KeychainClient
import KeychainModel
import ScriptedDaemon
import Synchronization
import Testing

@Suite("Notices of misses")
struct NoticeTests {
    private let home: TemporaryHome

    init() throws { home = try TemporaryHome() }

    private func keychain() -> RemoteKeychain { RemoteKeychain(layout: home.layout, daemon: .none) }

    private static let request = EvaluatePolicy(
        policy: 1,
        context: 1,
        reuseSeconds: 0,
        prompt: PromptFields(reason: "x", tellsMisses: true)
    )

    private static func notice(_ peer: ScriptedPeer, _ id: UInt64, _ count: Int) throws {
        let miss = MissedTouch(count: count, reason: .tooShort)
        try peer.send(ReplyHead(noticeAbout: id).message(miss))
    }

    /// Sends two notices before each reply.
    private static func telling(_ peer: ScriptedPeer) throws {
        try peer.welcome()
        while true {
            let request = try peer.next()
            for count in 1...2 { try notice(peer, request.head.id, count) }
            try peer.reply(to: request, EvaluationReply(factors: [.biometry], domainState: nil))
        }
    }

    @Test("a call's listener gets its notices before the call returns")
    func listener() throws {
        let daemon = try ScriptedDaemon(home, script: Self.telling)
        let keychain = keychain()
        let told = Mutex<[MissedTouch]>([])
        let reply = try MissedTouch.$listener.withValue(
            MissListener { miss in told.withLock { $0.append(miss) } }
        ) {
            try keychain.evaluatePolicy(Self.request)
        }
        let expected = [1, 2].map { MissedTouch(count: $0, reason: .tooShort) }
        #expect(reply.factors == [.biometry] && told.withLock { $0 } == expected)
        // Without a listener they are dropped.
        #expect(try keychain.evaluatePolicy(Self.request).factors == [.biometry])
        #expect(told.withLock { $0 } == expected && daemon.connections == 1)
    }

    @Test("a notice about an unknown request, and a malformed one, end the connection")
    func malformed() throws {
        for kind in 0..<3 {
            let home = try TemporaryHome()
            let daemon = try ScriptedDaemon(home) { peer in
                try peer.welcome()
                let request = try peer.next()
                switch kind {
                case 0: try Self.notice(peer, request.head.id + 7, 1)
                case 1: try peer.send(ReplyHead(noticeAbout: request.head.id).message(CountBody(3)))
                default:
                    let miss = MissedTouch(count: 0, reason: .lift)
                    try peer.send(ReplyHead(noticeAbout: request.head.id).message(miss))
                }
                try peer.reply(to: request, EvaluationReply(factors: [.biometry], domainState: nil))
            }
            let keychain = RemoteKeychain(layout: home.layout, daemon: .none)
            #expect(throws: KeychainError(.internalComponent)) { try keychain.evaluatePolicy(Self.request) }
            _ = daemon
        }
    }
}
