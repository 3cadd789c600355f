import SSHFormat
import Testing

@Suite("Messages of the agent")
struct AgentMessageTests {
    private static func bind(
        key: [UInt8],
        sessionID: [UInt8] = [1, 2, 3],
        isForwarding: UInt8 = 1
    ) -> [UInt8] {
        written {
            $0.write(byte: 27)
            $0.write(text: "session-bind@openssh.com")
            $0.write(string: key)
            $0.write(string: sessionID)
            $0.write(string: [4, 5])
            $0.write(byte: isForwarding)
        }
    }

    private static let query = written {
        $0.write(byte: 27)
        $0.write(text: "query")
    }

    @Test("requests without content are read")
    func simple() throws {
        #expect(try AgentRequest([11]) == .identities)
        #expect(try AgentRequest(Self.query) == .query)
        expectExact([11]) { _ = try AgentRequest($0) }
        expectExact(Self.query) { _ = try AgentRequest($0) }
    }

    @Test("a request to sign is read, and nothing shorter or longer")
    func sign() throws {
        let body: [UInt8] = [13, 0, 0, 0, 2, 1, 2, 0, 0, 0, 3, 3, 4, 5, 0, 0, 0, 4]
        #expect(try AgentRequest(body) == .sign(key: [1, 2], data: [3, 4, 5], flags: 4))
        expectExact(body) { _ = try AgentRequest($0) }
    }

    @Test("a session binding is read, and nothing shorter or longer")
    func bind() throws {
        let key = try Peer.ed25519().key
        for (byte, isForwarding) in [(0, false), (1, true)] as [(UInt8, Bool)] {
            let body = Self.bind(key: key.blob, isForwarding: byte)
            let binding = SessionBinding(
                hostKey: key,
                sessionID: [1, 2, 3],
                signature: [4, 5],
                isForwarding: isForwarding
            )
            #expect(try AgentRequest(body) == .bindSession(binding))
            expectExact(body) { _ = try AgentRequest($0) }
        }
    }

    @Test("a binding with another flag, an unsupported key, no identifier or one over 128 bytes is refused")
    func malformedBinding() throws {
        let key = try Peer.ed25519().key.blob
        let longest = [UInt8](repeating: 1, count: 128)
        #expect(throws: Never.self) { try AgentRequest(Self.bind(key: key, sessionID: longest)) }
        for body in [
            Self.bind(key: key, isForwarding: 2), Self.bind(key: [1, 2, 3]), Self.bind(key: key + [0]),
            Self.bind(key: key, sessionID: []), Self.bind(key: key, sessionID: longest + [1]),
        ] {
            #expect(throws: SSHFormatError()) { try AgentRequest(body) }
        }
    }

    @Test("an extension of another name is known to be one, whatever it has")
    func otherExtension() throws {
        for name in ["", "Query", "session-bind@openssh.co", "x@example.org"] {
            let body = written {
                $0.write(byte: 27)
                $0.write(text: name)
            }
            #expect(try AgentRequest(body) == .otherExtension)
            #expect(try AgentRequest(body + [0xFF, 1]) == .otherExtension)
        }
        #expect(throws: SSHFormatError()) { try AgentRequest([27]) }
        #expect(throws: SSHFormatError()) { try AgentRequest([27, 0, 0, 0, 1, 0xFF]) }
    }

    @Test("every other type is unsupported, whatever it has")
    func unsupported() throws {
        for type in UInt8.min...UInt8.max where ![11, 13, 27].contains(type) {
            #expect(try AgentRequest([type]) == .unsupported(type))
            #expect(try AgentRequest([type, 1, 2]) == .unsupported(type))
        }
    }

    @Test("a body has at most 256 KiB")
    func longest() {
        #expect(AgentRequest.longest == 262_144)
        let body = [UInt8](repeating: 17, count: 262_144)
        #expect(throws: Never.self) { try AgentRequest(body) }
        #expect(throws: SSHFormatError()) { try AgentRequest(body + [17]) }
        #expect(throws: SSHFormatError()) { try AgentRequest([]) }
    }

    @Test("replies are frames with the RFC's types")
    func replies() {
        #expect(AgentReply.failure == [0, 0, 0, 1, 5])
        #expect(AgentReply.success == [0, 0, 0, 1, 6])
        #expect(AgentReply.extensionFailure == [0, 0, 0, 1, 28])
        #expect(AgentReply.identities([]) == [0, 0, 0, 5, 12, 0, 0, 0, 0])
        #expect(
            AgentReply.identities([(key: [7, 8], comment: "ä"), (key: [9], comment: "")])
                == [0, 0, 0, 26, 12, 0, 0, 0, 2]
                + [0, 0, 0, 2, 7, 8, 0, 0, 0, 2, 0xC3, 0xA4] + [0, 0, 0, 1, 9, 0, 0, 0, 0]
        )
        #expect(AgentReply.signature([1, 2, 3]) == [0, 0, 0, 8, 14, 0, 0, 0, 3, 1, 2, 3])
        #expect(
            AgentReply.extensions(["ab"])
                == [0, 0, 0, 16, 29, 0, 0, 0, 5] + Array("query".utf8) + [0, 0, 0, 2, 0x61, 0x62]
        )
        #expect(AgentReply.extensions([]) == [0, 0, 0, 10, 29, 0, 0, 0, 5] + Array("query".utf8))
    }
}
