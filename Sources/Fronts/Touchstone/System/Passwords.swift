internal import Foundation

/// Which generic passwords are meant: what is nil is not looked at.
struct PasswordQuery: Sendable {
    let service: String
    /// nil for all of the service.
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
    /// Who may read its bytes; nil for this program, from the first unlock on.
    let rule: AccessRule?
    let bytes: Data?
}

/// What is known of a generic password without its bytes.
struct ListedPassword: Sendable {
    let account: String
    let standing: Standing

    enum Standing: Sendable {
        case present
        /// It can never be opened again, since this time where that is known.
        case invalidated(Date?)
    }
}

/// What a key is used for once.
enum KeyOperation: Sendable {
    /// Signs the SHA-256 of a message.
    case sign(message: Data)
    /// Agrees on a secret with the holder of a public key.
    case agree(DevicePublicKey)
    /// The same, to open a record or to make a code.
    case open(DevicePublicKey)
}

/// A key that was just made.
struct NewKey: Sendable {
    /// What brings it back on this device; not secret.
    let representation: Data
    /// The public key, as X9.63 has it.
    let publicKey: Data
    /// What protects it.
    let hardware: HardwareLevel
    /// What its hardware says of it.
    let attestation: KeyAttestation?
}

/// Runs a call about an item that may be absent.
///
/// - Returns: nil where there is none.
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
    /// Runs a call on a store or a key, and tells those who listen how it ended.
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
