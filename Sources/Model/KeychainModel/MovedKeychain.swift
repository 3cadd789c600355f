import Glibc

/// The marker file of a moved keychain: while it exists, no keychain is opened or created in its directory.
///
/// `touchstone system enable` creates it where a user's own daemon would otherwise create a new, empty keychain.
package enum MovedKeychain {
    /// The file's name.
    package static let name = "moved"
    /// The longest file that is read, in bytes.
    private static let longest = 4096
    private static let domain = "moved"

    /// The file's content: the keychain's new location, then what to do.
    package static func text(destination: String) -> String {
        """
        \(destination)
        This keychain is kept there in system mode: touchstone system status says more.

        """
    }

    /// The new location of the keychain of an open directory; nil if none was moved.
    ///
    /// Any file of that name counts, even an unreadable one: nothing is opened beside it.
    package static func destination(in directory: CInt) -> String? {
        let flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK
        let file = unsafe openat(directory, name, flags)
        guard file >= 0 else { return errno == ENOENT ? nil : unknown }
        defer { close(file) }
        var octets = [UInt8](repeating: 0, count: longest)
        let count = SystemCall.uninterrupted { unsafe read(file, &octets, octets.count) }
        guard count > 0, let line = octets[..<count].split(separator: UInt8(ascii: "\n")).first,
            let text = String(validating: line, as: UTF8.self), text.hasPrefix("/")
        else { return unknown }
        return text
    }

    /// The new location of the keychain of the directory at `path`; nil if none was moved, or there is no directory.
    package static func destination(at path: String) -> String? {
        let directory = unsafe open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard directory >= 0 else { return nil }
        defer { close(directory) }
        return destination(in: directory)
    }

    /// The location in the cause of an error; nil for another cause.
    package static func destination(of error: KeychainError) -> String? {
        error.cause?.domain == domain ? error.cause?.code : nil
    }

    fileprivate static func cause(_ destination: String) -> DriverCause {
        DriverCause(domain: domain, code: destination)
    }

    private static let unknown = "another place"
}

extension KeychainError {
    /// The keychain was moved from its directory.
    package static func moved(to destination: String) -> KeychainError {
        KeychainError(.notAvailable, cause: MovedKeychain.cause(destination), remedy: .check)
    }
}
