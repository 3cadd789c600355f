public import CBOR

/// The data that an authenticator signs together with the client data's hash (WebAuthn Level 3, section 6.1).
public struct AuthenticatorData: Sendable, Equatable {
    /// SHA-256 of the relying party's id; 32 bytes.
    public let rpIdHash: [UInt8]
    /// What the authenticator did.
    public let flags: Flags
    /// The number of signatures by the credential; always 0 if the authenticator does not count.
    public let signCount: UInt32
    /// The new credential; only at registration.
    public let attestedCredentialData: AttestedCredentialData?
    /// The outputs of authenticator extensions, a CBOR map; nil if there are none.
    public let extensions: CBORValue?

    /// The flags, section 6.1.
    public struct Flags: OptionSet, Sendable, Hashable {
        /// The byte.
        public let rawValue: UInt8

        /// Takes the byte.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// UP: a user was present.
        public static let userPresent = Flags(rawValue: 1 << 0)
        /// UV: the user was verified.
        public static let userVerified = Flags(rawValue: 1 << 2)
        /// BE: the credential may be copied to other devices.
        public static let backupEligible = Flags(rawValue: 1 << 3)
        /// BS: the credential has been copied.
        public static let backupState = Flags(rawValue: 1 << 4)
        /// AT: attested credential data follow.
        public static let attestedCredentialData = Flags(rawValue: 1 << 6)
        /// ED: extension outputs follow.
        public static let extensionData = Flags(rawValue: 1 << 7)
    }

    /// Where the counter is in the encoded data.
    public static let counterBytes = 33..<37

    /// Describes authenticator data; sets the flags AT and ED accordingly.
    public init(
        rpIdHash: [UInt8],
        flags: Flags,
        signCount: UInt32,
        attestedCredentialData: AttestedCredentialData? = nil,
        extensions: CBORValue? = nil
    ) {
        self.rpIdHash = rpIdHash
        var flags = flags.subtracting([.attestedCredentialData, .extensionData])
        if attestedCredentialData != nil { flags.insert(.attestedCredentialData) }
        if extensions != nil { flags.insert(.extensionData) }
        self.flags = flags
        self.signCount = signCount
        self.attestedCredentialData = attestedCredentialData
        self.extensions = extensions
    }

    /// Parses authenticator data: exactly its parts, and nothing after them.
    ///
    /// Extension outputs may have their keys in any order, and ``encoded`` sorts them: a signature is checked with `bytes`. The public
    /// key must be canonical, as section 6.5.1 demands: it is compared by its bytes.
    ///
    /// - Throws: ``AuthenticatorDataError``.
    public init(parsing bytes: [UInt8]) throws(AuthenticatorDataError) {
        guard bytes.count >= 37 else { throw .length }
        rpIdHash = Array(bytes[..<32])
        let flags = Flags(rawValue: bytes[32])
        self.flags = flags
        signCount = bytes[Self.counterBytes].reduce(0) { $0 << 8 | UInt32($1) }
        var rest = bytes[37...]
        if flags.contains(.attestedCredentialData) {
            attestedCredentialData = try AttestedCredentialData(takingFrom: &rest)
        } else {
            attestedCredentialData = nil
        }
        if flags.contains(.extensionData) {
            let outputs = try Self.takeItem(from: &rest)
            guard case .map = outputs else { throw .extensions }
            extensions = outputs
        } else {
            extensions = nil
        }
        guard rest.isEmpty else { throw .trailingBytes }
    }

    /// Reads one CBOR item at the beginning of `rest`, its maps in any order, and drops its bytes.
    private static func takeItem(from rest: inout ArraySlice<UInt8>) throws(AuthenticatorDataError)
        -> CBORValue
    {
        do {
            let (value, count) = try CBORReader.readBeginning(of: rest.span, limits: .ctap2InAnyOrder) {
                reader in
                (try reader.readValue(), reader.offset)
            }
            rest = rest.dropFirst(count)
            return value
        } catch {
            throw .extensions
        }
    }

    /// The bytes that an authenticator would sign, in canonical form.
    public var encoded: [UInt8] {
        var bytes = rpIdHash
        bytes.append(flags.rawValue)
        for shift in [24, 16, 8, 0] { bytes.append(UInt8(truncatingIfNeeded: signCount >> UInt32(shift))) }
        if let attestedCredentialData { bytes += attestedCredentialData.encoded }
        if let extensions {
            var writer = CBORWriter(bytes)
            extensions.write(to: &writer)
            bytes = writer.finish()
        }
        return bytes
    }
}

/// A new credential and its public key (WebAuthn Level 3, section 6.5.1).
public struct AttestedCredentialData: Sendable, Equatable {
    /// The most bytes that an id may have (section 7.1, step 26).
    public static let mostCredentialIdBytes = 1023

    /// The authenticator's model; 16 bytes, all zero if it is not disclosed.
    public let aaguid: [UInt8]
    /// The credential's id; 1 to 1023 bytes.
    public let credentialId: [UInt8]
    /// The public key, as the authenticator encoded it.
    public let credentialPublicKey: [UInt8]

    /// Describes a credential.
    public init(aaguid: [UInt8], credentialId: [UInt8], credentialPublicKey: [UInt8]) {
        self.aaguid = aaguid
        self.credentialId = credentialId
        self.credentialPublicKey = credentialPublicKey
    }

    /// Takes the data from the beginning of `rest`; the key's own encoding determines where it ends.
    init(takingFrom rest: inout ArraySlice<UInt8>) throws(AuthenticatorDataError) {
        guard rest.count >= 18 else { throw .length }
        aaguid = Array(rest.prefix(16))
        let count = rest.dropFirst(16).prefix(2).reduce(0) { $0 << 8 | Int($1) }
        rest = rest.dropFirst(18)
        guard count > 0, count <= Self.mostCredentialIdBytes else { throw .credentialId }
        guard rest.count >= count else { throw .length }
        credentialId = Array(rest.prefix(count))
        rest = rest.dropFirst(count)
        do {
            let keyCount = try CBORReader.readBeginning(of: rest.span, limits: .ctap2) { reader in
                guard try reader.peekType() == .map else { throw AuthenticatorDataError.publicKey }
                try reader.skipValue()
                return reader.offset
            }
            credentialPublicKey = Array(rest.prefix(keyCount))
            rest = rest.dropFirst(keyCount)
        } catch {
            throw .publicKey
        }
    }

    var encoded: [UInt8] {
        let count = UInt16(truncatingIfNeeded: credentialId.count)
        return aaguid + [UInt8(count >> 8), UInt8(truncatingIfNeeded: count)] + credentialId
            + credentialPublicKey
    }
}

/// Why authenticator data is refused.
public enum AuthenticatorDataError: Error, Sendable, Equatable {
    /// The data ends too early.
    case length
    /// The credential's id is empty or longer than 1023 bytes.
    case credentialId
    /// The public key is not a CBOR map.
    case publicKey
    /// The extension outputs are not a CBOR map.
    case extensions
    /// Bytes follow the last part.
    case trailingBytes
}
