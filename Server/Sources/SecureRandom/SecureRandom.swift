internal import Glibc

/// Bytes that nobody can guess.
package enum SecureRandom {
    /// Asks the kernel once for all of them: Swift's generator asks for each number by itself.
    ///
    /// - Parameter count: at most 256 (getentropy(3)).
    /// - Returns: so many of them.
    package static func bytes(_ count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            guard let base = buffer.baseAddress, count > 0 else { return }
            precondition(getentropy(base, count) == 0, "the kernel gives no random bytes")
            initialized = count
        }
    }
}
