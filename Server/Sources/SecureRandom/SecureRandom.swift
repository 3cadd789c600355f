internal import Glibc

/// Cryptographically secure random bytes.
package enum SecureRandom {
    /// Gets all bytes in one system call: Swift's generator makes a call for each number.
    ///
    /// - Parameter count: at most 256 (getentropy(3)).
    /// - Returns: `count` random bytes.
    package static func bytes(_ count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            guard let base = buffer.baseAddress, count > 0 else { return }
            precondition(getentropy(base, count) == 0, "the kernel gives no random bytes")
            initialized = count
        }
    }
}
