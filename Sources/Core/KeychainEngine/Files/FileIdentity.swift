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
    private let paths: [String]
    /// The mark has none on a disk that can only be read.
    private let opened: [FileIdentity?]

    /// Remembers which files the names lead to now.
    ///
    /// - Throws: ``KeychainError`` with ``KnownCause/filesReplaced`` if a name leads elsewhere by its path than in the
    ///   directory.
    init(_ name: StoreFile, in directory: StoreDirectory) throws(KeychainError) {
        let names = ["", "-wal", "-mark"].map { name.rawValue + $0 }
        paths = names.map { directory.path + "/" + $0 }
        opened = names.map { FileIdentity(of: $0, in: directory) }
        guard opened[0] != nil, opened[1] != nil, areInPlace else { throw .filesReplaced }
    }

    /// Whether the names lead to the same file of items, or of its mark.
    var isItemsFileInPlace: Bool { isInPlace(0) }
    var isMarkInPlace: Bool { isInPlace(2) }

    /// Whether the names still lead to the same files.
    var areInPlace: Bool { isInPlace(0) && isInPlace(1) && isInPlace(2) }

    private func isInPlace(_ index: Int) -> Bool { FileIdentity(atPath: paths[index]) == opened[index] }
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
