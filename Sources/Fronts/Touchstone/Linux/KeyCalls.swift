internal import Crypto
internal import Foundation
internal import KeychainClient
internal import KeychainModel
internal import SecretMemory
internal import WebAuthnModel

/// A signature or a shared secret, in locked memory.
final class KeyUseResult: Sendable {
    private let bytes: SecretBytes

    init(_ bytes: consuming SecretBytes) { self.bytes = bytes }

    /// Lends the bytes.
    func withBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
        try bytes.withUnsafeBytes { bytes throws(E) in try body(bytes) }
    }
}

/// Calls of the daemon about private keys.
extension KeychainCalls {
    /// Makes a key; if there is a challenge, its attestation asks for what a use requires, without being one.
    func makeKey(
        under rule: AccessRule,
        _ lifetime: KeyLifetime,
        at place: KeyPlace,
        challenge: Data?
    ) throws(TouchstoneError) -> NewKey {
        if let challenge, challenge.count > AttestKey.mostQualifyingData {
            throw .limit("challenge: at most \(AttestKey.mostQualifyingData) bytes")
        }
        let level = try level()
        try rule.checkLevel(level)
        try checkSensor(rule)
        let key = try below { () throws(KeychainError) in
            let group = place.group.flatMap { AccessGroup($0) }
            let control = try rule.control(forKey: true)
            let request = MakeKey(
                accessControl: control,
                group: group,
                limits: try KeyLimits(lifetime),
                prompt: prompt
            )
            return try client.makeKey(request, cancellation: cancellation)
        }
        let attestation = try challenge.map { challenge throws(TouchstoneError) in
            try below { () throws(KeychainError) in try statement(about: key, challenge, place) }
        }
        return NewKey(
            representation: Data(key.representation),
            publicKey: Data(key.publicKey),
            // A keychain with a TPM can have software keys, so the key's own location counts.
            hardware: key.isHardware ? level : min(level, .software),
            attestation: attestation ?? nil
        )
    }

    /// Checks that a key can be used, or will be.
    ///
    /// - Returns: how often it may be used; nil for any number.
    /// - Throws: ``TouchstoneError`` with `deleted`, `invalidated` or `usedUp` for a key that can never be used again.
    @discardableResult
    func checkKey(_ representation: Data, at place: KeyPlace) throws(TouchstoneError) -> Int? {
        let key = try below { () throws(KeychainError) in
            let request = ReadKey(representation: Array(representation), prompt: prompt)
            return try client.readKey(request, cancellation: cancellation)
        }
        try nameKey(representation, at: place)
        return key.usesLeft.map { Int($0) }
    }

    /// Makes the record of an earlier version name its key, which is deleted with it then.
    private func nameKey(_ representation: Data, at place: KeyPlace) throws(TouchstoneError) {
        let record = place.query(mark: KeyRecord.mark(of: representation))
        try ifPresent { () throws(TouchstoneError) in
            guard try !namesKeys(record) else { return }
            try below { () throws(KeychainError) in
                let update = UpdateItems(
                    query: record.itemQuery([]),
                    attributes: [.namedKeys: .keys([Array(representation)])],
                    accessControl: nil,
                    data: nil,
                    prompt: prompt
                )
                try client.update(update, cancellation: cancellation)
            }
        }
    }

    /// Asks the user for what the key's rule requires, then uses the key.
    func use(
        _ representation: Data,
        at _: KeyPlace,
        under rule: AccessRule,
        _ hardware: HardwareLevel,
        _ operation: KeyOperation
    ) throws(TouchstoneError) -> (KeyUseResult, Assurance) {
        let representation = Array(representation)
        let use = KeyUse(operation)
        let status = try below { () throws(KeychainError) in try client.status() }
        try rule.checkLevel(HardwareLevel(status.assurance))
        if rule.wantsStrongSensor, status.authentication.isSensorWeak {
            throw .weakSensor(status.authentication.sensorFacts.grade, status.authentication.sensor)
        }
        return try below { () throws(KeychainError) in
            // Without a prompt, the context's earlier authentication must suffice.
            let factors = try rule.asks && prompt.interactionAllowed ? ask(for: representation, use) : []
            let result = try client.useKey(
                UseKey(representation: representation, use: use, context: context, prompt: prompt),
                cancellation: cancellation
            )
            let assurance = Assurance(ofKeyUnder: rule, factors, status, hardware: hardware)
            return (KeyUseResult(result), assurance)
        }
    }

    private func ask(
        for representation: [UInt8],
        _ use: KeyUse
    ) throws(KeychainError) -> Set<AuthenticationFactor> {
        // Check the key before the prompt: an invalidated or permanently locked key must not cause one.
        let made = try client.readKey(
            ReadKey(representation: representation, prompt: prompt),
            cancellation: cancellation
        )
        guard let context else { return [] }
        let request = EvaluateAccessControl(
            accessControl: made.accessControl,
            operation: Int64(use.operation.rawValue),
            context: context,
            reuseSeconds: 0,
            prompt: prompt
        )
        do throws(KeychainError) {
            return try client.evaluateAccessControl(request, cancellation: cancellation).factors
        } catch {
            // The key is bound to former fingers and thus invalidated; using it reports that.
            guard error.cause == .enrolmentChanged else { throw error }
            return []
        }
    }

    /// The hardware's attestation of a key, bound to its purpose and name; nil for a software key.
    private func statement(
        about key: EnclaveKey,
        _ challenge: Data,
        _ place: KeyPlace
    ) throws(KeychainError) -> KeyAttestation? {
        guard key.isHardware else { return nil }
        let binding = DeviceKeyBinding(
            challenge: Array(challenge),
            purpose: place.purpose,
            name: place.name
        )
        let attestation = try client.attestKey(
            AttestKey(
                representation: key.representation,
                qualifyingData: Array(SHA256.hash(data: binding.message)),
                prompt: prompt
            ),
            cancellation: cancellation
        )
        guard let evidence = attestation.evidence else { return nil }
        return KeyAttestation(
            format: "touchstone-tpm2-key",
            statement: Data(attestation.json.utf8),
            certificates: evidence.identity.certificates.map { Data($0) }
        )
    }
}

extension KeyLimits {
    /// What the daemon enforces of a key's lifetime: times to the microsecond.
    fileprivate init(_ lifetime: KeyLifetime) throws(KeychainError) {
        func microseconds(_ date: Date?) -> UInt64? {
            date.map { UInt64(min(max(0, $0.timeIntervalSince1970), 1e12) * 1_000_000) }
        }
        try self.init(
            starts: microseconds(lifetime.starts),
            ends: microseconds(lifetime.expires),
            uses: lifetime.uses.map { UInt32($0) }
        )
    }
}

extension KeyUse {
    /// The operation as a request of the daemon.
    fileprivate init(_ operation: KeyOperation) {
        self =
            switch operation {
            case .sign(let message): .sign(digest: Array(SHA256.hash(data: message)))
            case .agree(let peer): .agree(publicKey: Array(peer.x963Representation))
            case .open(let fresh): .decrypt(publicKey: Array(fresh.x963Representation))
            }
    }
}
