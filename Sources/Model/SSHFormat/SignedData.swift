/// What a client may have signed; nothing else is.
///
/// The two forms cannot be confused: a login begins with the length of the session's identifier, and `SSHSIG` is no such length.
package enum SignedData: Sendable, Equatable {
    /// A login with a key (RFC 4252, section 7).
    case login(LoginRequest)
    /// A file, of which the client sends the hash (PROTOCOL.sshsig): its namespace, such as `git`, which is not empty, and the
    /// name of the hash algorithm, `sha256` or `sha512`.
    case message(namespace: String, hash: String)

    /// Parses data that a client wants signed by a key.
    ///
    /// A login may have a user's certificate of the key in its place.
    ///
    /// - Throws: ``SSHFormatError`` for another form, a login with another key or to another service than `ssh-connection`, an
    ///   algorithm that is not the key's (SHA-1 is none of an RSA key's), and bytes after the end.
    package init(_ data: [UInt8], by key: SSHPublicKey) throws(SSHFormatError) {
        let magic = Array("SSHSIG".utf8)
        if data.starts(with: magic) {
            var reader = SSHReader(Array(data.dropFirst(magic.count)))
            self = try Self.message(from: &reader)
            try reader.requireEnd()
        } else {
            var reader = SSHReader(data)
            self = .login(try LoginRequest(from: &reader, by: key))
            try reader.requireEnd()
        }
    }

    private static func message(from reader: inout SSHReader) throws(SSHFormatError) -> SignedData {
        let namespace = try reader.readText()
        _ = try reader.readString()  // Reserved: to be ignored.
        let hash = try reader.readText()
        let digest = try reader.readString()
        guard !namespace.isEmpty, ["sha256": 32, "sha512": 64][hash] == digest.count else {
            throw SSHFormatError()
        }
        return .message(namespace: namespace, hash: hash)
    }
}

/// A login with a key (RFC 4252, section 7).
package struct LoginRequest: Sendable, Equatable {
    /// The session's identifier: 1 to 128 bytes.
    package let sessionID: [UInt8]
    /// The user on the host, as the client writes it: any text, which may be empty or have control characters.
    package let user: String
    /// The key of the host, if the login is bound to it; of a certificate, the plain key.
    ///
    /// OpenSSH's PROTOCOL describes this form (`publickey-hostbound-v00@openssh.com`). Nil for the form of RFC 4252.
    package let hostKey: SSHPublicKey?

    /// Describes a login.
    package init(sessionID: [UInt8], user: String, hostKey: SSHPublicKey?) {
        self.sessionID = sessionID
        self.user = user
        self.hostKey = hostKey
    }

    /// Reads the data that a key signs at a login.
    init(from reader: inout SSHReader, by key: SSHPublicKey) throws(SSHFormatError) {
        let request: UInt8 = 50  // SSH_MSG_USERAUTH_REQUEST.
        sessionID = try reader.readSessionID()
        guard try reader.readByte() == request else { throw SSHFormatError() }
        user = try reader.readText()
        guard try reader.readText() == "ssh-connection" else { throw SSHFormatError() }
        let method = try reader.readText()
        guard ["publickey", "publickey-hostbound-v00@openssh.com"].contains(method), try reader.readBool()
        else {
            throw SSHFormatError()
        }
        let algorithm = try reader.readText()
        let blob = try reader.readString()
        if !key.signatureAlgorithms.contains(algorithm) || blob != key.blob {
            // A certificate of the key: the server checks it, the key signs the same.
            guard try SSHPublicKey(userCertificate: blob, algorithm: algorithm) == key else {
                throw SSHFormatError()
            }
        }
        hostKey = method == "publickey" ? nil : try SSHPublicKey(blob: try reader.readString())
    }
}
