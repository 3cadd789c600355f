import CLinux
import Glibc
import KeychainModel

/// Tells a thread that waits in poll(2) something, once: an eventfd(2) that stays readable once raised.
final class ThreadSignal: Sendable {
    /// Becomes readable.
    let descriptor: CInt

    /// Makes one that is not raised.
    init() throws(PromptError) {
        descriptor = clinux_eventfd(0)
        guard descriptor >= 0 else {
            throw PromptError(.prompterFailed, detail: "eventfd: \(SystemError.name(of: errno))")
        }
    }

    /// May be called more than once, and from anywhere.
    func raise() {
        var one: UInt64 = 1
        // Fails only when it is raised already, 2^64 times.
        _ = unsafe write(descriptor, &one, MemoryLayout<UInt64>.size)
    }

    /// Whether it was raised.
    var isRaised: Bool {
        var watched = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return unsafe poll(&watched, 1, 0) > 0
    }

    /// Waits until it or the other one is raised.
    func wait(or other: ThreadSignal) {
        var watched = [descriptor, other.descriptor].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        _ = SystemCall.uninterrupted { unsafe poll(&watched, nfds_t(watched.count), -1) }
    }

    deinit { close(descriptor) }
}
