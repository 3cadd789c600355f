import Foundation
import KeychainModel
import SecretMemory

/// The key derivation of ANSI X9.63 (SEC 1, section 3.6.1).
enum X963KeyDerivation {
    /// The maximum output in bytes: a small block of locked memory.
    static let longestOutput = 1 << 14

    /// Derives `byteCount` bytes from a shared secret.
    ///
    /// - Throws: `errSecParam` for zero bytes, and for more than ``longestOutput``; `errSecAllocate` if memory cannot be
    ///   locked.
    static func derive(
        _ byteCount: Int,
        from secret: borrowing SecretBytes,
        sharedInfo: [UInt8],
        _ hash: KeyHash
    ) throws(KeychainError) -> SecretBytes {
        guard 1...longestOutput ~= byteCount else { throw .key(.param, "ECDHKeyExchange wrong input") }
        do throws(SecretMemoryError) {
            return try secret.withUnsafeBytes { secret throws(SecretMemoryError) in
                try SecretBytes(lockedCount: byteCount) { output in
                    var counter: UInt32 = 1
                    for start in stride(from: 0, to: byteCount, by: hash.byteCount) {
                        var part = withUnsafeBytes(of: counter.bigEndian) { counter in
                            sharedInfo.withUnsafeBytes { hash.digest(secret, counter, $0) }
                        }
                        for index in start..<min(byteCount, start + hash.byteCount) {
                            output[index] = part[index - start]
                        }
                        wipe(&part)
                        counter += 1
                    }
                }
            }
        } catch {
            throw KeychainError(error)
        }
    }
}
