internal import Foundation

/// A query for generic passwords: attributes that are nil are not compared.
struct PasswordQuery: Sendable {
    let service: String
    /// nil for all items of the service.
    var account: String?
    var group: String?
    /// The attribute `generic`: an item's version, a key's mark, a store's rule.
    var generic: [UInt8]?
    /// The attribute `comment`: the rule of a secret.
    var comment: String?
}

/// A generic password to add.
struct NewPassword: Sendable {
    let attributes: PasswordQuery
    /// The rule for reading the bytes; nil: this program, after the first unlock.
    let rule: AccessRule?
    let bytes: Data?
    /// The representations of the private keys that are deleted with the item; on Apple's systems they are not.
    var keys: [Data] = []
}

/// A generic password without its bytes.
struct ListedPassword: Sendable {
    let account: String
    let standing: Standing
    /// The attribute `generic`; empty for none.
    var version: [UInt8] = []
    /// The attribute `comment`.
    var rule: String?

    enum Standing: Sendable, Hashable {
        case present
        /// It can never be opened again; with the time of the invalidation, if known.
        case invalidated(Date?)
    }
}

/// One operation with a key.
enum KeyOperation: Sendable {
    /// Signs the SHA-256 of a message.
    case sign(message: Data)
    /// Agrees on a secret with the holder of a public key.
    case agree(DevicePublicKey)
    /// Agrees on a secret, to open a record or to compute an authentication code.
    case open(DevicePublicKey)
}

/// A key that was just made.
struct NewKey: Sendable {
    /// The representation from which this device restores the key; not secret.
    let representation: Data
    /// The public key, in X9.63 representation.
    let publicKey: Data
    /// The protection of the key.
    let hardware: HardwareLevel
    /// The hardware's attestation of the key.
    let attestation: KeyAttestation?
}

/// Runs a call on an item that may not exist.
///
/// - Returns: nil if the item does not exist.
@discardableResult
func ifPresent<R: ~Copyable>(_ body: () throws(TouchstoneError) -> R) throws(TouchstoneError) -> R? {
    do throws(TouchstoneError) {
        return try body()
    } catch {
        guard error.code == .notFound else { throw error }
        return nil
    }
}

extension KeychainLink {
    /// Runs a call on a store or key, and reports its result to the listeners.
    func recording<R>(
        _ item: String?,
        _ body: () async throws(TouchstoneError) -> R
    ) async throws(TouchstoneError) -> R {
        do throws(TouchstoneError) {
            let result = try await body()
            tell(SecurityEvent(.success, item: item))
            return result
        } catch {
            tell(SecurityEvent(.failure, item: item, error: error))
            throw error
        }
    }

    /// Deletes all items of this module.
    func deleteEverything() async throws(TouchstoneError) {
        try await call(nil) { calls throws(TouchstoneError) in
            try calls.deleteAll(servicesWith: [StorePlace.prefix, KeyPlace.prefix])
        }
    }
}
