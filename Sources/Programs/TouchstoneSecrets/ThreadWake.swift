import CLinux
import Glibc

/// What one thread raises and another one waits for (eventfd(2)); where there is no descriptor left, nobody waits for it.
final class ThreadWake: Sendable {
    private let descriptor = clinux_eventfd(0)

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Ends the present wait, or the next one.
    func raise() {
        guard descriptor >= 0 else { return }
        var one: UInt64 = 1
        _ = unsafe write(descriptor, &one, MemoryLayout<UInt64>.size)
    }

    /// Has the next wait last until it is raised anew; it must have been raised.
    func lower() {
        guard descriptor >= 0 else { return }
        var count: UInt64 = 0
        _ = unsafe read(descriptor, &count, MemoryLayout<UInt64>.size)
    }

    /// Waits until it is raised, and leaves it so.
    ///
    /// - Parameter time: the longest wait, in milliseconds.
    /// - Returns: whether it is raised.
    func wait(atMost time: CInt) -> Bool {
        guard descriptor >= 0 else { return false }
        var watched = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return unsafe poll(&watched, 1, time) > 0
    }
}
