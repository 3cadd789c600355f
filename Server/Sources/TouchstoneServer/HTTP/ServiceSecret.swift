internal import Crypto
internal import Foundation

/// The secret with which other services introspect tokens and create transactions; compared in constant time.
struct ServiceSecret: Sendable {
    private let digest: SHA256.Digest

    /// Reads the secret from a file of one line.
    ///
    /// - Throws: ``ConfigurationFault`` when the file cannot be read or the secret is guessable.
    init(_ path: String) throws(ConfigurationFault) {
        guard let text = try SecretFile.existing(path) else {
            throw ConfigurationFault(place: path, reason: "is not there")
        }
        let secret = text.trimmingCharacters(in: .whitespacesAndNewlines)
        guard secret.utf8.count >= 32 else {
            throw ConfigurationFault(place: path, reason: "must have at least 32 characters, all random")
        }
        digest = SHA256.hash(data: Array(secret.utf8))
    }

    func matches(_ text: String) -> Bool {
        // Digests compare in constant time.
        SHA256.hash(data: Array(text.utf8)) == digest
    }
}
