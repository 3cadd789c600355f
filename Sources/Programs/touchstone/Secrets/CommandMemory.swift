import KeychainModel
import SecretMemory

/// Locked memory for the secrets that the command itself holds.
///
/// If memory cannot be locked (`RLIMIT_MEMLOCK`), the command fails with an error like any other, so that it first
/// restores what it changed (a terminal's echo, a file to edit). The command never uses the initialisers that trap.
enum CommandMemory {
    /// An empty buffer; a failure to grow it later is thrown by ``finish(_:)``.
    static func buffer(_ capacity: Int) throws(CommandError) -> SecretBuffer {
        do throws(SecretMemoryError) {
            return try SecretBuffer(lockedCapacity: capacity)
        } catch {
            throw CommandError(error)
        }
    }

    /// Reserves capacity in a buffer of ``buffer(_:)``, before something is read into it.
    static func reserve(_ capacity: Int, in buffer: inout SecretBuffer) throws(CommandError) {
        do throws(SecretMemoryError) {
            try buffer.reserveLocked(capacity)
        } catch {
            throw CommandError(error)
        }
    }

    /// The buffer's bytes, if everything appended was stored.
    static func finish(_ buffer: consuming SecretBuffer) throws(CommandError) -> SecretBytes {
        if let refusal = buffer.refusal { throw CommandError(refusal) }
        return buffer.finish()
    }

    /// A copy; the caller still has to clear the original.
    static func copy(_ octets: Span<UInt8>) throws(CommandError) -> SecretBytes {
        do throws(SecretMemoryError) {
            return try SecretBytes(lockedCopy: octets)
        } catch {
            throw CommandError(error)
        }
    }

    /// A second secret with the same bytes.
    static func copy(of secret: borrowing SecretBytes) throws(CommandError) -> SecretBytes {
        try secret.withOctets { octets throws(CommandError) in try copy(octets) }
    }

    /// `count` bytes that `fill` writes in place; initially zeros.
    static func make(_ count: Int, filledBy fill: (inout MutableSpan<UInt8>) -> Void) throws(CommandError)
        -> SecretBytes
    {
        do throws(SecretMemoryError) {
            return try SecretBytes(lockedCount: count, filledBy: fill)
        } catch {
            throw CommandError(error)
        }
    }
}

extension CommandError {
    /// Creates the error for memory that cannot be locked.
    init(_ error: SecretMemoryError) { self = ErrorText.describe(KeychainError(error)) }
}
