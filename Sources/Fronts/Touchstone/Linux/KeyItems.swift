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
    private let service: String

    /// - Throws: ``TouchstoneError`` with `limitExceeded`.
    init(purpose: String, name: String, group: String?) throws(TouchstoneError) {
        for (text, what) in [(name, "name of a key"), (group ?? "g", "group")] {
            guard 1...SecretStore.longestName ~= text.utf8.count, !text.utf8.contains(0) else {
                throw .limit("\(what): 1 to \(SecretStore.longestName) bytes, none of them 0")
            }
        }
        self.name = name
        self.group = group
        service = Self.prefix + "\(purpose):\((group ?? "").utf8.count):\(group ?? "")"
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

/// What is kept of a key, as JSON; nothing in it is secret, because the representation is sealed by the daemon.
struct KeyRecord: Codable, Sendable {
    private let need: String
    private let acceptsLaterEnrolments: Bool
    private let acceptsWeakBiometry: Bool
    private let demands: String?
    private let protection: String
    private let point: Data
    let created: Date
    let expires: Date?
    let representation: Data

    init(_ key: EnclaveKey, _ rule: AccessRule, _ level: HardwareLevel, expires: Date?) {
        need = rule.need.rawValue
        acceptsLaterEnrolments = rule.acceptsLaterEnrolments
        acceptsWeakBiometry = rule.acceptsWeakBiometry
        demands = rule.level.map { "\($0)" }
        protection = "\(level)"
        point = Data(key.publicKey)
        created = Date()
        self.expires = expires
        representation = Data(key.representation)
    }

    /// Rule, level and public key, which are damaged where they mean nothing.
    func parts() throws(TouchstoneError) -> (AccessRule, HardwareLevel, DevicePublicKey) {
        guard let need = AccessRule.Need(rawValue: need), let level = HardwareLevel(name: protection) else {
            throw .damagedRecord
        }
        var rule = AccessRule(need)
        rule.acceptsLaterEnrolments = acceptsLaterEnrolments
        rule.acceptsWeakBiometry = acceptsWeakBiometry
        if let demands {
            guard let level = HardwareLevel(name: demands) else { throw .damagedRecord }
            rule.level = level
        }
        return (rule, level, try DevicePublicKey(x963Representation: point))
    }

    /// What tells this key's record from one that was made later.
    static func mark(of representation: Data) -> [UInt8] { Array(SHA256.hash(data: representation)) }
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

extension TouchstoneError {
    fileprivate static var damagedRecord: TouchstoneError {
        TouchstoneError(.damaged, details: ["the record of a key"])
    }
}

extension HardwareLevel {
    /// The level of this name.
    fileprivate init?(name: String) {
        let all: [HardwareLevel] = [.test, .software, .separateAccount, .weakTPM, .hardware]
        guard let level = all.first(where: { "\($0)" == name }) else { return nil }
        self = level
    }
}

extension KeychainLink {
    /// Makes a key and keeps its record; the record's name is taken by one alone.
    func makeKey(
        _ rule: AccessRule,
        expires: Date?,
        at place: KeyPlace
    ) async throws(TouchstoneError) -> KeyRecord {
        let prompt = fields(.standard)
        return try await call { client, cancellation throws(TouchstoneError) in
            // Before a key is made that nobody wants.
            if try client.record(at: place, prompt, cancellation) != nil {
                throw TouchstoneError(.alreadyExists)
            }
            let level = HardwareLevel(try below { () throws(KeychainError) in try client.status().assurance })
            try rule.checkLevel(level)
            let key = try below { () throws(KeychainError) in
                let request = MakeKey(
                    accessControl: try rule.control(forKey: true),
                    group: place.group.flatMap(AccessGroup.init),
                    prompt: prompt
                )
                return try client.makeKey(request, cancellation: cancellation)
            }
            // A keychain in the TPM can have a key of software: the key's own place counts.
            let record = KeyRecord(
                key,
                rule,
                key.isHardware ? level : min(level, .software),
                expires: expires
            )
            try client.add(record, at: place, prompt, cancellation)
            return record
        }
    }

    /// Finds a key's record, and sees that the key can still be used.
    func findKey(at place: KeyPlace) async throws(TouchstoneError) -> KeyRecord {
        let prompt = fields(.standard)
        return try await call { client, cancellation throws(TouchstoneError) in
            guard let record = try client.record(at: place, prompt, cancellation) else {
                throw TouchstoneError(.notFound)
            }
            _ = try below { () throws(KeychainError) in
                let request = ReadKey(representation: Array(record.representation), prompt: prompt)
                return try client.readKey(request, cancellation: cancellation)
            }
            return record
        }
    }

    /// Deletes a record; with a representation, only that key's.
    func deleteKey(at place: KeyPlace, _ representation: Data?) async throws(TouchstoneError) -> Deletion {
        let prompt = fields(nil)
        return try await call { client, cancellation throws(TouchstoneError) in
            try below { () throws(KeychainError) in
                do throws(KeychainError) {
                    let query = place.query(mark: representation.map(KeyRecord.mark))
                    let count = try client.delete(
                        DeleteItems(query: query, prompt: prompt),
                        cancellation: cancellation
                    )
                    return count > 0 ? .deleted : .wasAbsent
                } catch {
                    guard error.status == .itemNotFound else { throw error }
                    return .wasAbsent
                }
            }
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
        return try await call(timeout: prompt.timeout) { client, cancellation throws(TouchstoneError) in
            let level = HardwareLevel(try below { () throws(KeychainError) in try client.status().assurance })
            try rule.checkLevel(level)
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
                return (KeyUseResult(result), Assurance(of: key, factors, level))
            }
        }
    }
}

extension Assurance {
    /// What one use of a key is worth.
    fileprivate init<Purpose>(
        of key: DeviceKey<Purpose>,
        _ factors: Set<AuthenticationFactor>,
        _ level: HardwareLevel
    ) {
        var facts: Set<Fact> = [.keyBound]
        if key.rule.asks { facts.insert(.perUse) }
        if key.rule.need.hasBiometry, !key.rule.acceptsLaterEnrolments, factors.contains(.biometry) {
            facts.insert(.currentSet)
        }
        if factors.contains(.passcode) { facts.insert(.passcodeUsed) }
        self.init(
            facts: facts,
            method: factors.isEmpty ? nil : AuthenticationMethod(factors),
            hardware: min(level, key.hardware)
        )
    }
}

extension RemoteKeychain {
    /// The record of a key; nil for none.
    fileprivate func record(
        at place: KeyPlace,
        _ prompt: PromptFields,
        _ cancellation: Cancellation
    ) throws(TouchstoneError) -> KeyRecord? {
        let found: FoundSecret
        do throws(KeychainError) {
            let request = CopyItems(query: place.query(returns: [.data, .attributes]), prompt: prompt)
            found = FoundSecret(try copy(request, cancellation: cancellation))
        } catch {
            guard error.status == .itemNotFound else { throw TouchstoneError(error) }
            return nil
        }
        let bytes = try found.bytes()
        guard let record = try? JSONDecoder().decode(KeyRecord.self, from: bytes) else {
            throw .damagedRecord
        }
        return record
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
            let room = try LockedRoom.shared.reserve(2 * bytes.count, cancellation: cancellation)
            defer { withExtendedLifetime(room) {} }
            let item = AddItem(
                itemClass: .genericPassword,
                attributes: attributes,
                accessControl: AccessControl(accessibility: .afterFirstUnlockThisDeviceOnly),
                data: try SecretBytes.locked(bytes),
                prompt: prompt
            )
            _ = try self.add(item, cancellation: cancellation)
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

extension SecretBytes {
    /// A copy of bytes that an app holds, in locked memory.
    static func locked(_ bytes: Data) throws(KeychainError) -> SecretBytes {
        do throws(SecretMemoryError) {
            return try SecretBytes(lockedCopy: bytes.span)
        } catch {
            throw KeychainError(error)
        }
    }
}
