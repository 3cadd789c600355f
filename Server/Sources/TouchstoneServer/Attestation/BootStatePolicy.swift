internal import AccountStore
internal import Crypto
internal import Foundation
internal import WebAuthn

/// What the machine of a chip must have been started with: the settings `boot-state` and `boot-states`.
struct BootStatePolicy: Sendable, Equatable {
    private let demand: BootStateDemand
    private let states: Set<[UInt8]>

    /// A chip's signed quote, as a client sent it.
    struct Quote: Sendable {
        /// TPMS_ATTEST.
        let statement: [UInt8]
        /// r and s, 32 bytes each.
        let signature: [UInt8]
    }

    /// - Throws: ``ConfigurationFault`` for a file that cannot be read.
    init(_ configuration: ServerConfiguration) throws(ConfigurationFault) {
        demand = configuration.bootState
        states = try configuration.bootStates.map(DigestList.read) ?? []
    }

    /// The nonce for the quote of an activation; nil if none is asked for.
    ///
    /// An activation's id is random, and the activation ends with its first use: a quote counts once.
    func nonce(for id: ActivationID) -> [UInt8]? {
        guard demand != .none else { return nil }
        return Array(SHA256.hash(data: Array("touchstone boot quote\0".utf8) + id.bytes))
    }

    /// Checks a quote for an activation by the attestation key that it certifies.
    ///
    /// - Parameters:
    ///   - quote: what the client sent; nil for none, as from an older client and from a chip that does not measure with SHA-256.
    ///   - id: the activation.
    ///   - key: the attestation key.
    /// - Returns: the digest of the boot state; nil if none is asked for, or none was sent and none is required.
    /// - Throws: ``EndorsementPolicy/Refusal``.
    func state(
        of quote: Quote?,
        for id: ActivationID,
        by key: P256.Signing.PublicKey
    ) throws(EndorsementPolicy.Refusal) -> [UInt8]? {
        guard let nonce = nonce(for: id) else { return nil }
        guard let quote else {
            guard demand == .list else { return nil }
            throw EndorsementPolicy.Refusal(code: .bootStateUntrusted, detail: "the client sent no quote")
        }
        guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: quote.signature),
            key.isValidSignature(signature, for: quote.statement)
        else {
            throw EndorsementPolicy.Refusal(
                code: .attestationRejected,
                detail: "the quote is not signed by the attestation key"
            )
        }
        guard let info = try? TPMQuoteInfo(parsing: quote.statement) else {
            throw EndorsementPolicy.Refusal(
                code: .attestationRejected,
                detail: "this is no quote of PCRs 0 to 7 of SHA-256"
            )
        }
        guard info.extraData == nonce else {
            throw EndorsementPolicy.Refusal(
                code: .attestationRejected,
                detail: "the quote is for another nonce"
            )
        }
        guard demand != .list || states.contains(info.digest) else {
            throw EndorsementPolicy.Refusal(
                code: .bootStateUntrusted,
                detail: "the boot state \(info.digest.hexadecimal) is not on the list"
            )
        }
        return info.digest
    }
}
