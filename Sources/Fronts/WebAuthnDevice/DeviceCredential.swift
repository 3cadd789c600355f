internal import CBOR
internal import KeychainModel

/// A credential of this device, for an app to keep, such as in a keychain item.
///
/// Nothing in it is secret: the key's representation is sealed, and can be used only with this keybag, on this chip and
/// by this app.
public struct DeviceCredential: Sendable, Equatable {
    /// The credential's id: 32 random bytes.
    public let id: [UInt8]
    /// The RP ID that the credential is for.
    public let relyingParty: String
    /// The user handle of the account.
    public let userHandle: [UInt8]
    /// The sealed form of the key, for the keychain.
    package let representation: [UInt8]

    init(id: [UInt8], relyingParty: String, userHandle: [UInt8], representation: [UInt8]) {
        self.id = id
        self.relyingParty = relyingParty
        self.userHandle = userHandle
        self.representation = representation
    }

    /// The encoded credential: CBOR `[1, id, RP ID, user handle, representation]`.
    public var encoded: [UInt8] {
        CBORValue.array([
            .unsigned(1), .bytes(id), .text(relyingParty), .bytes(userHandle), .bytes(representation),
        ])
        .encoded()
    }

    /// Parses an ``encoded`` credential.
    ///
    /// - Throws: ``DeviceError/damaged``.
    public init(parsing bytes: [UInt8]) throws(DeviceError) {
        guard case .array(let parts)? = try? CBORValue(decoding: bytes), parts.count == 5,
            parts[0] == .unsigned(1),
            case .bytes(let id) = parts[1], case .text(let relyingParty) = parts[2],
            case .bytes(let userHandle) = parts[3], case .bytes(let representation) = parts[4]
        else { throw .damaged }
        self.init(id: id, relyingParty: relyingParty, userHandle: userHandle, representation: representation)
    }
}

/// How the user is verified before a credential's key signs.
public enum UserVerification: String, Sendable, CaseIterable {
    /// A finger of those enrolled now: the key is invalidated when the enrolled fingers change.
    case finger
    /// The passcode.
    case passcode
    /// A finger or the passcode.
    case either

    var accessControl: AccessControl {
        get throws(KeychainError) {
            let flag: AccessControlFlags =
                switch self {
                case .finger: .biometryCurrentSet
                case .passcode: .devicePasscode
                case .either: .userPresence
                }
            return try AccessControl(
                accessibility: .whenUnlockedThisDeviceOnly,
                flags: [flag, .privateKeyUsage]
            )
        }
    }
}
