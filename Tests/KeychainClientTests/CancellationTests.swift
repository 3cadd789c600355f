import Foundation
import KeychainClient
import KeychainModel
import ScriptedDaemon
import Synchronization
import Testing

@Suite("Cancellation")
struct CancellationTests {
    private let home: TemporaryHome

    init() throws { home = try TemporaryHome() }

    private func keychain() -> RemoteKeychain { RemoteKeychain(layout: home.layout, daemon: .none) }

    /// Answers evaluations only after they are cancelled.
    private static func patient(_ peer: ScriptedPeer) throws {
        try peer.welcome()
        var waiting: [UInt64: ScriptedRequest] = [:]
        while true {
            let request = try peer.next()
            guard request.head.method == .cancel else {
                waiting[request.head.id] = request
                continue
            }
            try peer.reply(to: request)
            guard let target = waiting.removeValue(forKey: try request.body(CancelRequest.self).id) else {
                continue
            }
            try peer.refuse(target, KeychainError(AuthenticationError(.appCancel)))
        }
    }

    @Test("a cancellation from another thread ends its own request and no other")
    func cancel() throws {
        let daemon = try ScriptedDaemon(home, script: Self.patient)
        let keychain = keychain()
        let cancellations = (0..<5).map { _ in Cancellation() }
        let ended = Mutex<[Int: AuthenticationError.Code]>([:])
        let changed = DispatchSemaphore(value: 0)
        for (index, cancellation) in cancellations.enumerated() {
            Thread.detachNewThread {
                let request = EvaluatePolicy(policy: 2, context: 1, reuseSeconds: 0, prompt: PromptFields())
                do throws(KeychainError) {
                    _ = try keychain.evaluatePolicy(request, cancellation: cancellation)
                } catch {
                    ended.withLock { $0[index] = error.authentication?.code }
                }
                changed.signal()
            }
        }
        for index in [3, 0, 4, 2, 1] {
            #expect(ended.withLock { $0[index] } == nil)
            cancellations[index].cancel()
            changed.wait()
            #expect(ended.withLock { $0[index] } == .appCancel)
        }
        #expect(daemon.connections == 1)
    }

    @Test("a request cancelled before the call is not sent")
    func early() throws {
        let daemon = try ScriptedDaemon(home, script: Self.patient)
        let cancellation = Cancellation()
        cancellation.cancel()
        let error = #expect(throws: KeychainError(.authFailed)) {
            try keychain().unlock(PromptFields(), cancellation: cancellation)
        }
        #expect(error?.authentication == AuthenticationError(.appCancel))
        #expect(daemon.connections == 0)
    }

    @Test("a cancellation after the end does nothing")
    func late() throws {
        let daemon = try ScriptedDaemon(home) { peer in
            try peer.welcome()
            let request = try peer.next()
            try peer.reply(to: request)
            let next = try peer.next()
            // A cancellation would have arrived before this request.
            guard next.head.method == .lock else { return }
            try peer.reply(to: next)
            _ = try peer.next()
        }
        let keychain = keychain()
        let cancellation = Cancellation()
        try keychain.unlock(PromptFields(), cancellation: cancellation)
        cancellation.cancel()
        try keychain.lock()
        #expect(daemon.connections == 1)
    }
}
