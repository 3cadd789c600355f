public import Foundation

#if APPLE_SIDE
    internal import CryptoKit
#else
    internal import Crypto
#endif

/// A public key on P-256.
public struct DevicePublicKey: Sendable, Hashable {
    /// The uncompressed point of X9.63: the byte 4, then x and y of 32 bytes each.
    public let x963Representation: Data
    /// SubjectPublicKeyInfo of RFC 5480, in DER.
    public let derRepresentation: Data

    /// Reads an uncompressed point.
    ///
    /// - Parameter x963Representation: 65 bytes.
    /// - Throws: ``TouchstoneError`` with `typeMismatch` if the bytes are not a point on P-256.
    public init(x963Representation: Data) throws(TouchstoneError) {
        do {
            let key = try P256.Signing.PublicKey(x963Representation: x963Representation)
            self.x963Representation = key.x963Representation
            derRepresentation = key.derRepresentation
        } catch {
            throw TouchstoneError(.typeMismatch, details: ["an uncompressed point of P-256 has 65 bytes"])
        }
    }
}

/// An ECDSA signature on P-256, and what the use of the key is worth.
public struct DeviceSignature: Sendable, Hashable {
    /// r and s of 32 bytes each.
    public let rawRepresentation: Data
    /// ECDSA-Sig-Value of RFC 3279, in DER.
    public let derRepresentation: Data
    /// What the use is worth to a server, as stated by this device.
    public let assurance: Assurance
}
