public import KeychainModel
internal import Primitives
public import SecretMemory

/// Seals the device part of a keybag with a file beside it, where there is no hardware.
///
/// Protection: a copied keybag alone cannot be opened. No protection: a program that can read one file of the user that
/// runs the daemon can read the other one, and only the cost of the passcode's derivation limits guesses.
public struct FileKeySealer: KeySealer {
    private let deviceKey: DeviceKeyFile
    private let isKeptFromOwner: Bool

    /// Seals with the device key of this directory.
    ///
    /// - Parameters:
    ///   - directory: the directory of the keybag.
    ///   - isKeptFromOwner: whether the daemon runs as a user other than the keychain's owner, so that the owner's
    ///     programs cannot read its files.
    public init(directory: StoreDirectory, isKeptFromOwner: Bool = false) {
        deviceKey = DeviceKeyFile(directory: directory)
        self.isKeptFromOwner = isKeptFromOwner
    }

    /// Software, with a file of the user or of the daemon's own account.
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

    /// Always: there is no better file.
    public func isBest(_ blob: [UInt8]) async -> Bool { true }

    /// Creates a new secret and seals it.
    public func seal(
        authorization: borrowing SecretBytes,
        for keychain: [UInt8]
    ) async throws(KeychainError) -> SealedDeviceSecret {
        try deviceKey.make()
        let secret = Key.random()
        let blob = AEAD.seal(
            secret,
            with: try wrappingKey(authorization).symmetric,
            authenticating: Self.context
        )
        return SealedDeviceSecret(blob: blob, secret: secret.copy())
    }

    /// Unseals the secret of a blob.
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

    /// Does nothing: no state exists outside the blob.
    public func removeLeftovers(keeping blob: [UInt8]?, of keychain: [UInt8]) async throws(KeychainError) {}

    /// False: no state exists outside the blob.
    public func isInHardware(_ blob: [UInt8]) -> Bool { false }

    /// Does nothing: no state exists outside the blob.
    public func destroy(_ blob: [UInt8]) async throws(KeychainError) {}

    static let context = Array("touchstone 1 device secret".utf8)

    private func wrappingKey(_ authorization: borrowing SecretBytes) throws(KeychainError) -> Key {
        guard let device = try deviceKey.key(.deviceSecret) else { throw .damaged }
        let bound = Key(authorization.copy())
        return KeyDerivation.derive(.deviceSecretWrapping, from: [device, bound], salt: [])
    }
}
