import KeychainModel
import SecretMemory

/// Locked memory for the secrets that the command itself holds.
///
/// Where memory cannot be locked (`RLIMIT_MEMLOCK`), the command ends with an error as for every other fault, so that
/// what it changed on the way (a terminal's echo, a file to edit) is put right before it ends. Nothing of the command
/// uses the initialisers that trap.
enum CommandMemory {
    /// An empty buffer; what does not fit later shows in ``finish(_:)``.
    static func buffer(_ capacity: Int) throws(CommandError) -> SecretBuffer {
        do throws(SecretMemoryError) {
            return try SecretBuffer(lockedCapacity: capacity)
        } catch {
            throw CommandError(error)
        }
    }

    /// Makes room in a buffer of ``buffer(_:)``, before something is read into it.
    static func reserve(_ capacity: Int, in buffer: inout SecretBuffer) throws(CommandError) {
        do throws(SecretMemoryError) {
            try buffer.reserveLocked(capacity)
        } catch {
            throw CommandError(error)
        }
    }

    /// The buffer's bytes, if it has all that were appended.
    static func finish(_ buffer: consuming SecretBuffer) throws(CommandError) -> SecretBytes {
        if let refusal = buffer.refusal { throw CommandError(refusal) }
        return buffer.finish()
    }

    /// A copy, whose original still has to be looked after.
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

    /// `count` bytes that `fill` writes in place; they are zeros before.
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
    /// Memory for secrets cannot be locked.
    init(_ error: SecretMemoryError) { self = ErrorText.describe(KeychainError(error)) }
}
