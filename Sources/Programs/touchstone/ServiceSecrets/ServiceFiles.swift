import Glibc
import KeychainModel

/// The files in the user's own folders that make this keychain the one of other programs; nothing of another keyring is removed.
enum ServiceFiles {
    private static let mark = "# Written by touchstone secrets enable; touchstone secrets disable removes it."

    /// A file and its content.
    struct File {
        let path: String
        let content: String
    }

    /// The files, for a door at a path.
    ///
    /// - Throws: ``CommandError`` without a home directory.
    static func all(_ program: String) throws(CommandError) -> [File] {
        let data = try folder("XDG_DATA_HOME", "/.local/share")
        let settings = try folder("XDG_CONFIG_HOME", "/.config")
        return [
            // The session bus reads this folder before the system's.
            File(
                path: data + "/dbus-1/services/org.freedesktop.secrets.service",
                content: """
                    \(mark)
                    [D-BUS Service]
                    Name=org.freedesktop.secrets
                    Exec=\(program)

                    """
            ),
            // GNOME starts its own at the login otherwise.
            File(
                path: settings + "/autostart/gnome-keyring-secrets.desktop",
                content: """
                    \(mark)
                    [Desktop Entry]
                    Type=Application
                    Name=Secret Storage Service
                    Hidden=true

                    """
            ),
        ]
    }

    /// Whether a file is there, and whether it is ours.
    static func isOurs(_ file: File) -> Bool? {
        guard let text = try? SmallFile.text(file.path, atMost: 1 << 16) else {
            return unsafe access(file.path, F_OK) == 0 ? false : nil
        }
        return text.hasPrefix(mark)
    }

    /// Writes the files.
    ///
    /// - Throws: ``CommandError`` if one is there that is not ours; nothing was changed then.
    static func write(_ files: [File]) throws(CommandError) {
        for file in files where isOurs(file) == false {
            throw CommandError(
                "'\(Printable.text(file.path))' is there and was not written by this command",
                hint: "move it away, then try again",
                exitCode: .existsAlready
            )
        }
        for file in files {
            try makeFolder(of: file.path)
            let descriptor = unsafe open(
                file.path,
                O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
                0o644
            )
            guard descriptor >= 0 else { throw failure(file.path) }
            defer { close(descriptor) }
            let octets = Array(file.content.utf8)
            let count = SystemCall.uninterrupted { unsafe Glibc.write(descriptor, octets, octets.count) }
            guard count == octets.count else { throw failure(file.path) }
        }
    }

    /// Removes the files that are ours; returns how many there were.
    static func remove(_ files: [File]) throws(CommandError) -> Int {
        var count = 0
        for file in files where isOurs(file) == true {
            guard unsafe unlink(file.path) == 0 else { throw failure(file.path) }
            count += 1
        }
        return count
    }

    private static func folder(_ variable: String, _ otherwise: String) throws(CommandError) -> String {
        if let folder = Environment.value(variable), folder.hasPrefix("/") { return folder }
        guard let home = Environment.value("HOME"), home.hasPrefix("/") else {
            throw CommandError("there is no home directory", hint: "set HOME to an absolute path")
        }
        return home + otherwise
    }

    private static func makeFolder(of path: String) throws(CommandError) {
        var folder = ""
        for part in path.split(separator: "/").dropLast() {
            folder += "/" + part
            guard unsafe mkdir(folder, 0o755) == 0 || errno == EEXIST else { throw failure(folder) }
        }
    }

    private static func failure(_ path: String) -> CommandError {
        CommandError(
            "cannot write '\(Printable.text(path))': \(SystemError.name(of: errno))",
            hint: "check the rights and the space there",
            exitCode: .failed
        )
    }
}
