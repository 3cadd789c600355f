internal import AccountStore
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import RelyingParty
internal import WebAuthnModel

/// A request's verified DPoP proof; the store checks that it is new.
struct VerifiedProof: Sendable {
    let thumbprint: [UInt8]
    let identifier: ProofIdentifier
}

extension Service {
    /// The tolerance for a proof's time, in seconds.
    private static let proofTolerance: Int64 = 60

    /// The proof of a request; nil: there is none.
    ///
    /// Every proof needs the server's nonce (RFC 9449, sections 8 and 11.2), so that proofs made in advance are
    /// useless.
    ///
    /// - Throws: ``Problem`` with `invalid_dpop_proof` or `use_dpop_nonce`.
    func proof(of call: Call) throws(Problem) -> VerifiedProof? {
        // The framework joins two fields with a comma, which is not a compact JWS (RFC 9449, section 4.3, item 1).
        guard let text = call.request.headers[.dpop] else { return nil }
        let (nonces, now) = (nonces, call.now.seconds)
        do throws(DPoPProof.Refusal) {
            let proof = try DPoPProof(
                verifying: text,
                for: DPoPProof.Request(
                    method: call.request.method.rawValue,
                    url: configuration.publicURL + call.request.uri.path,
                    now: now,
                    tolerance: Self.proofTolerance,
                    acceptsNonce: { nonces.accepts($0, at: now) }
                )
            )
            return VerifiedProof(
                thumbprint: proof.thumbprint,
                identifier: ProofIdentifier(
                    digest: proof.jtiDigest,
                    expiresAt: Timestamp(seconds: proof.issuedAt + Self.proofTolerance + 1)
                )
            )
        } catch {
            throw Problem(error == .otherNonce ? .useDPoPNonce : .invalidDPoPProof, error.rawValue)
        }
    }

    /// Marks the proof of a request as used, if no other operation of the store does.
    func usedProof(of call: Call) async throws -> VerifiedProof? {
        guard let proof = try proof(of: call) else { return nil }
        guard try await store.takeProof(proof.identifier, now: call.now) == .fresh else {
            throw Problem(.invalidDPoPProof, "replayed")
        }
        return proof
    }
}
