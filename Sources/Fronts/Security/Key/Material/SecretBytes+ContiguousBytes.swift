import Foundation
package import KeychainModel
package import SecretMemory

extension SecretBytes {
    /// Copies what an app or a library lends, whose owner still has to wipe it.
    ///
    /// - Throws: `errSecAllocate` where memory cannot be locked.
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
