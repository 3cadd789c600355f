import Glibc
import KeychainModel

/// Waits for changes of the files in a directory.
///
/// Where the user's other programs have all watches that the kernel gives a user, it looks at fixed intervals, as tail(1)
/// does.
struct LogWatch: ~Copyable {
    /// Why the wait ended.
    enum Event {
        case changed
        /// The directory was removed or moved.
        case directoryGone
        /// Nobody reads standard output any more.
        case readerGone
    }

    /// How long to wait without a watch, in milliseconds.
    private static let interval: CInt = 250

    private let directory: String
    /// An inotify(7) descriptor; -1 if the kernel gives none.
    private let descriptor: CInt

    /// Watches a directory from now on.
    init(_ directory: String) {
        self.directory = directory
        let descriptor = inotify_init1(CInt(IN_CLOEXEC) | CInt(IN_NONBLOCK))
        let events = UInt32(
            IN_MODIFY | IN_CREATE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF
        )
        if descriptor >= 0, unsafe inotify_add_watch(descriptor, directory, events) < 0 {
            close(descriptor)
            self.descriptor = -1
        } else {
            self.descriptor = descriptor
        }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Waits for the next change; without a watch any change may be one.
    borrowing func wait() throws(CommandError) -> Event {
        // poll(2) leaves out a negative descriptor.
        var entries = [
            pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: STDOUT_FILENO, events: 0, revents: 0),
        ]
        let patience = descriptor < 0 ? Self.interval : -1
        guard SystemCall.uninterrupted({ unsafe poll(&entries, nfds_t(entries.count), patience) }) >= 0 else {
            throw CommandError("cannot wait for the log: \(SystemError.name(of: errno))")
        }
        guard entries[1].revents == 0 else { return .readerGone }
        guard descriptor >= 0 else {
            return unsafe access(directory, F_OK) == 0 ? .changed : .directoryGone
        }
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
