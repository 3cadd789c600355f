import CLinux
import Glibc
import SystemFacts

/// Waits until another file is in the place of this program's, as after an upgrade, or none.
///
/// A daemon that knows the door by its path refuses a door whose file is no longer there (`ProgramPath`); the bus starts the new one at
/// the next call.
struct ProgramWatch {
    private let path: String
    private let file: ProcessDirectory.FileIdentity
    /// An inotify(7) descriptor.
    private let changes: CInt

    /// Watches from now on; nil if there is no watch left, or no such file.
    init?() {
        guard let path = ProgramPath.ofThisProcess(),
            let file = ProcessDirectory.FileIdentity("/proc/self/exe")
        else { return nil }
        changes = inotify_init1(CInt(IN_CLOEXEC) | CInt(IN_NONBLOCK))
        guard changes >= 0 else { return nil }
        (self.path, self.file) = (path, file)
        // A file that loses its name has its count of links changed; it is not deleted while it runs.
        guard unsafe inotify_add_watch(changes, path, UInt32(IN_ATTRIB | IN_MOVE_SELF)) >= 0 else {
            close(changes)
            return nil
        }
    }

    private var isReplaced: Bool { ProcessDirectory.FileIdentity(path) != file }

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
