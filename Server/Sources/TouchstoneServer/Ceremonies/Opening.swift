internal import AccountStore
internal import Logging
internal import RelyingParty
internal import WebAuthnModel

extension Service {
    /// Opens a ceremony within the limits of its network address.
    ///
    /// `publicKey` is the options for the client, `kept` the options to store (nil: the same), `failures` the ones
    /// that prevent it. The response is
    /// `{ceremonyId, publicKey, expiresAt}`.
    func open(
        _ purpose: Ceremony.Purpose,
        account: AccountID?,
        session: Session?,
        publicKey: JSONValue,
        kept: JSONValue? = nil,
        failures: FailureLimit? = nil,
        _ call: Call
    ) async throws -> Reply {
        let expiresAt = call.now + .seconds(configuration.ceremonyLifetime)
        let id = CeremonyID.random(byteCount: 32)
        let verdict = try await store.openCeremony(
            Ceremony(
                id: id,
                purpose: purpose,
                account: account,
                session: session?.id,
                options: String(decoding: try CanonicalJSON.encode(kept ?? publicKey), as: UTF8.self),
                openedAt: call.now,
                expiresAt: expiresAt
            ),
            limits: [
                RateLimit(
                    LimitKey("ceremony-open", call.limitSubject),
                    most: configuration.openedCeremoniesPerMinute,
                    window: .seconds(60)
                )
            ],
            failures: failures,
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
    /// The failures by passkey that prevent an address from beginning a sign-in, for a name or none.
    func passkeyFailures(name: String?, _ call: Call) -> FailureLimit {
        FailureLimit(
            address: RateLimit(
                LimitKey("ceremony-address", call.limitSubject),
                most: configuration.ceremoniesPerMinute,
                window: .seconds(60)
            ),
            name: name.map { LimitKey("ceremony-name", $0) }
        )
    }

    /// Counts a failed sign-in by passkey, for the address and for the name that it began with, if any.
    func countPasskeyFailure(name: String?, _ call: Call) async {
        let failures = passkeyFailures(name: name, call)
        let named = failures.name.map { RateLimit($0, most: .max, window: failures.address.window) }
        do throws(StoreError) {
            // The name first: an exceeded limit ends the counting.
            _ = try await store.take((named.map { [$0] } ?? []) + [failures.address], now: call.now)
        } catch {
            logger.error("a failure could not be counted: \(error)")
        }
    }
}
