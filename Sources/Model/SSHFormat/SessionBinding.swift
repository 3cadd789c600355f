/// A client's statement that the connection to the agent belongs to a session with a host (PROTOCOL.agent, section 1).
package struct SessionBinding: Sendable, Equatable {
    /// The extension's name.
    package static let extensionName = "session-bind@openssh.com"

    /// The host's key; of a certificate, the plain one.
    package let hostKey: SSHPublicKey
    /// The session's identifier (RFC 4253, section 7.2): 1 to 128 bytes, as in OpenSSH.
    package let sessionID: [UInt8]
    /// The host's signature blob over the identifier.
    package let signature: [UInt8]
    /// Whether the connection is forwarded to the host; otherwise it serves to log in there.
    package let isForwarding: Bool

    /// Describes a binding.
    package init(hostKey: SSHPublicKey, sessionID: [UInt8], signature: [UInt8], isForwarding: Bool) {
        self.hostKey = hostKey
        self.sessionID = sessionID
        self.signature = signature
        self.isForwarding = isForwarding
    }

    /// Reads a request's content after the extension's name.
    init(from reader: inout SSHReader) throws(SSHFormatError) {
        hostKey = try SSHPublicKey(blob: try reader.readString())
        sessionID = try reader.readSessionID()
        signature = try reader.readString()
        isForwarding = try reader.readBool()
    }

    /// Whether the host has signed the identifier.
    package var isValid: Bool { hostKey.isValid(signature: signature, over: sessionID) }
}

/// The bindings of one connection to the agent, in the order in which they were made.
package struct SessionBindings: Sendable {
    /// The most bindings of a connection, as in OpenSSH.
    package static let most = 16

    /// The bindings; the last is to the host that the client talks to, those before it to hosts on the way.
    package private(set) var bindings: [SessionBinding] = []

    /// A connection that is bound to no session.
    package init() {}

    /// Records a binding, by OpenSSH's rules; one that has been recorded has no further effect.
    ///
    /// - Throws: ``SSHFormatError`` for an invalid signature, any binding after one that is not forwarding, the identifier of a
    ///   recorded one with another key, and one more than ``most``.
    package mutating func add(_ binding: SessionBinding) throws(SSHFormatError) {
        guard binding.isValid, bindings.allSatisfy(\.isForwarding) else { throw SSHFormatError() }
        if let recorded = bindings.first(where: { $0.sessionID == binding.sessionID }) {
            guard recorded.hostKey == binding.hostKey else { throw SSHFormatError() }
            return
        }
        guard bindings.count < Self.most else { throw SSHFormatError() }
        bindings.append(binding)
    }
}

extension SSHReader {
    /// Reads the identifier of a session: 1 to 128 bytes.
    mutating func readSessionID() throws(SSHFormatError) -> [UInt8] {
        let identifier = try readString()
        guard (1...128).contains(identifier.count) else { throw SSHFormatError() }
        return identifier
    }
}
