import Glibc
import SystemFacts

/// Waits until another file is in the place of this program's, as after an upgrade, or none.
///
/// A daemon that knows the door by its path refuses a door whose file is no longer there (`ProgramPath`); the bus starts the new one at
/// the next call.
struct ProgramWatch {
    /// nil if the file was gone at the start.
    private let path: String?
    private let file: ProcessDirectory.FileIdentity?
    /// An inotify(7) descriptor; -1 if there is no watch left, which poll(2) leaves out.
    private let changes: CInt

    /// Watches from now on.
    init() {
        path = ProgramPath.ofThisProcess()
        file = ProcessDirectory.FileIdentity("/proc/self/exe")
        let descriptor = inotify_init1(CInt(IN_CLOEXEC) | CInt(IN_NONBLOCK))
        // A file that loses its name has its count of links changed; it is not deleted while it runs.
        if let path, unsafe inotify_add_watch(descriptor, path, UInt32(IN_ATTRIB | IN_MOVE_SELF)) >= 0 {
            changes = descriptor
        } else {
            if descriptor >= 0 { close(descriptor) }
            changes = -1
        }
    }

    private var isReplaced: Bool { path.map { ProcessDirectory.FileIdentity($0) != file } ?? false }

    /// Waits until the program was replaced, or a descriptor can be read.
    ///
    /// - Returns: whether it was replaced.
    func waitUntilReplaced(orReadable descriptor: CInt) -> Bool {
        var entries = [
            pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: changes, events: Int16(POLLIN), revents: 0),
        ]
        while true {
            if isReplaced { return true }
            guard unsafe poll(&entries, nfds_t(entries.count), -1) > 0 else { continue }
            if entries[0].revents != 0 { return false }
            var octets = [UInt8](repeating: 0, count: 4096)
            while unsafe read(changes, &octets, octets.count) > 0 {}
        }
    }
}
