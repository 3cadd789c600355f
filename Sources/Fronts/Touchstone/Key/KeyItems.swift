internal import Foundation

#if APPLE_SIDE
    internal import CryptoKit
#else
    internal import Crypto
#endif

/// The place of a key's record: a generic password whose service is the purpose and whose account is the
/// name.
struct KeyPlace: Sendable {
    /// The prefix of the service of every key record.
    static let prefix = "touchstone.key:"
    /// The purposes in the services of key records, whatever the types are called.
    static let (signing, agreement, sealing) = ("Signing", "Agreement", "Sealing")

    let name: String
    let group: String?
    let purpose: String
    /// Whether this is the place of the key's waiting successor.
    private var isOfSuccessor = false

    /// - Throws: ``TouchstoneError`` with `limitExceeded`.
    init(purpose: String, name: String, group: String?) throws(TouchstoneError) {
        try ItemName.check(name, "name of a key")
        if let group { try ItemName.check(group, "group") }
        self.name = name
        self.group = group
        self.purpose = purpose
    }

    /// The place where the key's successor waits for the name.
    var ofSuccessor: KeyPlace {
        var place = self
        place.isOfSuccessor = true
        return place
    }

    /// The purpose that a type of ``KeyPurpose`` stands for.
    static func name(of purpose: Any.Type) -> String {
        switch ObjectIdentifier(purpose) {
        case ObjectIdentifier(KeyPurpose.Signing.self): signing
        case ObjectIdentifier(KeyPurpose.Agreement.self): agreement
        case ObjectIdentifier(KeyPurpose.Sealing.self): sealing
        // An app's own type, whose keys can be made and deleted but not used.
        default: "\(purpose)"
        }
    }

    /// Whether the place is for sealing keys, which have authentication codes.
    var isOfSealing: Bool { purpose == Self.sealing }
    /// Whether the place is for signing keys.
    var isOfSigning: Bool { purpose == Self.signing }

    /// `kSecAttrService` of the record.
    var service: String {
        let kind = isOfSuccessor ? purpose + "+successor" : purpose
        return Self.prefix + "\(kind):\((group ?? "").utf8.count):\(group ?? "")"
    }

    /// The query for the record; with `mark`, only for the record of that key.
    func query(mark: [UInt8]? = nil) -> PasswordQuery {
        PasswordQuery(service: service, account: name, group: group, generic: mark)
    }
}

extension KeychainLink {
    /// Makes a key and stores its record; only one record can have the name.
    func makeKey(
        _ rule: AccessRule,
        _ lifetime: KeyLifetime,
        challenge: Data?,
        at place: KeyPlace
    ) async throws(TouchstoneError) -> KeyRecord {
        try await call(.standard) { calls throws(TouchstoneError) in
            // Check the name first, so that no key is made in vain.
            if try calls.current(at: place) != nil { throw TouchstoneError(.alreadyExists) }
            let key = try calls.makeKey(under: rule, lifetime, at: place, challenge: challenge)
            let record = KeyRecord(key, rule, lifetime, hasCodes: place.isOfSealing)
            try calls.add(record, at: place)
            return record
        }
    }

    /// Finds a key's record and checks that the key can still be used.
    func findKey(at place: KeyPlace) async throws(TouchstoneError) -> KeyRecord {
        try await call(.standard) { calls throws(TouchstoneError) in
            guard let record = try calls.current(at: place) else { throw TouchstoneError(.notFound) }
            try calls.checkKey(record.representation, at: place)
            return record
        }
    }

    /// Checks, without a prompt, that a key has its name or waits for it as a successor, and that it can still be used.
    ///
    /// - Returns: how often it may still be used; nil for any number.
    /// - Throws: ``TouchstoneError``: `deleted`, `invalidated`, `usedUp`, `locked`.
    @discardableResult
    func checkKey(_ representation: Data, at place: KeyPlace) async throws(TouchstoneError) -> Int? {
        try await call(nil) { calls throws(TouchstoneError) in
            try calls.checkIsKept(representation, at: place)
            return try calls.checkKey(representation, at: place)
        }
    }

    /// Signs the SHA-256 of a message.
    func sign(
        _ message: Data,
        with key: DeviceSigningKey,
        _ prompt: PromptText
    ) async throws(TouchstoneError) -> DeviceSignature {
        let (result, assurance) = try await use(key, .sign(message: message), prompt)
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
        let (secret, _) = try await use(key, .agree(peer), prompt)
        let derived = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: secret.withBytes { SymmetricKey(data: $0) },
            salt: salt,
            info: info,
            outputByteCount: byteCount
        )
        return derived.withUnsafeBytes { Data($0) }
    }

    /// The ECDH secret of a sealing key and a fresh public key.
    func openingSecret(
        for fresh: DevicePublicKey,
        with key: DeviceSealingKey,
        _ prompt: PromptText
    ) async throws(TouchstoneError) -> KeyUseResult {
        try await use(key, .open(fresh), prompt).0
    }

    /// Asks the user for what the key's rule requires for this operation, then uses the key.
    ///
    /// The authentication is not reused, unless the key's rule is reusable for a time.
    private func use<Purpose>(
        _ key: DeviceKey<Purpose>,
        _ operation: KeyOperation,
        _ prompt: PromptText
    ) async throws(TouchstoneError) -> (KeyUseResult, Assurance) {
        let (representation, rule, hardware) = (key.representation, key.rule, key.hardware)
        let place = ReusableContexts.Place(self, .key(representation), rule)
        let keyPlace = try key.place
        let use: @Sendable (KeychainCalls) throws(TouchstoneError) -> (KeyUseResult, Assurance) = {
            calls throws(TouchstoneError) in
            try calls.use(representation, at: keyPlace, under: rule, hardware, operation)
        }
        return try await recording(key.name) { () throws(TouchstoneError) in
            if let shown = ReusableContexts.shared.find(place), let assurance = shown.assurance {
                do throws(TouchstoneError) {
                    return (try await call(nil, in: shown.session, use).0, assurance)
                } catch {
                    // A lock, a sleep or a change of the enrolled fingers emptied the context: ask again.
                    guard error.code == .interactionNeeded || error.code == .locked else { throw error }
                    ReusableContexts.shared.forget(shown.session, of: place)
                }
            }
            let session = makeSession(lasting: rule.reuse)
            let start = ContinuousClock.now
            do throws(TouchstoneError) {
                let (result, assurance) = try await call(prompt, in: session, timeout: prompt.timeout, use)
                ReusableContexts.shared.keep(session, since: start, for: place, worth: assurance)
                return (result, assurance)
            } catch {
                session.end()
                throw error
            }
        }
    }
}

extension KeychainCalls {
    /// The record of a key; nil for none.
    func record(at place: KeyPlace) throws(TouchstoneError) -> KeyRecord? {
        let found = try ifPresent { () throws(TouchstoneError) in try copy(place.query(), under: nil) }
        guard let bytes = try found?.bytes() else { return nil }
        guard let record = try? JSONDecoder().decode(KeyRecord.self, from: bytes) else {
            throw .damagedRecord
        }
        return record
    }

    /// - Throws: ``TouchstoneError`` with `deleted` if no record has the key, under its name or waiting for it.
    func checkIsKept(_ representation: Data, at place: KeyPlace) throws(TouchstoneError) {
        let mark = KeyRecord.mark(of: representation)
        for place in [place, place.ofSuccessor] where try has(place.query(mark: mark)) { return }
        throw TouchstoneError(.deleted)
    }

    /// Whether there is a record.
    private func has(_ record: PasswordQuery) throws(TouchstoneError) -> Bool {
        try ifPresent { () throws(TouchstoneError) in try copy(record, under: nil) } != nil
    }

    /// Stores the record of a new key.
    fileprivate func add(_ record: KeyRecord, at place: KeyPlace) throws(TouchstoneError) {
        let bytes = try SecretCoding.encode(record, by: JSONEncoder())
        let attributes = place.query(mark: KeyRecord.mark(of: record.representation))
        let keys = [record.representation]
        guard try add(NewPassword(attributes: attributes, rule: nil, bytes: bytes, keys: keys)) else {
            throw TouchstoneError(.alreadyExists)
        }
    }
}

extension AccessRule {
    /// - Throws: ``TouchstoneError`` with `hardwareTooWeak` if the rule requires more protection than there is.
    func checkLevel(_ actual: HardwareLevel) throws(TouchstoneError) {
        guard let level, actual < level else { return }
        throw TouchstoneError(.hardwareTooWeak, details: ["demanded: \(level)", "here: \(actual)"])
    }
}
