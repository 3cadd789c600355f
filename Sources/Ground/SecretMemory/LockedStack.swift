import CLinux
import Glibc

/// Runs computations with secrets on a stack that is locked, never dumped, and wiped afterwards.
///
/// A function leaves its variables on the stack when it returns, and a stack is ordinary memory, which can be swapped
/// out and is not overwritten until another call goes as deep. There is one locked stack for the process, so callers
/// take turns; it stays locked for the life of the process.
public enum LockedStack {
    /// Enough for scrypt, whose large blocks lie elsewhere, and for the thread's own data.
    private static let byteCount = 128 * 1024
    /// The bytes that ``wiping(_:)`` overwrites: the deepest that a call of the crypto library goes.
    package static let depth = 24 * 1024

    private static let stack = Guarded<Place?>(nil)

    /// A `clinux_stack`, which is never freed.
    @safe
    private struct Place: @unchecked Sendable {  // used under the lock alone
        let pointer: OpaquePointer
    }

    /// Locks the stack, so that a daemon refuses to start where memory cannot be locked.
    ///
    /// - Throws: ``SecretMemoryError`` with the kernel's reason.
    public static func prepare() throws(SecretMemoryError) {
        try stack.withLock { stack throws(SecretMemoryError) in _ = try place(&stack) }
    }

    /// Runs `body` on a new thread with the locked stack, and wipes the stack before it returns.
    ///
    /// Blocks the calling thread, also while another caller uses the stack.
    /// - Throws: ``SecretMemoryError`` when the stack or the thread cannot be had; `body` is not called then.
    package static func run<R: Sendable>(_ body: @escaping @Sendable () -> R) throws(SecretMemoryError) -> R {
        try stack.withLock { stack throws(SecretMemoryError) in
            let place = try place(&stack)
            var result: R?
            // Not by withoutActuallyEscaping, for which the compiler puts the length of the source's path into the program.
            var job: () -> Void = { result = body() }
            let reason = unsafe withUnsafeMutablePointer(to: &job) { job in
                unsafe clinux_stack_run(
                    place.pointer,
                    { context in
                        unsafe context.assumingMemoryBound(to: (() -> Void).self).pointee()
                    },
                    job
                )
            }
            guard reason == 0, let result else { throw SecretMemoryError(.pagesRefused, errno: reason) }
            return result
        }
    }

    /// Runs `body` on the calling thread and then wipes the part of the stack it used: for computations of
    /// microseconds.
    @inline(never)
    package static func wiping<R: ~Copyable, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
        defer { clinux_wipe_stack(depth) }
        return try body()
    }

    private static func place(_ stack: inout Place?) throws(SecretMemoryError) -> Place {
        if let stack { return stack }
        guard let pointer = unsafe clinux_stack_make(byteCount) else {
            throw SecretMemoryError(.pagesRefused, errno: errno)
        }
        let made = unsafe Place(pointer: pointer)
        stack = made
        return made
    }
}
