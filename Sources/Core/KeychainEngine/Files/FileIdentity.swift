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

    /// The identity of an open file.
    init?(of file: CInt) { self.init("", file) }

    /// The identity of an entry of an open directory, or of a path; nil if there is none.
    init?(_ name: String, _ directory: CInt) {
        var found: [UInt64] = [0, 0]
        guard unsafe clinux_identity(directory, name, &found) == 0 else { return nil }
        (device, inode) = (found[0], found[1])
    }
}

/// The items file, its log and the log's mark as a connection opened them.
///
/// A program that synchronises files replaces them by renaming others over them, and a directory can be moved away: a
/// connection would go on writing to files that no name leads to.
struct OpenedFiles {
    /// A name, and the file that it led to.
    private struct Name {
        let path: String
        let opened: FileIdentity?

        init(_ name: String, in directory: StoreDirectory) {
            path = directory.path + "/" + name
            opened = FileIdentity(of: name, in: directory)
        }

        /// Whether the name still leads to the same file.
        var isInPlace: Bool { FileIdentity(atPath: path) == opened }
    }

    private let items: Name
    private let log: Name
    /// Leads to no file on a disk that can only be read.
    private let mark: Name

    /// Remembers which files the names lead to now.
    ///
    /// - Throws: ``KeychainError`` with ``KnownCause/filesReplaced`` if a name leads elsewhere by its path than in the
    ///   directory.
    init(_ name: StoreFile, in directory: StoreDirectory) throws(KeychainError) {
        items = Name(name.rawValue, in: directory)
        log = Name(name.rawValue + "-wal", in: directory)
        mark = Name(name.rawValue + "-mark", in: directory)
        guard items.opened != nil, log.opened != nil, areInPlace else { throw .filesReplaced }
    }

    /// Whether the names lead to the same file of items, or of its mark.
    var isItemsFileInPlace: Bool { items.isInPlace }
    var isMarkInPlace: Bool { mark.isInPlace }

    /// Whether the names still lead to the same files.
    var areInPlace: Bool { items.isInPlace && log.isInPlace && mark.isInPlace }
}

extension StoreDirectory {
    /// Refuses a change while the directory's path leads elsewhere: it would be lost with the directory.
    func checkPlace() throws(KeychainError) {
        guard isInPlace else { throw .filesReplaced }
    }
}

extension KeychainError {
    /// The files were replaced or moved away while they were open.
    static var filesReplaced: KeychainError {
        KeychainError(.notAvailable, cause: DriverCause(.filesReplaced), remedy: .check)
    }
}
