import Glibc
import KeychainModel

/// Waits for changes of the files in a directory.
struct LogWatch: ~Copyable {
    /// Why the wait ended.
    enum Event {
        case changed
        /// The directory was removed or moved.
        case directoryGone
        /// Nobody reads standard output any more.
        case readerGone
    }

    private let descriptor: CInt

    /// Watches a directory from now on.
    init(_ directory: String) throws(CommandError) {
        let descriptor = inotify_init1(CInt(IN_CLOEXEC) | CInt(IN_NONBLOCK))
        let events = UInt32(
            IN_MODIFY | IN_CREATE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF
        )
        guard descriptor >= 0, unsafe inotify_add_watch(descriptor, directory, events) >= 0 else {
            let reason = SystemError.name(of: errno)
            if descriptor >= 0 { close(descriptor) }
            throw CommandError(
                "cannot follow the files in \(directory): \(reason)",
                hint: "leave out --follow to see what is there"
            )
        }
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    /// Waits for the next change.
    borrowing func wait() throws(CommandError) -> Event {
        var entries = [
            pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: STDOUT_FILENO, events: 0, revents: 0),
        ]
        guard SystemCall.uninterrupted({ unsafe poll(&entries, nfds_t(entries.count), -1) }) > 0 else {
            throw CommandError("cannot wait for the log: \(SystemError.name(of: errno))")
        }
        guard entries[0].revents != 0 else { return .readerGone }
        return takeEvents() & UInt32(IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED) == 0
            ? .changed : .directoryGone
    }

    /// The kinds of all events that wait.
    private borrowing func takeEvents() -> UInt32 {
        var kinds: UInt32 = 0
        var octets = [UInt8](repeating: 0, count: 1 << 14)
        while true {
            let count = unsafe read(descriptor, &octets, octets.count)
            guard count > 0 else { return kinds }
            unsafe octets[..<count].withUnsafeBytes { octets in
                var place = 0
                while place + MemoryLayout<inotify_event>.size <= octets.count {
                    let event = unsafe octets.loadUnaligned(fromByteOffset: place, as: inotify_event.self)
                    kinds |= event.mask
                    place += MemoryLayout<inotify_event>.size + Int(event.len)
                }
            }
        }
    }
}
