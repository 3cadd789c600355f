import Glibc
import KeychainModel

/// The memory of the program that a process runs, held by an open `/proc/PID/maps`.
///
/// What is read from it is the memory that the process had when it was opened. That memory is gone once the process executes
/// a program, the same one included, and once it has ended: then nothing is read any more. Opening it takes the right to look
/// at the process; reading it takes the descriptor alone, which can be handed to another user's process.
package final class ProgramImage: Sendable {
    /// The open file.
    package let descriptor: CInt

    /// Holds what a process runs now; nil for one that has ended, or that may not be looked at.
    package init?(of process: ProcessDirectory) {
        descriptor = unsafe openat(process.directory, process.place + "maps", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
    }

    /// Takes over a descriptor that another process opened.
    package init(taking descriptor: CInt) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// Whether the process still runs what it ran when this was opened; waits for nobody.
    package var isStill: Bool {
        var octet: UInt8 = 0
        return SystemCall.uninterrupted { unsafe pread(descriptor, &octet, 1, 0) } == 1
    }
}
