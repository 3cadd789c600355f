import CLinux
import Glibc

/// Bytes from the kernel's generator, getrandom(2).
///
/// The call cannot fail on a kernel that runs Swift; if it does, the process traps: there is no second source to fall
/// back to.
public enum RandomBytes {
    /// Overwrites all of `octets`.
    public static func fill(_ octets: inout MutableSpan<UInt8>) {
        unsafe octets.withUnsafeMutableBytes { unsafe fill($0) }
    }

    /// Overwrites all of `octets`.
    public static func fill(_ octets: UnsafeMutableRawBufferPointer) {
        guard unsafe clinux_random(octets.baseAddress, octets.count) == 0 else {
            fatalError("touchstone: getrandom failed (errno \(errno))")
        }
    }

    /// `count` random bytes for values that need not be secret: salts, nonces, identifiers.
    public static func array(count: Int) -> [UInt8] {
        var octets = [UInt8](repeating: 0, count: count)
        unsafe octets.withUnsafeMutableBytes { unsafe fill($0) }
        return octets
    }
}
