internal import AccountStore
internal import Crypto
internal import HTTPTypes
internal import Hummingbird
internal import RelyingParty
internal import WebAuthn
internal import WebAuthnModel

/// Keys of an account's devices that are no credentials: each with the TPM's word for its purpose and its name.
enum DeviceKeyRoutes {
    static let operations: [Operation] = [
        Operation(.post, "/v1/device-keys/options", "deviceKeyOptions", .fresh, handle: options),
        Operation(.post, "/v1/device-keys", "registerDeviceKey", .fresh, handle: register),
        Operation(.get, "/v1/device-keys", "listDeviceKeys", .session, handle: list),
        Operation(.delete, "/v1/device-keys/{id}", "removeDeviceKey", .fresh, handle: remove),
    ]

    private static func options(_ service: Service, _ call: Call) async throws -> Reply {
        let caller = try call.session
        return try await service.open(
            .deviceKey,
            account: caller.account.id,
            session: caller.session,
            publicKey: ["challenge": JSONValue(base64URL: Random.bytes(32))],
            call
        )
    }

    private static func register(_ service: Service, _ call: Call) async throws -> Reply {
        let caller = try call.session
        var reader = MemberReader(try await BodyReader.object(of: call.request))
        let id = reader.bytes("ceremonyId", count: 16...64)
        let purpose = reader.label("purpose", bytes: 1...64)
        let name = reader.label("name", bytes: 1...255)
        let statement = reader.object("attestation")
        let certificates = reader.optionalByteArrays("x5c", elements: 1...8, count: 1...8192) ?? []
        try reader.finish()
        let taken = try await service.store.consumeCeremony(CeremonyID(id), presenting: nil, now: call.now)
        guard let ceremony = taken?.ceremony, ceremony.purpose == .deviceKey,
            ceremony.session == caller.session.id,
            let options = KeptOptions(try? JSONValue(parsing: Array(ceremony.options.utf8)))
        else {
            await service.audit(
                call.event(.sequenceFail, account: caller.account.id, reason: "ceremony_expired"),
                at: call.now
            )
            throw Problem(.ceremonyExpired)
        }
        let attested: AttestedDeviceKey
        do throws(WebAuthnError) {
            attested = try await service.devices.verify(
                DeviceKeyAttestation(statement, certificates: certificates),
                of: DeviceKeyBinding(challenge: options.challenge, purpose: purpose, name: name),
                policy: .ours
            )
        } catch {
            throw await service.refusal(of: error, caller, call)
        }
        let key = AttestedKey(
            id: AttestedKeyID(Array(SHA256.hash(data: attested.publicKey))),
            account: caller.account.id,
            purpose: purpose,
            name: name,
            publicKey: attested.publicKey,
            deviceAnchor: try await service.deviceAnchor(of: attested.attestation, call),
            createdAt: call.now
        )
        try await service.store.addAttestedKey(
            key,
            audit: event(.deviceKeyRegistered, key.id, caller, call),
            now: call.now
        )
        return Reply.json(key.json, status: .created)
            .with(.location, "/v1/device-keys/\(Base64URL.encode(key.id.bytes))")
    }

    private static func list(_ service: Service, _ call: Call) async throws -> Reply {
        let keys = try await service.store.attestedKeys(of: try call.session.account.id)
        return .json(["keys": .array(keys.map(\.json))])
    }

    private static func remove(_ service: Service, _ call: Call) async throws -> Reply {
        let caller = try call.session
        let id = AttestedKeyID(try call.identifierBytes())
        try await service.store.removeAttestedKey(
            id,
            of: caller.account.id,
            audit: event(.deviceKeyRemoved, id, caller, call),
            now: call.now
        )
        return .noContent
    }

    private static func event(
        _ name: AuditEvent.Name,
        _ id: AttestedKeyID,
        _ caller: AuthenticatedSession,
        _ call: Call
    ) -> AuditEvent {
        call.event(
            name,
            account: caller.account.id,
            session: caller.session.id,
            details: #"{"key":"\#(Base64URL.encode(id.bytes))"}"#
        )
    }
}

extension AttestedKey {
    /// The API's *device key*.
    var json: JSONValue {
        JSONValue(members: [
            "id": JSONValue(base64URL: id.bytes),
            "purpose": .string(purpose),
            "name": .string(name),
            "publicKey": JSONValue(base64URL: publicKey),
            "createdAt": .integer(createdAt.seconds),
        ])
    }
}
