import CLinux
import Crypto
import Desk
import Glibc
import KeychainModel
import PeerSockets
import SSHAgentServer
import SSHFormat
import SecretMemory
import Testing
import TouchstoneTesting

/// A host that proves its key, as sshd does.
struct SSHHost {
    private let secret = Curve25519.Signing.PrivateKey()
    let key: SSHPublicKey

    init() throws {
        var writer = SSHWriter()
        writer.write(text: "ssh-ed25519")
        writer.write(string: Array(secret.publicKey.rawRepresentation))
        key = try SSHPublicKey(blob: writer.bytes)
    }

    /// The binding of a session, as ssh sends it to the agent.
    func binding(_ session: [UInt8], isForwarding: Bool = false) throws -> [UInt8] {
        var signature = SSHWriter()
        signature.write(text: "ssh-ed25519")
        signature.write(string: Array(try secret.signature(for: session)))
        var writer = SSHWriter()
        writer.write(byte: 27)
        writer.write(text: "session-bind@openssh.com")
        writer.write(string: key.blob)
        writer.write(string: session)
        writer.write(string: signature.bytes)
        writer.write(bool: isForwarding)
        return writer.bytes
    }

    /// This host as one that a key is for.
    func allowed(_ name: String) throws -> NamedKey.Host {
        try #require(NamedKey.Host(name: name, fingerprint: key.fingerprint))
    }
}

/// Public keys for the time before the first unlock, in memory.
final class RememberedKeys: PublicKeyNotes {
    private let keys = Guarded<[[UInt8]]?>(nil)

    func read() throws(KeychainError) -> [[UInt8]]? { keys.withLock { $0 } }
    func write(_ keys: [[UInt8]]) throws(KeychainError) { self.keys.withLock { $0 = keys } }
}

/// A client of the ssh-agent, on a socket pair.
final class SSHAgentClient: Sendable {
    private let socket: CInt

    init(_ server: SSHAgentServer) throws {
        var pair: [CInt] = [-1, -1]
        let kind = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
        try #require(socketpair(AF_UNIX, kind, 0, &pair) == 0)
        socket = pair[1]
        server.serve(pair[0])
    }

    deinit { close(socket) }

    /// Closes the connection without waiting for an answer.
    func hangUp() { _ = shutdown(socket, CInt(SHUT_RDWR)) }

    func send(_ body: [UInt8]) {
        var writer = SSHWriter()
        writer.write(string: body)
        let frame = writer.bytes
        #expect(Glibc.send(socket, frame, frame.count, CInt(MSG_NOSIGNAL)) == frame.count)
    }

    func sendBytes(_ bytes: [UInt8]) {
        #expect(Glibc.send(socket, bytes, bytes.count, CInt(MSG_NOSIGNAL)) == bytes.count)
    }

    /// The body of the next answer; nil once the agent has closed the connection.
    func answer() async throws -> [UInt8]? {
        guard let head = try await receive(4) else { return nil }
        return try await receive(head.reduce(0) { $0 << 8 | Int($1) })
    }

    func ask(_ body: [UInt8]) async throws -> [UInt8]? {
        send(body)
        return try await answer()
    }

    /// The public keys and comments of a list; nil if the agent refuses.
    func list() async throws -> [(key: SSHPublicKey, comment: String)]? {
        guard let body = try await ask([11]), body.first == 12 else { return nil }
        var reader = SSHReader(Array(body.dropFirst()))
        let count = try reader.readUInt32()
        let keys = try (0..<count).map { _ in
            (try SSHPublicKey(blob: try reader.readString()), try reader.readText())
        }
        try reader.requireEnd()
        return keys
    }

    /// Whether the agent accepts a binding.
    func bind(_ binding: [UInt8]) async throws -> Bool { try await ask(binding) == [6] }

    /// Asks for a signature.
    func askToSign(_ data: [UInt8], by key: SSHPublicKey) {
        var writer = SSHWriter()
        writer.write(byte: 13)
        writer.write(string: key.blob)
        writer.write(string: data)
        writer.write(uint32: 0)
        send(writer.bytes)
    }

    /// Whether the agent signs, validly; a refusal is `SSH_AGENT_FAILURE`.
    func signs(_ data: [UInt8], by key: SSHPublicKey) async throws -> Bool {
        askToSign(data, by: key)
        let body = try #require(try await answer())
        guard body != [5] else { return false }
        #expect(body.first == 14)
        var reader = SSHReader(Array(body.dropFirst()))
        let signature = try reader.readString()
        try reader.requireEnd()
        #expect(key.isValid(signature: signature, over: data))
        return true
    }

    private func receive(_ count: Int) async throws -> [UInt8]? {
        var octets: [UInt8] = []
        while octets.count < count {
            var part = [UInt8](repeating: 0, count: count - octets.count)
            let got = try await Deadline.wait(for: "the ssh-agent's answer") { [socket] in
                let got = recv(socket, &part, part.count, CInt(MSG_DONTWAIT))
                return got < 0 && errno == EAGAIN ? nil : got
            }
            guard got > 0 else { return nil }
            octets += part[..<got]
        }
        return octets
    }
}

/// What a login signs (RFC 4252, section 7), hostbound if there is a host.
func sshLogin(
    _ session: [UInt8],
    _ user: String = "git",
    by key: SSHPublicKey,
    host: SSHPublicKey? = nil
) -> [UInt8] {
    var writer = SSHWriter()
    writer.write(string: session)
    writer.write(byte: 50)
    writer.write(text: user)
    writer.write(text: "ssh-connection")
    writer.write(text: host == nil ? "publickey" : "publickey-hostbound-v00@openssh.com")
    writer.write(bool: true)
    writer.write(text: "ecdsa-sha2-nistp256")
    writer.write(string: key.blob)
    if let host { writer.write(string: host.blob) }
    return writer.bytes
}

/// What `ssh-keygen -Y sign` has signed.
func sshMessage(_ namespace: String) -> [UInt8] {
    var writer = SSHWriter()
    writer.write(text: namespace)
    writer.write(string: [])
    writer.write(text: "sha512")
    writer.write(string: [UInt8](repeating: 7, count: 64))
    return Array("SSHSIG".utf8) + writer.bytes
}
