import Glibc

/// Waits for events on a descriptor.
enum Descriptor {
    /// Waits until the descriptor is readable; returns false at the deadline.
    static func isReadable(_ descriptor: CInt, until deadline: ContinuousClock.Instant) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        while true {
            let left = ContinuousClock.now.duration(to: deadline) / Duration.milliseconds(1)
            let result = unsafe poll(&entry, 1, CInt(max(0, left.rounded(.up))))
            if result >= 0 || errno != EINTR { return result > 0 }
        }
    }
}
