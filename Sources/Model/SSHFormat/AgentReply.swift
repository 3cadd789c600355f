/// What an agent answers (RFC 9987), as frames: the length of the body, and the body.
package enum AgentReply {
    /// The request failed, or is not supported (SSH_AGENT_FAILURE, 5).
    package static let failure = frame(5) { _ in }
    /// The request succeeded (SSH_AGENT_SUCCESS, 6).
    package static let success = frame(6) { _ in }
    /// The extension is supported and failed (SSH_AGENT_EXTENSION_FAILURE, 28).
    package static let extensionFailure = frame(28) { _ in }

    /// The keys, as blobs with comments (SSH_AGENT_IDENTITIES_ANSWER, 12).
    package static func identities(_ keys: [(key: [UInt8], comment: String)]) -> [UInt8] {
        frame(12) { body in
            body.write(uint32: UInt32(keys.count))
            for (key, comment) in keys {
                body.write(string: key)
                body.write(text: comment)
            }
        }
    }

    /// A signature blob (SSH_AGENT_SIGN_RESPONSE, 14).
    package static func signature(_ blob: [UInt8]) -> [UInt8] { frame(14) { $0.write(string: blob) } }

    /// The names of the supported extensions, the answer to ``AgentRequest/query`` (SSH_AGENT_EXTENSION_RESPONSE, 29).
    package static func extensions(_ names: [String]) -> [UInt8] {
        frame(29) { body in
            body.write(text: "query")
            for name in names { body.write(text: name) }
        }
    }

    private static func frame(_ type: UInt8, _ content: (inout SSHWriter) -> Void) -> [UInt8] {
        var body = SSHWriter()
        body.write(byte: type)
        content(&body)
        var frame = SSHWriter()
        frame.write(string: body.bytes)
        return frame.bytes
    }
}
