import KeychainClient
import KeychainModel
import ScriptedDaemon
import SecretMemory
import Synchronization
import Testing

@Suite("Requests for private keys")
struct KeyCallTests {
    private let home: TemporaryHome
    private static let digest = [UInt8](repeating: 7, count: 32)
    private static let key = EnclaveKey(
        representation: [1, 2, 3],
        publicKey: [4] + [UInt8](repeating: 9, count: 64),
        accessControl: AccessControl(accessibility: .whenUnlocked),
        isHardware: true
    )

    init() throws { home = try TemporaryHome() }

    private func keychain() -> RemoteKeychain { RemoteKeychain(layout: home.layout, daemon: .none) }

    @Test("requests to make, read and use a key arrive complete")
    func calls() throws {
        let seen = Mutex<[KeyUse]>([])
        let daemon = try ScriptedDaemon(home) { peer in
            try peer.welcome()
            let make = try peer.next()
            guard make.head.method == .makeKey, try make.body(MakeKey.self).context == 5 else { return }
            try peer.reply(to: make, KeyReply(Self.key))
            let read = try peer.next()
            guard read.head.method == .readKey, try read.body(ReadKey.self).representation == [1, 2, 3]
            else { return }
            try peer.reply(to: read, KeyReply(Self.key))
            let use = try peer.next()
            let asked = try use.body(UseKey.self).use
            seen.withLock { $0.append(asked) }
            let signature = SecretBytes(copying: [UInt8](repeating: 6, count: 64))
            try peer.send(ReplyHead(id: use.head.id).message(KeyResult(signature)))
            _ = try peer.next()
        }
        let keychain = keychain()
        let control = Self.key.accessControl
        let request = MakeKey(accessControl: control, context: 5, prompt: PromptFields())
        #expect(try keychain.makeKey(request) == Self.key)
        #expect(
            try keychain.readKey(ReadKey(representation: [1, 2, 3], prompt: PromptFields())) == Self.key
        )
        let signature = try keychain.useKey(
            UseKey(representation: [1, 2, 3], use: .sign(digest: Self.digest), prompt: PromptFields())
        )
        let isSame = signature.matches(SecretBytes(copying: [UInt8](repeating: 6, count: 64)))
        #expect(isSame)
        #expect(seen.withLock { $0 } == [.sign(digest: Self.digest)])
        #expect(daemon.connections == 1)
    }

    @Test("the daemon's refusal has its cause")
    func refusal() throws {
        let daemon = try ScriptedDaemon(home) { peer in
            try peer.welcome()
            try peer.refuse(try peer.next(), KeychainError(.itemNotFound, cause: .invalidated))
            _ = try peer.next()
        }
        let error = #expect(throws: KeychainError(.itemNotFound)) {
            try keychain().readKey(ReadKey(representation: [1], prompt: PromptFields()))
        }
        #expect(error?.cause == .invalidated)
        _ = daemon
    }

    @Test("a result longer than a signature with its number is refused")
    func longResult() throws {
        let daemon = try ScriptedDaemon(home) { peer in
            try peer.welcome()
            let request = try peer.next()
            let octets = SecretBytes(copying: [UInt8](repeating: 6, count: 69))
            try peer.send(ReplyHead(id: request.head.id).message(KeyResult(octets)))
            _ = try peer.next()
        }
        let use = UseKey(representation: [1], use: .sign(digest: Self.digest), prompt: PromptFields())
        #expect(throws: KeychainError.self) { _ = try keychain().useKey(use) }
        _ = daemon
    }

    @Test("an invalid key, digest or public key is refused before it is sent")
    func limits() throws {
        let daemon = try ScriptedDaemon(home) { try $0.welcome() }
        let keychain = keychain()
        let long = [UInt8](repeating: 1, count: EnclaveKey.longestRepresentation + 1)
        #expect(throws: KeychainError(.decode)) {
            try keychain.readKey(ReadKey(representation: long, prompt: PromptFields()))
        }
        #expect(throws: KeychainError(.decode)) {
            let use = UseKey(representation: long, use: .sign(digest: Self.digest), prompt: PromptFields())
            _ = try keychain.useKey(use)
        }
        for use in [KeyUse.sign(digest: [1]), .agree(publicKey: []), .decrypt(publicKey: [4])] {
            #expect(throws: KeychainError(.param)) {
                _ = try keychain.useKey(UseKey(representation: [1], use: use, prompt: PromptFields()))
            }
        }
        let prompt = PromptFields(reason: String(repeating: "r", count: PromptFields.longestText + 1))
        #expect(throws: KeychainError(.param)) {
            try keychain.makeKey(MakeKey(accessControl: Self.key.accessControl, prompt: prompt))
        }
        #expect(daemon.connections == 0)
    }
}
