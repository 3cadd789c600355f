internal import CLinux
internal import Glibc
internal import KeychainModel

/// Which file a name leads to: its device and inode.
struct FileIdentity: Equatable {
    private let device: UInt64
    private let inode: UInt64

    /// The identity of an entry of a directory; nil if there is none.
    init?(of name: String, in directory: StoreDirectory) { self.init(name, directory.descriptor) }

    /// The identity of the file at an absolute path; nil if there is none.
    init?(atPath path: String) { self.init(path, AT_FDCWD) }

    /// The identity of an open directory.
    init?(of directory: StoreDirectory) { self.init("", directory.descriptor) }

    private init?(_ name: String, _ directory: CInt) {
        var found: [UInt64] = [0, 0]
        guard unsafe clinux_identity(directory, name, &found) == 0 else { return nil }
        (device, inode) = (found[0], found[1])
    }
}

/// The items file and its log as a connection opened them.
///
/// A program that synchronises files replaces them by renaming others over them, and a directory can be moved away: a
/// connection would go on writing to files that no name leads to.
struct OpenedFiles {
    private let paths: [String]
    private let opened: [FileIdentity]

    /// Remembers which files the names lead to now.
    ///
    /// - Throws: ``KeychainError`` with ``KnownCause/filesReplaced`` if a name leads elsewhere by its path than in the
    ///   directory.
    init(_ name: StoreFile, in directory: StoreDirectory) throws(KeychainError) {
        let names = [name.rawValue, name.rawValue + "-wal"]
        paths = names.map { directory.path + "/" + $0 }
        opened = names.compactMap { FileIdentity(of: $0, in: directory) }
        guard opened.count == names.count, areInPlace else { throw .filesReplaced }
    }

    /// Whether the names still lead to the same files.
    var areInPlace: Bool {
        for (path, identity) in zip(paths, opened) where FileIdentity(atPath: path) != identity {
            return false
        }
        return true
    }
}

extension StoreDirectory {
    /// Refuses a change while the directory's path leads elsewhere: it would be lost with the directory.
    func checkPlace() throws(KeychainError) {
        guard let open = FileIdentity(of: self), FileIdentity(atPath: path) == open else {
            throw .filesReplaced
        }
    }
}

extension KeychainError {
    /// The files were replaced or moved away while they were open.
    static var filesReplaced: KeychainError {
        KeychainError(.notAvailable, cause: DriverCause(.filesReplaced), remedy: .check)
    }
}
