internal import Foundation
internal import KeychainClient
internal import KeychainModel
internal import SecretMemory

/// Runs a request about an item that may be absent.
///
/// - Returns: nil where there is none.
@discardableResult
func ifPresent<R: ~Copyable>(_ body: () throws(KeychainError) -> R) throws(KeychainError) -> R? {
    do throws(KeychainError) {
        return try body()
    } catch {
        guard error.status == .itemNotFound else { throw error }
        return nil
    }
}

/// Requests that stores and keys both make; they block.
extension RemoteKeychain {
    /// Deletes what a query finds.
    ///
    /// - Returns: whether there was anything.
    func deletes(
        _ query: ItemQuery,
        _ prompt: PromptFields,
        _ cancellation: Cancellation
    ) throws(KeychainError) -> Bool {
        let count = try ifPresent { () throws(KeychainError) in
            try delete(DeleteItems(query: query, prompt: prompt), cancellation: cancellation)
        }
        return (count ?? 0) > 0
    }

    /// Adds a generic password.
    func addPassword(
        _ bytes: Data,
        _ attributes: ItemAttributes,
        _ accessControl: AccessControl,
        _ context: UInt64?,
        _ prompt: PromptFields,
        _ cancellation: Cancellation
    ) throws(KeychainError) {
        // The copy here, and the message.
        let room = try LockedRoom.shared.reserve(2 * bytes.count, cancellation: cancellation)
        defer { withExtendedLifetime(room) {} }
        let item = AddItem(
            itemClass: .genericPassword,
            attributes: attributes,
            accessControl: accessControl,
            data: try SecretBytes.locked(bytes),
            context: context,
            prompt: prompt
        )
        _ = try add(item, cancellation: cancellation)
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
