import CLinux
import Glibc
import KeychainModel
import SecretMemory

/// An in-memory file for an editor, in a private directory where the editor's own files go too.
///
/// The file needs a name: most editors write a new file and rename it. tmpfs is not written to a disk, but can be
/// swapped. Everything in the directory is overwritten and removed at the end, also when a signal ends this process;
/// the leftovers of a killed process are removed by the next edit, or lost at power-off.
struct EditedFile: ~Copyable {
    private static let prefix = "touchstone-edit."

    private let directory: String
    /// Locked (flock) as long as this process lives.
    private let lock: CInt
    private var path: String { directory + "/secret" }

    /// Creates the directory.
    ///
    /// - Throws: ``CommandError`` if there is no in-memory directory.
    init() throws(CommandError) {
        let places = [Environment.value("XDG_RUNTIME_DIR"), "/dev/shm"].compactMap { $0 }
        guard let place = places.first(where: Self.isUsable) else {
            throw CommandError(
                "there is no place in memory for the file",
                hint: "mount a tmpfs at /dev/shm, or use touchstone get and set",
                exitCode: .notAvailable
            )
        }
        Self.removeAbandoned(in: place)
        let suffix = RandomBytes.array(count: 12).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
            .joined()
        let directory = "\(place)/\(Self.prefix)\(suffix)"
        guard unsafe mkdir(directory, 0o700) == 0 else { throw Self.failure() }
        self.directory = directory
        lock = unsafe open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        _ = flock(lock, LOCK_EX | LOCK_NB)
    }

    deinit {
        Self.wipe(directory)
        close(lock)
    }

    /// Lets the editor change a secret and returns the new one, without a newline that the editor added at the end.
    borrowing func edit(_ secret: borrowing SecretBytes, with editor: Editor) throws(CommandError)
        -> SecretBytes
    {
        let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Self.failure() }
        let isWritten = Descriptor.write(secret, to: descriptor)
        close(descriptor)
        guard isWritten else { throw Self.failure() }
        let status = try editor.run(path)
        guard status == 0 else {
            throw CommandError(
                "the editor ended with status \(status); nothing was changed",
                hint: "check $EDITOR"
            )
        }
        let hadNewline = secret.withOctets { $0.count > 0 && $0[$0.count - 1] == 0x0A }
        return try SecretInput.edited(path, keepsNewline: hadNewline)
    }

    private static func isUsable(_ path: String) -> Bool {
        guard unsafe access(path, W_OK | X_OK) == 0 else { return false }
        return unsafe clinux_is_in_memory(path)
    }

    /// Removes the leftovers of this user's killed processes, recognised by their unheld lock.
    private static func removeAbandoned(in place: String) {
        for name in names(in: place) where name.hasPrefix(prefix) {
            let path = "\(place)/\(name)"
            let descriptor = unsafe open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
            guard descriptor >= 0 else { continue }
            var status = stat()
            if unsafe fstat(descriptor, &status) == 0, status.st_uid == ProcessUser.uid,
                flock(descriptor, LOCK_EX | LOCK_NB) == 0
            {
                wipe(path)
            }
            close(descriptor)
        }
    }

    /// Overwrites and removes the files of a directory, then removes the directory.
    private static func wipe(_ directory: String) {
        for name in names(in: directory) {
            let path = "\(directory)/\(name)"
            let descriptor = unsafe open(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
            if descriptor >= 0 {
                var left = max(0, Int(lseek(descriptor, 0, SEEK_END)))
                lseek(descriptor, 0, SEEK_SET)
                let zeros = [UInt8](repeating: 0, count: 4096)
                while left > 0, case let count = unsafe write(descriptor, zeros, min(left, zeros.count)),
                    count > 0
                {
                    left -= count
                }
                close(descriptor)
            }
            unsafe unlink(path)
        }
        unsafe rmdir(directory)
    }

    private static func names(in directory: String) -> [String] {
        guard let stream = unsafe opendir(directory) else { return [] }
        defer { unsafe closedir(stream) }
        var names: [String] = []
        while let entry = unsafe readdir(stream) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { name in
                unsafe name.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    private static func failure() -> CommandError {
        CommandError("cannot make the file to edit: \(SystemError.name(of: errno))")
    }
}
