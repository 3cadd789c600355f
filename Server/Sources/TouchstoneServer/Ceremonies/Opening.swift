internal import AccountStore
internal import RelyingParty
internal import WebAuthnModel

extension Service {
    /// Opens a ceremony within the limits of its network address.
    ///
    /// `publicKey` is the options for the client, `kept` the options to store (nil: the same). The response is
    /// `{ceremonyId, publicKey, expiresAt}`.
    func open(
        _ purpose: Ceremony.Purpose,
        account: AccountID?,
        session: SessionID?,
        publicKey: JSONValue,
        kept: JSONValue? = nil,
        _ call: Call
    ) async throws -> Reply {
        let expiresAt = call.now + .seconds(configuration.ceremonyLifetime)
        let id = CeremonyID.random(byteCount: 32)
        let verdict = try await store.openCeremony(
            Ceremony(
                id: id,
                purpose: purpose,
                account: account,
                session: session,
                options: String(decoding: try CanonicalJSON.encode(kept ?? publicKey), as: UTF8.self),
                expiresAt: expiresAt
            ),
            limits: [
                RateLimit(
                    LimitKey("ceremony-address", call.address),
                    most: configuration.ceremoniesPerMinute,
                    window: .seconds(60)
                )
            ],
            now: call.now
        )
        if case .exceeded(_, let until) = verdict {
            await audit(call.event(.rateLimitExceeded, reason: "ceremony-address"), at: call.now)
            throw throttled("ceremony-address", until, call)
        }
        return .json([
            "ceremonyId": JSONValue(base64URL: id.bytes),
            "publicKey": publicKey,
            "expiresAt": .integer(expiresAt.seconds),
        ])
    }
}
