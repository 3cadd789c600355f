import Foundation
package import KeychainModel
package import SecretMemory

extension SecretBytes {
    /// Copies bytes of an app or a library; their owner still has to wipe them.
    ///
    /// - Throws: `errSecAllocate` if memory cannot be locked.
    package init(lent octets: some ContiguousBytes) throws(KeychainError) {
        do throws(SecretMemoryError) {
            try self.init(lockedCount: octets.withUnsafeBytes(\.count)) { copy in
                octets.withUnsafeBytes { octets in
                    copy.withUnsafeMutableBytes { $0.copyMemory(from: octets) }
                }
            }
        } catch {
            throw KeychainError(error)
        }
    }
}
