internal import Foundation

/// A signature of a message, as `ssh-keygen -Y sign` writes it (PROTOCOL.sshsig).
package enum SSHMessageSignature {
    private static let magic = Array("SSHSIG".utf8)
    private static let hashName = "sha512"
    private static let version: UInt32 = 1
    private static let lineLength = 70

    /// What the key signs for a message of a namespace; `digest` is the message's SHA-512.
    package static func signedData(namespace: String, digest: [UInt8]) -> [UInt8] {
        var writer = SSHWriter()
        writer.write(text: namespace)
        writer.write(string: [])
        writer.write(text: hashName)
        writer.write(string: digest)
        return magic + writer.bytes
    }

    /// The file of a signature blob (``SSHSignature``): text with a line end.
    package static func armored(namespace: String, key: SSHPublicKey, signature: [UInt8]) -> String {
        var writer = SSHWriter()
        writer.write(uint32: version)
        writer.write(string: key.blob)
        writer.write(text: namespace)
        writer.write(string: [])
        writer.write(text: hashName)
        writer.write(string: signature)
        let text = Array(Data(magic + writer.bytes).base64EncodedString())
        let lines = stride(from: 0, to: text.count, by: lineLength).map {
            String(text[$0..<min($0 + lineLength, text.count)])
        }
        return (["-----BEGIN SSH SIGNATURE-----"] + lines + ["-----END SSH SIGNATURE-----", ""])
            .joined(separator: "\n")
    }
}
