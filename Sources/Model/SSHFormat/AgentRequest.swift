/// What a client asks of an agent (RFC 9987; PROTOCOL.agent).
package enum AgentRequest: Sendable, Equatable {
    /// List the keys (SSH_AGENTC_REQUEST_IDENTITIES, 11).
    case identities
    /// Sign data with the key of a blob (SSH_AGENTC_SIGN_REQUEST, 13); the flags choose the hash of RSA.
    case sign(key: [UInt8], data: [UInt8], flags: UInt32)
    /// Bind the connection to a session (SSH_AGENTC_EXTENSION, 27, `session-bind@openssh.com`); its signature is not checked yet.
    case bindSession(SessionBinding)
    /// Name the extensions (SSH_AGENTC_EXTENSION, 27, `query`).
    case query
    /// An extension of another name.
    case otherExtension
    /// A message of another type, such as one that adds or removes a key; its content is not read.
    case unsupported(UInt8)

    /// The most bytes of a body, as in OpenSSH.
    package static let longest = 256 * 1024

    /// Parses the body of a frame: what follows its length.
    ///
    /// - Throws: ``SSHFormatError`` for no bytes, more than ``longest``, and malformed content of a supported message, to which
    ///   bytes after its end count.
    package init(_ body: [UInt8]) throws(SSHFormatError) {
        guard body.count <= Self.longest else { throw SSHFormatError() }
        var reader = SSHReader(body)
        switch try reader.readByte() {
        case 11: self = .identities
        case 13:
            self = .sign(
                key: try reader.readString(),
                data: try reader.readString(),
                flags: try reader.readUInt32()
            )
        case 27:
            switch try reader.readText() {
            case SessionBinding.extensionName: self = .bindSession(try SessionBinding(from: &reader))
            case "query": self = .query
            default:
                self = .otherExtension
                return
            }
        case let type:
            self = .unsupported(type)
            return
        }
        try reader.requireEnd()
    }
}
