import Glibc
import KeychainModel
import SecretMemory

/// A directory of pass(1), the standard Unix password manager: one file `NAME.gpg` for each secret, which gpg decrypts.
///
/// Its text is the secret as it is, without one newline at its end. Files are opened here and handed to gpg as its input, so that gpg
/// gets neither a name to misread nor another file than the one that was looked at. Symbolic links are not followed.
final class PassStore {
    private static let suffix = ".gpg"

    private let path: String
    private let gpg: Executable
    private let directory: CInt
    private var items: [ImportItem] = []
    /// Whether gpg could decrypt one of them.
    private var hasDecrypted = false

    /// Opens a store.
    ///
    /// - Throws: ``CommandError`` if it is none, or gpg is not installed.
    init(_ path: String) throws(CommandError) {
        self.path = path
        guard let gpg = try? Executable("gpg") else {
            throw CommandError(
                "decrypting a password store needs gpg, which is not installed",
                hint: "install GnuPG",
                exitCode: .notAvailable
            )
        }
        self.gpg = gpg
        directory = unsafe Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else {
            throw CommandError(
                "cannot read \(path.isEmpty ? "''" : path): \(SystemError.name(of: errno))",
                hint: "name the store's directory, such as ~/.password-store"
            )
        }
    }

    deinit { if directory >= 0 { close(directory) } }

    /// The entries by their file names; no file is decrypted yet.
    func read() throws(CommandError) -> [ImportItem] {
        guard unsafe faccessat(directory, ".gpg-id", F_OK, 0) == 0 else {
            throw CommandError(
                "\(path) is no password store: it has no file .gpg-id",
                hint: "name the store's directory, such as ~/.password-store"
            )
        }
        items = []
        try collect(dup(directory), below: [])
        return items
    }

    /// Adds the entries of a directory, whose descriptor is closed.
    private func collect(_ descriptor: CInt, below folders: [String]) throws(CommandError) {
        guard folders.count < ExportLimits.deepest else {
            close(descriptor)
            throw CommandError("\(path) is nested deeper than \(ExportLimits.deepest) directories, the limit")
        }
        guard let names = Self.names(in: descriptor) else {
            throw CommandError("cannot read a directory of \(path): \(SystemError.name(of: errno))")
        }
        // The order does not depend on the file system, because names that are the same get numbers.
        for name in names.sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
            try add(name, in: folders)
            guard items.count <= ExportLimits.mostEntries else {
                throw CommandError("\(path) has more than \(ExportLimits.mostEntries) entries, the limit")
            }
        }
    }

    private func add(_ name: String, in folders: [String]) throws(CommandError) {
        // What belongs to pass or git, such as .gpg-id and .git.
        guard !name.hasPrefix(".") else { return }
        func leaveOut(_ reason: String) {
            items.append(ImportItem(folders: folders, title: name, leftOut: [reason], content: nil))
        }
        guard !name.unicodeScalars.contains("\u{FFFD}") else {
            return leaveOut("a file whose name is not UTF-8")
        }
        guard let mode = try? mode(of: name, in: folders) else {
            return leaveOut("a file that cannot be read")
        }
        switch mode & S_IFMT {
        case S_IFDIR:
            guard let inner = try? open(folders + [name], O_RDONLY | O_DIRECTORY) else {
                return leaveOut("a directory that cannot be read")
            }
            try collect(inner, below: folders + [name])
        case S_IFLNK: leaveOut("a symbolic link, which is not followed")
        case S_IFREG where name.hasSuffix(Self.suffix):
            items.append(
                ImportItem(folders: folders, title: String(name.dropLast(Self.suffix.count))) {
                    () throws(CommandError) in
                    try self.decrypt(folders + [name])
                }
            )
        case S_IFREG: leaveOut("a file that is not encrypted by gpg")
        default: leaveOut("no regular file")
        }
    }

    /// The names in a directory, which is closed; nil if it cannot be read.
    private static func names(in descriptor: CInt) -> [String]? {
        guard let stream = unsafe fdopendir(descriptor) else { return nil }
        defer { unsafe closedir(stream) }
        unsafe rewinddir(stream)
        var names: [String] = []
        while let entry = unsafe readdir(stream) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { tuple in
                unsafe tuple.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    /// The type and mode of a file, of a link the link's.
    private func mode(of name: String, in folders: [String]) throws(CommandError) -> mode_t {
        let parent = try open(folders, O_RDONLY | O_DIRECTORY)
        defer { close(parent) }
        var status = stat()
        guard unsafe fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
            throw CommandError("cannot read \(name): \(SystemError.name(of: errno))")
        }
        return status.st_mode
    }

    /// Opens a file or directory below the store, through no symbolic link.
    private func open(_ parts: [String], _ flags: CInt) throws(CommandError) -> CInt {
        var descriptor = dup(directory)
        for (index, part) in parts.enumerated() {
            let isLast = index == parts.count - 1
            let next = unsafe openat(
                descriptor,
                part,
                (isLast ? flags : O_RDONLY | O_DIRECTORY) | O_NOFOLLOW | O_CLOEXEC
            )
            let reason = errno
            close(descriptor)
            guard next >= 0 else {
                throw CommandError(
                    "cannot read \(parts.joined(separator: "/")): \(SystemError.name(of: reason))"
                )
            }
            descriptor = next
        }
        return descriptor
    }

    /// Decrypts a file.
    ///
    /// - Throws: ``CommandError`` if it is the first one and gpg fails: a key is missing, or the user cancelled, and no other file is
    ///   tried.
    private func decrypt(_ parts: [String]) throws(CommandError) -> ImportContent {
        let file = try open(parts, O_RDONLY | O_NONBLOCK)
        defer { close(file) }
        let nothing = unsafe Glibc.open("/dev/null", O_RDWR | O_CLOEXEC)
        defer { close(nothing) }
        var output = try Pipe()
        let child = try ChildProgram(
            gpg.path,
            ["gpg", "--quiet", "--batch", "--decrypt"],
            variables: Self.terminal,
            input: file,
            output: output.writeEnd,
            errors: nothing
        )
        output.closeWriteEnd()
        // One byte more than the limit: the newline that is stripped.
        let text = try Descriptor.read(output.readEnd, upTo: ItemLimits.longestData + 1)
        output.closeReadEnd()
        let status = child.wait()
        guard let text else { return .unreadable(EntryText.tooLong) }
        guard status == 0 else {
            let name = parts.joined(separator: "/")
            let message = "gpg cannot decrypt \(name) (its exit status is \(status))"
            guard !hasDecrypted else { return .unreadable(message) }
            throw CommandError(
                message,
                hint: "gpg --decrypt \(ShellWord.escaped("\(path)/\(name)")) says why"
            )
        }
        hasDecrypted = true
        let length = text.withOctets { octets in
            octets.count > 0 && octets[octets.count - 1] == 0x0A ? octets.count - 1 : octets.count
        }
        guard length <= ItemLimits.longestData else { return .unreadable(EntryText.tooLong) }
        guard length > 0 else { return .empty }
        return .secret(
            try text.withOctets { octets throws(CommandError) in
                try CommandMemory.copy(octets.extracting(..<length))
            }
        )
    }

    /// Where gpg-agent asks for a passphrase on a terminal, as gpg-agent(1) says; nothing if the user has said it.
    private static var terminal: [String] {
        guard Environment.value("GPG_TTY") == nil, let name = unsafe ttyname(STDIN_FILENO) else { return [] }
        return unsafe ["GPG_TTY=\(String(cString: name))"]
    }
}
