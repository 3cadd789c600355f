import Glibc
package import KeychainModel

/// The memory of the program that a process runs, held by an open `/proc/PID/maps`.
///
/// Reading it shows the memory that the process had when it was opened. That memory disappears once the process
/// executes a program, even the same one, or ends: reads then return nothing. Opening it needs the right to inspect
/// the process; reading it needs only the descriptor, which can be passed to another user's process.
package final class ProgramImage: Sendable {
    /// The open file.
    package let descriptor: CInt

    /// Opens the memory of a process; nil if it has ended.
    ///
    /// - Throws: ``UnreadableFile`` if it cannot be opened.
    package init?(of process: ProcessDirectory) throws(UnreadableFile) {
        let path = try process.place() + "maps"
        descriptor = unsafe openat(process.directory, path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            let failure = UnreadableFile.system(path)
            if failure.isMissing { return nil }
            throw failure
        }
    }

    /// Takes over a descriptor that another process opened.
    package init(taking descriptor: CInt) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// Whether the process still runs the same image as when this was opened; never waits.
    package var isStill: Bool {
        var octet: UInt8 = 0
        return SystemCall.uninterrupted { unsafe pread(descriptor, &octet, 1, 0) } == 1
    }
}
