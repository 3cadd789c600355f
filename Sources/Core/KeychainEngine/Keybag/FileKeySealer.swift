public import KeychainModel
internal import Primitives
public import SecretMemory

/// Seals the device part of a keybag where there is no hardware for it: with a file beside the keybag.
///
/// What it gives: a copied keybag alone opens nothing. What it does not: whoever can read one file of the user that runs
/// the daemon can read the other, and guesses are limited by the cost of the passcode's derivation alone.
public struct FileKeySealer: KeySealer {
    private let deviceKey: DeviceKeyFile
    private let isKeptFromOwner: Bool

    /// Seals with the device key of this directory.
    ///
    /// - Parameters:
    ///   - directory: where the keybag is.
    ///   - isKeptFromOwner: whether the daemon runs as another user than the keychain's owner, whose programs cannot
    ///     read its files then.
    public init(directory: StoreDirectory, isKeptFromOwner: Bool = false) {
        deviceKey = DeviceKeyFile(directory: directory)
        self.isKeptFromOwner = isKeptFromOwner
    }

    /// Software, in a file of the user, or of the daemon's own account.
    public func assurance(of blob: [UInt8]?) async -> AssuranceReport {
        guard !isKeptFromOwner else {
            return AssuranceReport(
                .softwareSystem,
                reasons: [
                    "The device key is a file of the daemon's account: no hardware limits how often root tries a passcode."
                ]
            )
        }
        return AssuranceReport(
            .softwareUser,
            reasons: [
                "The device key is a file of this user: no hardware limits how often a passcode is tried."
            ]
        )
    }

    /// There is no better file.
    public func isBest(_ blob: [UInt8]) async -> Bool { true }

    /// Makes a new secret and seals it.
    public func seal(authorization: borrowing SecretBytes) async throws(KeychainError) -> SealedDeviceSecret {
        try deviceKey.make()
        let secret = Key.random()
        let blob = AEAD.seal(
            secret,
            with: try wrappingKey(authorization).symmetric,
            authenticating: Self.context
        )
        return SealedDeviceSecret(blob: blob, secret: secret.copy())
    }

    /// Brings back the secret of a blob.
    public func unseal(
        _ blob: [UInt8],
        authorization: borrowing SecretBytes
    ) async throws(KeychainError) -> SecretBytes {
        let wrapping = try wrappingKey(authorization)
        do {
            return try AEAD.openKey(blob, with: wrapping.symmetric, authenticating: Self.context).copy()
        } catch {
            throw KeychainError(.authFailed)
        }
    }

    /// Nothing is kept outside the blob.
    public func removeLeftovers(keeping blob: [UInt8]?) async {}

    /// Nothing is kept outside the blob.
    public func destroy(_ blob: [UInt8]) async {}

    private static let context = Array("touchstone 1 device secret".utf8)

    private func wrappingKey(_ authorization: borrowing SecretBytes) throws(KeychainError) -> Key {
        guard let device = try deviceKey.key("device secret") else { throw .damaged }
        let bound = Key(authorization.copy())
        return KeyDerivation.derive("device secret wrapping", from: [device, bound], salt: [])
    }
}
