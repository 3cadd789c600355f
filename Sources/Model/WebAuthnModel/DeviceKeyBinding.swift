/// What the attestation of a `DeviceKey` is bound to: a server's challenge, the key's purpose and its name.
///
/// The chip signs, as the qualifying data of TPM2_Certify, the SHA-256 of ``message``; the format of such an attestation is
/// `touchstone-tpm2-key`.
public struct DeviceKeyBinding: Sendable, Equatable {
    /// The server's challenge, at most 65,535 bytes.
    public let challenge: [UInt8]
    /// What the key is for: `Signing`, `Agreement`, `Sealing`, or an app's own word.
    public let purpose: String
    /// The key's name on its device.
    public let name: String

    /// The beginning of the message, with its version.
    public static let label = "touchstone device key 1"

    /// Describes what an attestation is bound to.
    public init(challenge: [UInt8], purpose: String, name: String) {
        self.challenge = challenge
        self.purpose = purpose
        self.name = name
    }

    /// ``label`` and a zero byte, then challenge, purpose and name, each after its number of bytes in 2 bytes, most significant
    /// first.
    public var message: [UInt8] {
        [challenge, Array(purpose.utf8), Array(name.utf8)].reduce(Array(Self.label.utf8) + [0]) {
            bytes,
            part in
            bytes + [UInt8(truncatingIfNeeded: part.count >> 8), UInt8(truncatingIfNeeded: part.count)] + part
        }
    }
}
