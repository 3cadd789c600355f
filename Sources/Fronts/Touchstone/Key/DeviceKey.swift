public import Foundation

/// What a ``DeviceKey`` is for: one purpose a key.
public enum KeyPurpose {
    /// Signatures: ECDSA on P-256 with SHA-256.
    public enum Signing: Sendable {}
    /// Shared keys: ECDH on P-256, then HKDF with SHA-256.
    public enum Agreement: Sendable {}
    /// Records that anybody with the public key seals and this device alone opens: ECIES on P-256; and codes of messages.
    public enum Sealing: Sendable {}
}

/// A key that signs.
public typealias DeviceSigningKey = DeviceKey<KeyPurpose.Signing>
/// A key that agrees on others.
public typealias DeviceAgreementKey = DeviceKey<KeyPurpose.Agreement>
/// A key that opens what was sealed for it.
public typealias DeviceSealingKey = DeviceKey<KeyPurpose.Sealing>

/// A private key on P-256 that the keychain keeps and uses, and never gives out; one for each purpose, name and group.
///
/// With a TPM it is made in the chip and cannot leave it; without one the daemon keeps it in software, and ``hardware`` says so.
/// Each use is one operation under one prompt: no proof of before serves it, and the prompt serves nothing else. Only a key that
/// was made with ``AccessRule/reusable(for:)`` is used several times under one prompt, by the process that showed it; what such a
/// use is worth has no ``Assurance/Fact/perUse``.
///
/// ```swift
/// let key = try await DeviceSigningKey.create("payments", rule: .biometryOrPasscode)
/// let signature = try await key.sign(challenge, "Pay 12.30 EUR to Alice")
/// ```
public struct DeviceKey<Purpose: Sendable>: Sendable {
    /// Its name, 1 to 255 bytes.
    public let name: String
    /// What each use demands.
    public let rule: AccessRule
    /// What protected it when it was made.
    public let hardware: HardwareLevel
    /// When it was made.
    public let created: Date
    /// When its time is over; nil for never.
    public let expires: Date?
    /// The public key.
    public let publicKey: DevicePublicKey
    /// What the chip said of it when it was made; nil without a chip, and where no challenge was given.
    public let attestation: KeyAttestation?
    /// The other public key of the authentication codes; nil for a key that has none.
    let peer: DevicePublicKey?
    let group: String?
    let link: KeychainLink
    let representation: Data

    init(_ record: KeyRecord, at place: KeyPlace, _ link: KeychainLink) throws(TouchstoneError) {
        name = place.name
        group = place.group
        (rule, hardware, publicKey) = try record.parts()
        created = record.created
        expires = record.expires
        attestation = record.attestation
        peer = try record.codePeer()
        representation = record.representation
        self.link = link
    }

    /// Makes a key; asks nobody, but for the passcode of a locked keychain, and for an attestation.
    ///
    /// - Parameters:
    ///   - name: 1 to 255 bytes.
    ///   - rule: What each use demands; with ``AccessRule/reusable(for:)`` one prompt serves this key's uses for that time.
    ///   - expires: When its time is over.
    ///   - challenge: What the chip's statement about the key is to carry, at most 64 bytes that a server chose. The chip makes it
    ///     under the key's own rule, so the user is asked as for a use. Without a chip there is no statement.
    ///   - group: The access group that shares it; nil for this program alone.
    ///   - keychain: Where it is.
    /// - Returns: the key.
    /// - Throws: ``TouchstoneError``: `alreadyExists` rather than a second key of that name, `notEnrolled` where the rule
    ///   wants fingers and there are none, `expired`, `hardwareTooWeak`, `limitExceeded`.
    public static func create(
        _ name: String,
        rule: AccessRule = .biometry,
        expires: Date? = nil,
        challenge: Data? = nil,
        group: String? = nil,
        in keychain: Keychain = .current
    ) async throws(TouchstoneError) -> DeviceKey {
        let place = try KeyPlace(purpose: purpose, name: name, group: group)
        try rule.check()
        if let expires, expires <= Date() { throw TouchstoneError(.expired) }
        let link = keychain.link
        return try await link.recording(name) { () throws(TouchstoneError) in
            let record = try await link.makeKey(rule, expires: expires, challenge: challenge, at: place)
            return try DeviceKey(record, at: place, link)
        }
    }

    /// Finds a key; asks nobody, but for the passcode of a keychain that was not unlocked since its start.
    ///
    /// - Parameters:
    ///   - name: Its name.
    ///   - group: Its group.
    ///   - keychain: Where it is.
    /// - Returns: the key.
    /// - Throws: ``TouchstoneError``: `notFound`, `invalidated` and `expired` are different codes.
    public static func find(
        _ name: String,
        group: String? = nil,
        in keychain: Keychain = .current
    ) async throws(TouchstoneError) -> DeviceKey {
        let place = try KeyPlace(purpose: purpose, name: name, group: group)
        let link = keychain.link
        let key = try DeviceKey(try await link.findKey(at: place), at: place, link)
        try key.checkTime()
        return key
    }

    /// Deletes it, invalidated and expired ones too, and a successor that waits; asks nobody.
    ///
    /// - Parameters:
    ///   - name: Its name.
    ///   - group: Its group.
    ///   - keychain: Where it is.
    /// - Returns: whether there was one.
    /// - Throws: ``TouchstoneError``: `locked` before the keychain's first unlock.
    @discardableResult
    public static func delete(
        _ name: String,
        group: String? = nil,
        in keychain: Keychain = .current
    ) async throws(TouchstoneError) -> Deletion {
        let place = try KeyPlace(purpose: purpose, name: name, group: group)
        let link = keychain.link
        return try await link.recording(name) { () throws(TouchstoneError) in
            try await link.deleteKeys(at: place)
        }
    }

    /// Makes the key that gets this one's name when this one is deleted: what a server is told of before it forgets the old one.
    ///
    /// Both can be used until then. It has the same rule and as long a time; where one waits already, that one is returned.
    ///
    /// - Parameter challenge: As for ``create(_:rule:expires:challenge:group:in:)``; nothing for one that waits already.
    /// - Returns: the successor.
    /// - Throws: ``TouchstoneError`` as ``create(_:rule:expires:challenge:group:in:)``.
    public func makeSuccessor(challenge: Data? = nil) async throws(TouchstoneError) -> DeviceKey {
        let place = try KeyPlace(purpose: Self.purpose, name: name, group: group)
        return try await link.recording(name) { () throws(TouchstoneError) in
            let record = try await link.makeSuccessor(of: self, challenge: challenge, at: place)
            return try DeviceKey(record, at: place, link)
        }
    }

    /// Deletes this key, and not one that was made under its name since; a successor that waits has the name then.
    ///
    /// - Returns: whether it was still there.
    /// - Throws: ``TouchstoneError``: `locked` before the keychain's first unlock.
    @discardableResult
    public func delete() async throws(TouchstoneError) -> Deletion {
        let place = try KeyPlace(purpose: Self.purpose, name: name, group: group)
        return try await link.recording(name) { () throws(TouchstoneError) in
            try await link.deleteKey(at: place, representation)
        }
    }

    private static var purpose: String { "\(Purpose.self)" }

    /// - Throws: ``TouchstoneError`` with `expired`.
    func checkTime() throws(TouchstoneError) {
        if let expires, expires <= Date() { throw TouchstoneError(.expired) }
    }
}

extension DeviceKey<KeyPurpose.Signing> {
    /// Signs a message, after a prompt.
    ///
    /// - Parameters:
    ///   - message: Of any length; its SHA-256 is signed.
    ///   - prompt: What the prompt says.
    /// - Returns: the signature, and what the use is worth.
    /// - Throws: ``TouchstoneError``: `invalidated`, `expired` and those of a prompt.
    public func sign(
        _ message: Data,
        _ prompt: PromptText = .standard
    ) async throws(TouchstoneError) -> DeviceSignature {
        try checkTime()
        try prompt.check()
        return try await link.sign(message, with: self, prompt)
    }
}

extension DeviceKey<KeyPurpose.Agreement> {
    /// Agrees on a key with the holder of another, after a prompt: ECDH, then HKDF with SHA-256 (RFC 5869).
    ///
    /// - Parameters:
    ///   - peer: The other's public key.
    ///   - info: What the key is for; both sides give the same.
    ///   - salt: Both sides give the same.
    ///   - byteCount: The length of the key: 1 to 8160 bytes.
    ///   - prompt: What the prompt says.
    /// - Returns: the key, the same for both.
    /// - Throws: ``TouchstoneError``: `invalidated`, `expired`, `limitExceeded` and those of a prompt.
    public func sharedKey(
        with peer: DevicePublicKey,
        info: Data,
        salt: Data = Data(),
        byteCount: Int = 32,
        _ prompt: PromptText = .standard
    ) async throws(TouchstoneError) -> Data {
        guard 1...8160 ~= byteCount else { throw .limit("byteCount: 1 to 8160") }
        try checkTime()
        try prompt.check()
        return try await link.agree(with: peer, self, prompt, info: info, salt: salt, byteCount: byteCount)
    }
}
