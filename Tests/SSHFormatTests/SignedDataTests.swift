import Crypto
import Foundation
import SSHFormat
import Testing

@Suite("Data that may be signed")
struct SignedDataTests {
    /// The parts of a login's data, each of which a test replaces.
    private struct Login {
        var sessionID = [UInt8](repeating: 9, count: 32)
        var message: UInt8 = 50
        var user = "person"
        var service = "ssh-connection"
        var method = "publickey"
        var hasSignature: UInt8 = 1
        var algorithm: String
        var key: [UInt8]
        var hostKey: [UInt8]?

        init(_ key: SSHPublicKey) {
            algorithm = key.algorithm
            self.key = key.blob
        }

        var bytes: [UInt8] {
            written {
                $0.write(string: sessionID)
                $0.write(byte: message)
                $0.write(text: user)
                $0.write(text: service)
                $0.write(text: method)
                $0.write(byte: hasSignature)
                $0.write(text: algorithm)
                $0.write(string: key)
                if let hostKey { $0.write(string: hostKey) }
            }
        }

        func with(_ change: (inout Login) -> Void) -> [UInt8] {
            var login = self
            change(&login)
            return login.bytes
        }
    }

    private static let hostbound = "publickey-hostbound-v00@openssh.com"
    private let key: SSHPublicKey

    init() throws { key = try Peer.p256().key }

    @Test("a login may have a user's certificate of the key; a host's, or one of another key, is refused")
    func certificate() throws {
        let keygen = try SSHKeygen()
        _ = try keygen.makeKey("authority")
        let own = try #require(SSHPublicKey(line: try keygen.makeKey("key", type: "ecdsa", bits: 256)))
        func login(_ arguments: [String]) throws -> [UInt8] {
            try keygen.run(["-q", "-s", "authority", "-I", "id", "-n", "person"] + arguments + ["key.pub"])
            let certificate = try blob(ofLine: try keygen.read("key-cert.pub"))
            return Login(own).with {
                $0.algorithm += "-cert-v01@openssh.com"
                $0.key = certificate
            }
        }
        let user = try login([])
        guard case .login(let request) = try SignedData(user, by: own) else {
            Issue.record("no login")
            return
        }
        #expect(request.user == "person")
        expectExact(user) { _ = try SignedData($0, by: own) }
        #expect(throws: SSHFormatError()) { try SignedData(user, by: key) }
        let host = try login(["-h"])
        #expect(throws: SSHFormatError()) { try SignedData(host, by: own) }
    }

    @Test("a login is read, and nothing shorter or longer")
    func login() throws {
        let bytes = Login(key).bytes
        let request = LoginRequest(
            sessionID: [UInt8](repeating: 9, count: 32),
            user: "person",
            hostKey: nil
        )
        #expect(try SignedData(bytes, by: key) == .login(request))
        expectExact(bytes) { _ = try SignedData($0, by: key) }
    }

    @Test("a login that is bound to a host is read, and nothing shorter or longer")
    func hostbound() throws {
        let host = try Peer.ed25519().key
        let bytes = Login(key).with {
            $0.method = Self.hostbound
            $0.hostKey = host.blob
        }
        let request = LoginRequest(
            sessionID: [UInt8](repeating: 9, count: 32),
            user: "person",
            hostKey: host
        )
        #expect(try SignedData(bytes, by: key) == .login(request))
        expectExact(bytes) { _ = try SignedData($0, by: key) }
    }

    @Test("a login with any part that is another is refused")
    func otherLogins() throws {
        let other = try Peer.p256().key
        let login = Login(key)
        let refused: [(Comment, [UInt8])] = [
            ("no session", login.with { $0.sessionID = [] }),
            ("a long session", login.with { $0.sessionID = [UInt8](repeating: 9, count: 129) }),
            ("another message", login.with { $0.message = 51 }),
            ("another service", login.with { $0.service = "ssh-userauth" }),
            ("no service", login.with { $0.service = "" }),
            ("another method", login.with { $0.method = "hostbased" }),
            ("a later method", login.with { $0.method = "publickey-hostbound-v01@openssh.com" }),
            ("a query", login.with { $0.hasSignature = 0 }),
            ("another boolean", login.with { $0.hasSignature = 2 }),
            ("another key", login.with { $0.key = other.blob }),
            ("no key", login.with { $0.key = [] }),
            ("another algorithm", login.with { $0.algorithm = "ssh-ed25519" }),
            ("a certificate", login.with { $0.algorithm += "-cert-v01@openssh.com" }),
            ("a host without its method", login.with { $0.hostKey = other.blob }),
            ("a method without its host", login.with { $0.method = Self.hostbound }),
            (
                "no key of a host",
                login.with {
                    $0.method = Self.hostbound
                    $0.hostKey = [1, 2, 3]
                }
            ),
        ]
        for (name, bytes) in refused {
            #expect(throws: SSHFormatError(), name) { try SignedData(bytes, by: key) }
        }
        #expect(throws: SSHFormatError()) { try SignedData(login.bytes, by: other) }
    }

    @Test("an RSA key logs in with SHA-256 and SHA-512, not with SHA-1")
    func rsa() throws {
        let key = try RSAPeer().key
        for algorithm in ["rsa-sha2-256", "rsa-sha2-512"] {
            #expect(throws: Never.self) {
                try SignedData(Login(key).with { $0.algorithm = algorithm }, by: key)
            }
        }
        for algorithm in ["ssh-rsa", "", "rsa-sha2-1024", "ssh-ed25519"] {
            #expect(throws: SSHFormatError()) {
                try SignedData(Login(key).with { $0.algorithm = algorithm }, by: key)
            }
        }
        #expect(throws: SSHFormatError()) {
            try SignedData(Login(self.key).with { $0.algorithm = "rsa-sha2-256" }, by: self.key)
        }
    }

    private static func message(
        namespace: String = "git",
        reserved: [UInt8] = [],
        hash: String = "sha512",
        digest: Int = 64
    ) -> [UInt8] {
        Array("SSHSIG".utf8)
            + written {
                $0.write(text: namespace)
                $0.write(string: reserved)
                $0.write(text: hash)
                $0.write(string: [UInt8](repeating: 7, count: digest))
            }
    }

    @Test("a message's hash is read, and nothing shorter or longer")
    func messages() throws {
        let sha512 = Self.message()
        #expect(try SignedData(sha512, by: key) == .message(namespace: "git", hash: "sha512"))
        expectExact(sha512) { _ = try SignedData($0, by: key) }
        let sha256 = Self.message(namespace: "file", reserved: [1], hash: "sha256", digest: 32)
        #expect(try SignedData(sha256, by: key) == .message(namespace: "file", hash: "sha256"))
        expectExact(sha256) { _ = try SignedData($0, by: key) }
    }

    @Test("a message without a namespace, or with another hash, is refused")
    func otherMessages() {
        let refused = [
            Self.message(namespace: ""), Self.message(hash: "sha1", digest: 20),
            Self.message(hash: "sha256", digest: 64), Self.message(hash: "sha512", digest: 32),
            Self.message(hash: "SHA512"), Self.message(hash: ""), Self.message(hash: "sha384", digest: 48),
            Self.message(digest: 0), Array("SSHSIF".utf8) + Self.message().dropFirst(6),
            Array(Self.message().dropFirst(6)),
        ]
        for bytes in refused {
            #expect(throws: SSHFormatError()) { try SignedData(bytes, by: key) }
        }
    }

    @Test("what ssh-keygen signs is read, and its signature valid", arguments: KeyKind.all)
    func signed(kind: KeyKind) throws {
        let keygen = try SSHKeygen()
        let key = try #require(
            SSHPublicKey(line: try keygen.makeKey("key", type: kind.type, bits: kind.bits))
        )
        for (hash, digest) in [
            ("sha256", Array(SHA256.hash(data: Array("text".utf8)))),
            ("sha512", Array(SHA512.hash(data: Array("text".utf8)))),
        ] {
            let name = "text-" + hash
            try keygen.write(name, "text")
            try keygen.run(["-q", "-Y", "sign", "-f", "key", "-n", "example", "-O", "hashalg=" + hash, name])
            let armor = try keygen.read(name + ".sig").split(separator: "\n").dropFirst().dropLast()
            let file = Array(try #require(Data(base64Encoded: armor.joined())))
            // PROTOCOL.sshsig, section 3.
            #expect(file.starts(with: Array("SSHSIG".utf8)))
            var reader = SSHReader(Array(file.dropFirst(6)))
            #expect(try reader.readUInt32() == 1)
            #expect(try SSHPublicKey(blob: reader.readString()) == key)
            #expect(try reader.readText() == "example")
            #expect(try reader.readString() == [])
            #expect(try reader.readText() == hash)
            let signature = try reader.readString()
            try reader.requireEnd()
            let data =
                Array("SSHSIG".utf8)
                + written {
                    $0.write(text: "example")
                    $0.write(text: "")
                    $0.write(text: hash)
                    $0.write(string: digest)
                }
            #expect(try SignedData(data, by: key) == .message(namespace: "example", hash: hash))
            #expect(key.isValid(signature: signature, over: data))
            #expect(!key.isValid(signature: signature, over: data + [0]))
        }
    }
}
