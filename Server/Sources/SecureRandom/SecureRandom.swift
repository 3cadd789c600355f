internal import Glibc

/// Bytes that nobody can guess.
package enum SecureRandom {
    /// Asks the kernel once for all of them: Swift's generator asks for each number by itself.
    ///
    /// - Parameter count: at most 256, which the kernel always gives whole (getrandom(2)).
    package static func bytes(_ count: Int) -> [UInt8] {
        precondition(count <= 256)
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            guard count > 0 else { return }
            var got = getrandom(buffer.baseAddress, count, 0)
            while got < 0, errno == EINTR { got = getrandom(buffer.baseAddress, count, 0) }
            precondition(got == count, "the kernel gives no random bytes")
            initialized = count
        }
    }
}
