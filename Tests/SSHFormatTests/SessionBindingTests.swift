import Crypto
import SSHFormat
import Testing

@Suite("Bindings of a connection to sessions")
struct SessionBindingTests {
    private let host: Peer

    init() throws { host = try Peer.ed25519() }

    private func binding(
        by peer: Peer? = nil,
        session: UInt8 = 1,
        isForwarding: Bool = true
    ) throws -> SessionBinding {
        let (peer, sessionID) = (peer ?? host, [UInt8](repeating: session, count: 32))
        return SessionBinding(
            hostKey: peer.key,
            sessionID: sessionID,
            signature: try peer.sign(sessionID),
            isForwarding: isForwarding
        )
    }

    @Test("a binding is valid with the host's signature over the identifier only")
    func signature() throws {
        for peer in [try Peer.ed25519(), try Peer.p256()] {
            let good = try binding(by: peer)
            #expect(good.isValid)
            var bindings = SessionBindings()
            try bindings.add(good)
            #expect(bindings.bindings == [good])
            func expectRefused(_ key: SSHPublicKey, _ sessionID: [UInt8], _ signature: [UInt8]) {
                let bad = SessionBinding(
                    hostKey: key,
                    sessionID: sessionID,
                    signature: signature,
                    isForwarding: true
                )
                #expect(!bad.isValid)
                var bindings = SessionBindings()
                #expect(throws: SSHFormatError()) { try bindings.add(bad) }
                #expect(bindings.bindings.isEmpty)
            }
            for bit in 0..<8 * good.signature.count {
                expectRefused(good.hostKey, good.sessionID, flipping(bit: bit, of: good.signature))
            }
            for bit in 0..<8 * good.sessionID.count {
                expectRefused(good.hostKey, flipping(bit: bit, of: good.sessionID), good.signature)
            }
            expectRefused(try Peer.p256().key, good.sessionID, good.signature)
            expectRefused(try Peer.ed25519().key, good.sessionID, good.signature)
        }
    }

    @Test("a host's RSA key binds with SHA-256 and SHA-512, not with SHA-1")
    func rsa() throws {
        let peer = try RSAPeer()
        let sessionID: [UInt8] = [1, 2, 3]
        for (algorithm, bytes, isValid) in [
            ("rsa-sha2-256", try peer.sign(SHA256.hash(data: sessionID)), true),
            ("rsa-sha2-512", try peer.sign(SHA512.hash(data: sessionID)), true),
            ("ssh-rsa", try peer.sign(Insecure.SHA1.hash(data: sessionID)), false),
        ] {
            let binding = SessionBinding(
                hostKey: peer.key,
                sessionID: sessionID,
                signature: written {
                    $0.write(text: algorithm)
                    $0.write(string: bytes)
                },
                isForwarding: false
            )
            #expect(binding.isValid == isValid, "\(algorithm)")
        }
    }

    @Test("after a binding for authentication, every other is refused, also the same again")
    func afterAuthentication() throws {
        var bindings = SessionBindings()
        let way = try binding(session: 1)
        let login = try binding(session: 2, isForwarding: false)
        try bindings.add(way)
        try bindings.add(login)
        for refused in [login, way, try binding(session: 3), try binding(session: 3, isForwarding: false)] {
            #expect(throws: SSHFormatError()) { try bindings.add(refused) }
        }
        #expect(bindings.bindings == [way, login])
    }

    @Test("a session that is bound again with the same key changes nothing; with another, it is refused")
    func sameSession() throws {
        var bindings = SessionBindings()
        let first = try binding()
        try bindings.add(first)
        try bindings.add(first)
        try bindings.add(try binding(isForwarding: false))
        #expect(throws: SSHFormatError()) { try bindings.add(try binding(by: Peer.p256())) }
        #expect(throws: SSHFormatError()) { try bindings.add(try binding(by: Peer.ed25519())) }
        #expect(bindings.bindings == [first])
        try bindings.add(try binding(session: 2))
        #expect(bindings.bindings.count == 2)
    }

    @Test("a connection has at most 16 bindings")
    func most() throws {
        var bindings = SessionBindings()
        for session in 1...16 { try bindings.add(try binding(session: UInt8(session))) }
        #expect(throws: SSHFormatError()) { try bindings.add(try binding(session: 17)) }
        #expect(throws: SSHFormatError()) { try bindings.add(try binding(session: 17, isForwarding: false)) }
        #expect(throws: Never.self) { try bindings.add(try binding(session: 16)) }
        #expect(bindings.bindings.map(\.sessionID.first) == (1...16).map { $0 })
    }
}
