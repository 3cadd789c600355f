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
    /// - Parameters:
    ///   - call: the request.
    ///   - token: the access token that the proof must be for (`ath`); nil: any.
    /// - Returns: the proof, whose use the store has not recorded.
    /// - Throws: ``Problem`` with `invalid_dpop_proof` or `use_dpop_nonce`.
    func proof(of call: Call, for token: String? = nil) throws(Problem) -> VerifiedProof? {
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
                    acceptsNonce: { nonces.accepts($0, at: now) },
                    accessToken: token
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

    /// The proof that a request for a change of credentials comes from the session's own client: whoever was only shown its access
    /// token cannot send one.
    ///
    /// - Returns: the proof, which is now used; a session in cookies, whose requests need a listed origin, may have none.
    /// - Throws: ``Problem`` with `forbidden` for a session without a key, `invalid_dpop_proof` or `use_dpop_nonce`;
    ///   ``StoreError``.
    func possession(
        of session: AuthenticatedSession,
        _ token: String?,
        _ call: Call
    ) async throws -> VerifiedProof? {
        guard session.isInCookies || session.session.thumbprint != nil else {
            throw Problem(
                .forbidden,
                "a change of credentials needs a session in cookies, or one whose sign-in had a DPoP proof"
            )
        }
        guard let proof = try proof(of: call, for: token) else {
            if session.isInCookies { return nil }
            throw Problem(.invalidDPoPProof, "a change of credentials needs a proof of the session's key")
        }
        guard session.isInCookies || proof.thumbprint == session.session.thumbprint else {
            throw Problem(.invalidDPoPProof, "of another key")
        }
        guard try await store.takeProof(proof.identifier, now: call.now) == .fresh else {
            throw Problem(.invalidDPoPProof, "replayed")
        }
        return proof
    }
}
