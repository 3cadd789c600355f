internal import Crypto
internal import Foundation
internal import KeychainClient
internal import KeychainModel
internal import SecretMemory

/// Where a key's record is: a generic password whose service is the purpose and whose account is the name.
struct KeyPlace: Sendable {
    /// How the service of every key's record begins.
    static let prefix = "touchstone.key:"

    let name: String
    let group: String?
    private let purpose: String
    /// Whether it is where the key's successor waits.
    private var isOfSuccessor = false

    /// - Throws: ``TouchstoneError`` with `limitExceeded`.
    init(purpose: String, name: String, group: String?) throws(TouchstoneError) {
        try ItemName.check(name, "name of a key")
        if let group { try ItemName.check(group, "group") }
        self.name = name
        self.group = group
        self.purpose = purpose
    }

    /// Where the key's successor waits for the name.
    var ofSuccessor: KeyPlace {
        var place = self
        place.isOfSuccessor = true
        return place
    }

    /// Whether keys of this place have codes.
    var isOfSealing: Bool { purpose == "\(KeyPurpose.Sealing.self)" }

    private var service: String {
        let kind = isOfSuccessor ? purpose + "+successor" : purpose
        return Self.prefix + "\(kind):\((group ?? "").utf8.count):\(group ?? "")"
    }

    var attributes: ItemAttributes {
        var attributes: ItemAttributes = [.service: .string(service), .account: .string(name)]
        attributes[.accessGroup] = group.map { .string($0) }
        return attributes
    }

    /// A query for the record; only for that of this key where `mark` is given.
    func query(returns: ItemQuery.Returns = [], mark: [UInt8]? = nil) -> ItemQuery {
        var wanted = attributes
        wanted[.generic] = mark.map { .data($0) }
        return ItemQuery(itemClass: .genericPassword, attributes: wanted, returns: returns)
    }
}

/// A signature or a shared secret, in locked memory.
final class KeyUseResult: Sendable {
    private let bytes: SecretBytes

    init(_ bytes: consuming SecretBytes) { self.bytes = bytes }

    /// Lends the bytes.
    func withBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
        try bytes.withUnsafeBytes { bytes throws(E) in try body(bytes) }
    }
}

extension KeychainLink {
    /// Makes a key and keeps its record; the record's name is taken by one alone.
    func makeKey(
        _ rule: AccessRule,
        expires: Date?,
        challenge: Data?,
        at place: KeyPlace
    ) async throws(TouchstoneError) -> KeyRecord {
        let prompt = fields(.standard)
        return try await call { client, cancellation throws(TouchstoneError) in
            // Before a key is made that nobody wants.
            if try client.current(at: place, prompt, cancellation) != nil {
                throw TouchstoneError(.alreadyExists)
            }
            if let challenge, challenge.count > AttestKey.mostQualifyingData {
                throw .limit("challenge: at most \(AttestKey.mostQualifyingData) bytes")
            }
            let level = HardwareLevel(try below { () throws(KeychainError) in try client.status().assurance })
            try rule.checkLevel(level)
            try client.checkSensor(rule)
            let key = try below { () throws(KeychainError) in
                let request = MakeKey(
                    accessControl: try rule.control(forKey: true),
                    group: place.group.flatMap(AccessGroup.init),
                    prompt: prompt
                )
                return try client.makeKey(request, cancellation: cancellation)
            }
            let attestation = try challenge.map { challenge throws(TouchstoneError) in
                try below { () throws(KeychainError) in
                    try client.attestation(of: key, challenge, prompt, cancellation)
                }
            }
            // A keychain in the TPM can have a key of software: the key's own place counts.
            let record = KeyRecord(
                key,
                rule,
                key.isHardware ? level : min(level, .software),
                expires: expires,
                attestation: attestation ?? nil,
                hasCodes: place.isOfSealing
            )
            try client.add(record, at: place, prompt, cancellation)
            return record
        }
    }

    /// Finds a key's record, and sees that the key can still be used.
    func findKey(at place: KeyPlace) async throws(TouchstoneError) -> KeyRecord {
        let prompt = fields(.standard)
        return try await call { client, cancellation throws(TouchstoneError) in
            let found = try client.current(at: place, prompt, cancellation)
            guard let record = found else { throw TouchstoneError(.notFound) }
            _ = try below { () throws(KeychainError) in
                let request = ReadKey(representation: Array(record.representation), prompt: prompt)
                return try client.readKey(request, cancellation: cancellation)
            }
            return record
        }
    }

    /// Signs the SHA-256 of a message.
    func sign(
        _ message: Data,
        with key: DeviceSigningKey,
        _ prompt: PromptText
    ) async throws(TouchstoneError) -> DeviceSignature {
        let digest = Array(SHA256.hash(data: message))
        let (result, assurance) = try await use(key, .sign(digest: digest), prompt)
        let bytes = result.withBytes { Data($0) }
        guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: bytes) else {
            throw TouchstoneError(.serviceFailed, part: "touchstoned", cause: "no signature")
        }
        return DeviceSignature(
            rawRepresentation: bytes,
            derRepresentation: signature.derRepresentation,
            assurance: assurance
        )
    }

    /// Agrees on a secret and derives a key from it.
    func agree(
        with peer: DevicePublicKey,
        _ key: DeviceAgreementKey,
        _ prompt: PromptText,
        info: Data,
        salt: Data,
        byteCount: Int
    ) async throws(TouchstoneError) -> Data {
        let use = KeyUse.agree(publicKey: Array(peer.x963Representation))
        let (secret, _) = try await self.use(key, use, prompt)
        let derived = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: secret.withBytes { SymmetricKey(data: $0) },
            salt: salt,
            info: info,
            outputByteCount: byteCount
        )
        return derived.withUnsafeBytes { Data($0) }
    }

    /// The secret that a sealing key and a fresh public key have together.
    func openingSecret(
        for fresh: DevicePublicKey,
        with key: DeviceSealingKey,
        _ prompt: PromptText
    ) async throws(TouchstoneError) -> KeyUseResult {
        try await use(key, .decrypt(publicKey: Array(fresh.x963Representation)), prompt).0
    }

    /// Has the user show what the key demands for this operation, and uses it; what was shown serves nothing else.
    private func use<Purpose>(
        _ key: DeviceKey<Purpose>,
        _ use: KeyUse,
        _ prompt: PromptText
    ) async throws(TouchstoneError) -> (KeyUseResult, Assurance) {
        let fields = fields(prompt)
        let context = client.makeContextNumber()
        defer { forget(context) }
        let (rule, representation) = (key.rule, Array(key.representation))
        return try await recording(key.name) { () throws(TouchstoneError) in
            try await call(timeout: prompt.timeout) { client, cancellation throws(TouchstoneError) in
                let status = try below { () throws(KeychainError) in try client.status() }
                let level = HardwareLevel(status.assurance)
                try rule.checkLevel(level)
                if rule.wantsStrongSensor, status.authentication.sensorFacts.grade == .weak {
                    throw .weakSensor(status.authentication.sensor)
                }
                return try below { () throws(KeychainError) in
                    var factors: Set<AuthenticationFactor> = []
                    if rule.asks {
                        // Nobody is asked for a key that is invalidated or locked for good.
                        let made = try client.readKey(
                            ReadKey(representation: representation, prompt: fields),
                            cancellation: cancellation
                        )
                        let request = EvaluateAccessControl(
                            accessControl: made.accessControl,
                            operation: Int64(use.operation.rawValue),
                            context: context,
                            reuseSeconds: 0,
                            prompt: fields
                        )
                        do throws(KeychainError) {
                            factors = try client.evaluateAccessControl(request, cancellation: cancellation)
                                .factors
                        } catch {
                            // Bound to the former fingers it is gone, which its use says.
                            guard error.cause == .enrolmentChanged else { throw error }
                        }
                    }
                    let result = try client.useKey(
                        UseKey(representation: representation, use: use, context: context, prompt: fields),
                        cancellation: cancellation
                    )
                    let assurance = Assurance(ofKeyUnder: key.rule, factors, status, hardware: key.hardware)
                    return (KeyUseResult(result), assurance)
                }
            }
        }
    }
}

extension RemoteKeychain {
    /// The record of a key; nil for none.
    func record(
        at place: KeyPlace,
        _ prompt: PromptFields,
        _ cancellation: Cancellation
    ) throws(TouchstoneError) -> KeyRecord? {
        let found = try below { () throws(KeychainError) in
            try ifPresent { () throws(KeychainError) in
                let request = CopyItems(query: place.query(returns: [.data, .attributes]), prompt: prompt)
                return FoundSecret(try copy(request, cancellation: cancellation))
            }
        }
        guard let bytes = try found?.bytes() else { return nil }
        guard let record = try? JSONDecoder().decode(KeyRecord.self, from: bytes) else {
            throw .damagedRecord
        }
        return record
    }

    /// What the chip says of a key; nil for a key of software.
    fileprivate func attestation(
        of key: EnclaveKey,
        _ challenge: Data,
        _ prompt: PromptFields,
        _ cancellation: Cancellation
    ) throws(KeychainError) -> KeyAttestation? {
        guard key.isHardware else { return nil }
        let attestation = try attestKey(
            AttestKey(
                representation: key.representation,
                qualifyingData: Array(challenge),
                prompt: prompt
            ),
            cancellation: cancellation
        )
        guard let evidence = attestation.evidence else { return nil }
        return KeyAttestation(
            format: "touchstone-tpm2",
            statement: Data(attestation.json.utf8),
            certificates: evidence.identity.certificates.map { Data($0) }
        )
    }

    /// Keeps the record of a new key.
    fileprivate func add(
        _ record: KeyRecord,
        at place: KeyPlace,
        _ prompt: PromptFields,
        _ cancellation: Cancellation
    ) throws(TouchstoneError) {
        let bytes = try SecretCoding.encode(record)
        var attributes = place.attributes
        attributes[.generic] = .data(KeyRecord.mark(of: record.representation))
        try below { () throws(KeychainError) in
            try addPassword(
                bytes,
                attributes,
                AccessControl(accessibility: .afterFirstUnlockThisDeviceOnly),
                nil,
                prompt,
                cancellation
            )
        }
    }
}

extension AccessRule {
    /// - Throws: ``TouchstoneError`` with `hardwareTooWeak`, where the rule demands more protection than there is.
    func checkLevel(_ actual: HardwareLevel) throws(TouchstoneError) {
        guard let level, actual < level else { return }
        throw TouchstoneError(.hardwareTooWeak, details: ["demanded: \(level)", "here: \(actual)"])
    }
}
