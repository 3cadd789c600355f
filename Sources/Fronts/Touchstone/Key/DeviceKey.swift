public import Foundation

/// The purposes of a ``DeviceKey``; each key has exactly one.
public enum KeyPurpose {
    /// Signatures: ECDSA on P-256 with SHA-256.
    public enum Signing: Sendable {}
    /// Key agreement: ECDH on P-256, then HKDF with SHA-256.
    public enum Agreement: Sendable {}
    /// Sealed records: anyone with the public key can seal, only this device can open (ECIES on P-256); and
    /// authentication codes.
    public enum Sealing: Sendable {}
}

/// A key that signs.
public typealias DeviceSigningKey = DeviceKey<KeyPurpose.Signing>
/// A key for key agreement.
public typealias DeviceAgreementKey = DeviceKey<KeyPurpose.Agreement>
/// A key that opens records sealed for it.
public typealias DeviceSealingKey = DeviceKey<KeyPurpose.Sealing>

/// A private key on P-256 that never leaves the keychain; one for each purpose, name and group.
///
/// With a TPM the key is made in the chip and cannot leave it; without one the daemon keeps it in software, and ``hardware`` says
/// so. Each use is one operation with a prompt of its own: no earlier proof authorises it, and its prompt authorises nothing
/// else. The exception is a key made with ``AccessRule/reusable(for:)``: one prompt authorises several uses by the process that
/// showed it, and such a use has no ``Assurance/Fact/perUse``.
///
/// ```swift
/// let key = try await DeviceSigningKey.create("payments", rule: .biometryOrPasscode)
/// let signature = try await key.sign(challenge, "Pay 12.30 EUR to Alice")
/// ```
public struct DeviceKey<Purpose: Sendable>: Sendable {
    /// The key's name, 1 to 255 bytes.
    public let name: String
    /// What each use requires.
    public let rule: AccessRule
    /// The hardware protection when the key was made.
    public let hardware: HardwareLevel
    /// When the key was made.
    public let created: Date
    /// When the key may be used first; nil for at once.
    public let starts: Date?
    /// When the key expires; nil for never.
    public let expires: Date?
    /// How often the key may be used in all, of which ``usesLeft()`` are left; nil for any number.
    public let uses: Int?
    /// The public key.
    public let publicKey: DevicePublicKey
    /// The hardware's attestation from when the key was made; nil without a TPM or without a challenge.
    public let attestation: KeyAttestation?
    /// The other public key for authentication codes; nil for a key that has none.
    let peer: DevicePublicKey?
    let group: String?
    let link: KeychainLink
    let representation: Data

    init(_ record: KeyRecord, at place: KeyPlace, _ link: KeychainLink) throws(TouchstoneError) {
        name = place.name
        group = place.group
        (rule, hardware, publicKey) = try record.parts()
        created = record.created
        starts = record.starts
        expires = record.expires
        uses = record.uses
        attestation = record.attestation
        peer = try record.codePeer()
        representation = record.representation
        self.link = link
    }

    /// Makes a key.
    ///
    /// Shows no prompt, except for the passcode of a locked keychain, and for an attestation.
    ///
    /// - Parameters:
    ///   - name: The key's name, 1 to 255 bytes.
    ///   - rule: What each use requires; with ``AccessRule/reusable(for:)`` one prompt authorises this key's uses for that time.
    ///   - starts: When the key may be used first; nil for at once.
    ///   - expires: When the key expires; nil for never. On Linux the daemon keeps both times by the machine's clock, on Apple's systems
    ///     this module does.
    ///   - uses: How often the key may be used, 1 to 1,000,000; nil for any number. On Linux the daemon counts each use before it makes
    ///     it, so that one that fails afterwards counts too. Apple's systems count none: `unsupported`.
    ///   - challenge: Bytes that the attestation is to contain, at most 64, chosen by a server. The chip makes the attestation
    ///     under the key's own rule, so the user is asked as for a use, but it is none. Without a chip there is no attestation.
    ///   - group: The access group that shares the key; nil for this program alone.
    ///   - keychain: The keychain that holds the key.
    /// - Returns: the key.
    /// - Throws: ``TouchstoneError``: `alreadyExists` if there is a key of that name, `notEnrolled` if the rule needs fingers and
    ///   none is enrolled, `expired`, `hardwareTooWeak`, `limitExceeded`.
    public static func create(
        _ name: String,
        rule: AccessRule = .biometry,
        starts: Date? = nil,
        expires: Date? = nil,
        uses: Int? = nil,
        challenge: Data? = nil,
        group: String? = nil,
        in keychain: Keychain = .current
    ) async throws(TouchstoneError) -> DeviceKey {
        let place = try KeyPlace(purpose: purpose, name: name, group: group)
        try rule.checkForKey()
        let lifetime = KeyLifetime(starts: starts, expires: expires, uses: uses)
        try lifetime.check()
        let link = keychain.link
        return try await link.recording(name) { () throws(TouchstoneError) in
            let record = try await link.makeKey(rule, lifetime, challenge: challenge, at: place)
            return try DeviceKey(record, at: place, link)
        }
    }

    /// Finds a key.
    ///
    /// Shows no prompt, except for the passcode of a keychain that has not been unlocked since the start.
    ///
    /// - Parameters:
    ///   - name: The key's name.
    ///   - group: The key's access group.
    ///   - keychain: The keychain that holds the key.
    /// - Returns: the key.
    /// - Throws: ``TouchstoneError``: `notFound`, `invalidated`, `expired` and `usedUp` are different codes.
    public static func find(
        _ name: String,
        group: String? = nil,
        in keychain: Keychain = .current
    ) async throws(TouchstoneError) -> DeviceKey {
        let place = try KeyPlace(purpose: purpose, name: name, group: group)
        let link = keychain.link
        let key = try DeviceKey(try await link.findKey(at: place), at: place, link)
        try key.checkEnd()
        return key
    }

    /// Finds a key, or makes it if there is none of that name, also when several programs do so at once.
    ///
    /// A key that is there but cannot be used is an error, and is not replaced: ``delete(_:group:in:)`` it first. The parameters are
    /// those of ``create(_:rule:starts:expires:uses:challenge:group:in:)``; those other than the rule describe a new key only.
    ///
    /// ```swift
    /// let key = try await DeviceSigningKey.findOrCreate("payments", rule: .biometryOrPasscode)
    /// ```
    /// - Returns: the key.
    /// - Throws: ``TouchstoneError``: `ruleMismatch` if the key has another rule, `invalidated`, `expired`, `usedUp`, and the errors
    ///   of ``create(_:rule:starts:expires:uses:challenge:group:in:)`` except `alreadyExists`.
    public static func findOrCreate(
        _ name: String,
        rule: AccessRule = .biometry,
        starts: Date? = nil,
        expires: Date? = nil,
        uses: Int? = nil,
        challenge: Data? = nil,
        group: String? = nil,
        in keychain: Keychain = .current
    ) async throws(TouchstoneError) -> DeviceKey {
        func found() async throws(TouchstoneError) -> DeviceKey {
            let key = try await find(name, group: group, in: keychain)
            guard key.rule == rule else { throw .mismatch(made: "\(key.rule)", askedFor: rule) }
            return key
        }
        do throws(TouchstoneError) {
            return try await found()
        } catch {
            guard error.code == .notFound else { throw error }
        }
        do throws(TouchstoneError) {
            return try await create(
                name,
                rule: rule,
                starts: starts,
                expires: expires,
                uses: uses,
                challenge: challenge,
                group: group,
                in: keychain
            )
        } catch {
            // Another program made it meanwhile.
            guard error.code == .alreadyExists else { throw error }
            return try await found()
        }
    }

    /// Deletes a key, even an invalidated or expired one, and its waiting successor; shows no prompt.
    ///
    /// Every later use of the keys throws `deleted`, as for ``delete()``.
    ///
    /// - Parameters:
    ///   - name: The key's name.
    ///   - group: The key's access group.
    ///   - keychain: The keychain that holds the key.
    /// - Returns: whether there was a key.
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

    /// Makes a key that takes over this key's name when this key is deleted, to register with a server before the old one is
    /// removed.
    ///
    /// Both keys can be used until then. The successor has the same rule and number of uses, and as long a time, from now on. If
    /// a successor is already waiting, that one is returned.
    ///
    /// - Parameter challenge: As for ``create(_:rule:starts:expires:uses:challenge:group:in:)``; ignored if a successor is already
    ///   waiting.
    /// - Returns: the successor.
    /// - Throws: ``TouchstoneError``: `deleted`, and the errors of ``create(_:rule:starts:expires:uses:challenge:group:in:)``.
    public func makeSuccessor(challenge: Data? = nil) async throws(TouchstoneError) -> DeviceKey {
        let place = try place
        return try await link.recording(name) { () throws(TouchstoneError) in
            let record = try await link.makeSuccessor(of: self, challenge: challenge, at: place)
            return try DeviceKey(record, at: place, link)
        }
    }

    /// Deletes this key, but not another one made under its name since; a waiting successor then takes the name.
    ///
    /// Every later use of the key throws `deleted`, by whatever copy of this value and whatever program.
    ///
    /// - Returns: whether the key still existed.
    /// - Throws: ``TouchstoneError``: `locked` before the keychain's first unlock.
    @discardableResult
    public func delete() async throws(TouchstoneError) -> Deletion {
        let place = try place
        return try await link.recording(name) { () throws(TouchstoneError) in
            try await link.deleteKey(at: place, representation)
        }
    }

    private static var purpose: String { KeyPlace.name(of: Purpose.self) }
    /// The key's purpose, as an attestation names it.
    package var purposeName: String { Self.purpose }

    /// The place of the key's record.
    var place: KeyPlace {
        get throws(TouchstoneError) { try KeyPlace(purpose: Self.purpose, name: name, group: group) }
    }

    /// How often the key may still be used; nil for any number.
    ///
    /// Shows no prompt.
    ///
    /// - Returns: at least 1.
    /// - Throws: ``TouchstoneError``: `usedUp`, `deleted`, `invalidated`, `locked`.
    public func usesLeft() async throws(TouchstoneError) -> Int? {
        guard uses != nil else { return nil }
        return try await link.checkKey(representation, at: try place)
    }

    /// - Throws: ``TouchstoneError`` with `expired`.
    func checkEnd() throws(TouchstoneError) {
        try KeyLifetime(expires: expires).checkTime()
    }

    /// - Throws: ``TouchstoneError``: `notYetValid`, `expired`.
    func checkTime() throws(TouchstoneError) {
        try KeyLifetime(starts: starts, expires: expires).checkTime()
    }
}

extension DeviceKey<KeyPurpose.Signing> {
    /// Signs a message, after a prompt.
    ///
    /// - Parameters:
    ///   - message: The message, of any length; its SHA-256 is signed.
    ///   - prompt: The text of the prompt.
    /// - Returns: the signature, and what the use is worth.
    /// - Throws: ``TouchstoneError``: `deleted`, `invalidated`, `notYetValid`, `expired`, `usedUp` and the errors of a prompt.
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
    /// Agrees on a shared key with the holder of another key, after a prompt: ECDH, then HKDF with SHA-256
    /// (RFC 5869).
    ///
    /// - Parameters:
    ///   - peer: The other party's public key.
    ///   - info: The purpose of the shared key; both parties must use the same.
    ///   - salt: Both parties must use the same.
    ///   - byteCount: The length of the shared key: 1 to 8160 bytes.
    ///   - prompt: The text of the prompt.
    /// - Returns: the shared key, the same for both parties.
    /// - Throws: ``TouchstoneError``: `deleted`, `invalidated`, `notYetValid`, `expired`, `usedUp`, `limitExceeded` and the errors of a
    ///   prompt.
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
