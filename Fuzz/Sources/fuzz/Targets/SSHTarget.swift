import KeychainModel
import SSHFormat

/// What ssh sends to its agent, and files of known hosts; the first byte says which.
enum SSHTarget: FuzzTarget {
    static let name = "ssh"

    /// The generator of P-256 (SEC 2, section 2.4.2).
    private static let point: [UInt8] =
        [4]
        + [
            0x6B, 0x17, 0xD1, 0xF2, 0xE1, 0x2C, 0x42, 0x47, 0xF8, 0xBC, 0xE6, 0xE5, 0x63, 0xA4, 0x40, 0xF2,
            0x77, 0x03, 0x7D, 0x81, 0x2D, 0xEB, 0x33, 0xA0, 0xF4, 0xA1, 0x39, 0x45, 0xD8, 0x98, 0xC2, 0x96,
            0x4F, 0xE3, 0x42, 0xE2, 0xFE, 0x1A, 0x7F, 0x9B, 0x8E, 0xE7, 0xEB, 0x4A, 0x7C, 0x0F, 0x9E, 0x16,
            0x2B, 0xCE, 0x33, 0x57, 0x6B, 0x31, 0x5E, 0xCE, 0xCB, 0xB6, 0x40, 0x68, 0x37, 0xBF, 0x51, 0xF5,
        ]
    private static let key: SSHPublicKey = {
        guard let key = try? SSHPublicKey(p256: point) else { fatalError("the generator is a point") }
        return key
    }()

    static func run(_ input: Span<UInt8>) {
        let bytes = input.array
        guard let kind = bytes.first else { return }
        let content = Array(bytes.dropFirst())
        switch kind % 4 {
        case 0: request(content)
        case 1: signedData(content)
        case 2: publicKey(content)
        default: knownHosts(content)
        }
    }

    private static func request(_ content: [UInt8]) {
        guard let request = try? AgentRequest(content) else { return }
        switch request {
        case .sign(let key, let data, _):
            require(key.count + data.count + 13 == content.count, "a request has no other bytes")
        case .bindSession(let binding):
            var bindings = SessionBindings()
            let isKept = (try? bindings.add(binding)) != nil
            require(isKept == binding.isValid, "a first binding is kept if the host signed it")
        case .identities, .query: require(content.first == 11 || content.first == 27, "one type each")
        case .otherExtension, .unsupported: break
        }
    }

    private static func signedData(_ content: [UInt8]) {
        guard let data = try? SignedData(content, by: key) else { return }
        let isMessage = content.starts(with: "SSHSIG".utf8)
        switch data {
        case .message(let namespace, _): require(isMessage && !namespace.isEmpty, "a message says so")
        case .login(let login):
            require(!isMessage && !login.sessionID.isEmpty, "a login has a session")
        }
        require((try? SignedData(content + [0], by: key)) == nil, "nothing follows")
    }

    private static func publicKey(_ content: [UInt8]) {
        guard let key = try? SSHPublicKey(blob: content) else { return }
        require((try? SSHPublicKey(blob: key.blob)) == key, "a key has one blob")
        require(SSHPublicKey(line: key.line(comment: "x\n y")) == key, "and one line")
        require(!key.isValid(signature: content, over: content), "a key is no signature")
    }

    private static func knownHosts(_ content: [UInt8]) {
        let hosts = KnownHosts(String(decoding: content, as: UTF8.self))
        _ = hosts.isRevoked(key)
        for name in hosts.names(of: key, candidates: ["host", "[host]:22"]) {
            require(!name.isEmpty && !name.contains("*"), "a name is no pattern")
        }
        _ = hosts.keys(of: "host")
    }

    static func seeds() -> [[UInt8]] {
        func written(_ kind: UInt8, _ content: (inout SSHWriter) -> Void) -> [UInt8] {
            var writer = SSHWriter()
            content(&writer)
            return [kind] + writer.bytes
        }
        let session = octets(32)
        func login(_ method: String) -> [UInt8] {
            written(1) {
                $0.write(string: session)
                $0.write(byte: 50)
                $0.write(text: "git")
                $0.write(text: "ssh-connection")
                $0.write(text: method)
                $0.write(bool: true)
                $0.write(text: key.algorithm)
                $0.write(string: key.blob)
                if method != "publickey" { $0.write(string: key.blob) }
            }
        }
        let message = written(1) {
            $0.write(text: "git")
            $0.write(string: [])
            $0.write(text: "sha256")
            $0.write(string: octets(32))
        }
        let whole: [[UInt8]] = [
            [0, 11],
            written(0) {
                $0.write(byte: 13)
                $0.write(string: key.blob)
                $0.write(string: session)
                $0.write(uint32: 0)
            },
            written(0) {
                $0.write(byte: 27)
                $0.write(text: "session-bind@openssh.com")
                $0.write(string: key.blob)
                $0.write(string: session)
                $0.write(string: octets(100))
                $0.write(bool: true)
            },
            written(0) {
                $0.write(byte: 27)
                $0.write(text: "query")
            },
            login("publickey"), login("publickey-hostbound-v00@openssh.com"),
            [1] + Array("SSHSIG".utf8) + message.dropFirst(),
            [2] + key.blob,
            [3]
                + Array(
                    "host,[host]:22 \(key.line(comment: "c"))\n@revoked * \(key.line(comment: ""))\n".utf8
                ),
            [3] + Array("|1|c2FsdHNhbHRzYWx0c2FsdHNhbHQ=|AAAAAAAAAAAAAAAAAAAAAAAAAAA= x\n".utf8),
        ]
        return whole + whole.flatMap { damaged($0) }
    }
}
