import CLinux
import Glibc
import KeychainModel

/// A one-shot signal to a thread in poll(2): an eventfd(2) that stays readable once raised.
final class ThreadSignal: Sendable {
    /// Readable once the signal is raised.
    let descriptor: CInt

    /// Creates a signal that is not raised.
    init() throws(PromptError) {
        descriptor = clinux_eventfd(0)
        guard descriptor >= 0 else {
            throw PromptError(.prompterFailed, detail: "eventfd: \(SystemError.name(of: errno))")
        }
    }

    /// Raises the signal; may be called repeatedly and from any thread.
    func raise() {
        var one: UInt64 = 1
        // Fails only if the counter is full, after 2^64 calls.
        _ = unsafe write(descriptor, &one, MemoryLayout<UInt64>.size)
    }

    /// Whether it was raised.
    var isRaised: Bool {
        var watched = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return unsafe poll(&watched, 1, 0) > 0
    }

    /// Waits until this signal or the other one is raised.
    func wait(or other: ThreadSignal) {
        var watched = [descriptor, other.descriptor].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        _ = SystemCall.uninterrupted { unsafe poll(&watched, nfds_t(watched.count), -1) }
    }

    deinit { close(descriptor) }
}
