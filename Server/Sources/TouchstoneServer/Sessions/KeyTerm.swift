internal import AccountStore
internal import WebAuthnModel

/// The time for which the key of a device is accepted, by the setting `device-key-lifetime`.
struct KeyTerm {
    /// From then on the key signs nobody in.
    let acceptedUntil: Timestamp
    /// From then on the device should register a successor: the last tenth of the time.
    let renewFrom: Timestamp

    /// The term of a credential; nil for a passkey, and without the setting.
    init?(of credential: Credential, _ configuration: ServerConfiguration) {
        let seconds = Int64(configuration.deviceKeyLifetime) * 86_400
        guard seconds > 0, credential.kind == .device else { return nil }
        acceptedUntil = credential.createdAt + .seconds(seconds)
        renewFrom = acceptedUntil - .seconds(seconds / 10)
    }
}

extension Service {
    /// The API's *credential*, with its term.
    func json(of credential: Credential) -> JSONValue {
        credential.json(KeyTerm(of: credential, configuration))
    }

    /// The term of the key that signed in, for the client.
    ///
    /// - Throws: ``StoreError``.
    func keyTerm(of session: Session) async throws(StoreError) -> [(name: String, value: JSONValue)] {
        guard configuration.deviceKeyLifetime > 0, let id = session.credential,
            let credential = try await store.credential(id, of: session.account),
            let term = KeyTerm(of: credential, configuration)
        else { return [] }
        return [
            ("keyAcceptedUntil", .integer(term.acceptedUntil.seconds)),
            ("keyRenewFrom", .integer(term.renewFrom.seconds)),
        ]
    }

    /// Whether a credential's term is over.
    func isExpired(_ credential: Credential, at now: Timestamp) -> Bool {
        KeyTerm(of: credential, configuration).map { $0.acceptedUntil <= now } ?? false
    }

    /// Whether a credential signs in, and will do so for a while.
    func isLasting(_ credential: Credential, at now: Timestamp) -> Bool {
        credential.suspension == nil
            && KeyTerm(of: credential, configuration).map { now < $0.renewFrom } ?? true
    }
}
