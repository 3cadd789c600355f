import Glibc
import KeychainModel
import SecretMemory

/// Scripts that start Vim with options, for commands that find it by its name: `env vim`, `sh -c 'vim "$0"'`.
///
/// They hold no secret, and are removed with the value. Their directory is not that of the edited file: memory may be mounted
/// without the right to execute.
struct RestrainedVim: ~Copyable {
    /// The directory to search before all others; nil if no program is Vim.
    let directory: String?
    private let names: [String]

    /// Makes a script for each name, by which Vim is found now.
    init(_ names: [String], options: String) throws(CommandError) {
        self.names = names
        guard !names.isEmpty else {
            directory = nil
            return
        }
        let place = Environment.value("TMPDIR") ?? "/tmp"
        let suffix = RandomBytes.array(count: 12).map { String($0, radix: 16) }.joined()
        let directory = "\(place)/touchstone-vim.\(suffix)"
        self.directory = directory
        guard unsafe mkdir(directory, 0o700) == 0 else { throw Self.failure() }
        for name in names {
            let path = try Executable(name).path
            let script = "#!/bin/sh\nexec \(ShellWord.escaped(path)) \(options) \"$@\"\n"
            let descriptor = unsafe open(
                "\(directory)/\(name)",
                O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                0o700
            )
            var octets = Array(script.utf8)
            let isWritten = unsafe write(descriptor, &octets, octets.count) == octets.count
            if descriptor >= 0 { close(descriptor) }
            guard isWritten else { throw Self.failure() }
        }
    }

    deinit {
        guard let directory else { return }
        for name in names { unsafe unlink("\(directory)/\(name)") }
        unsafe rmdir(directory)
    }

    private static func failure() -> CommandError {
        CommandError(
            "cannot make scripts for the editor: \(SystemError.name(of: errno))",
            hint: "check TMPDIR"
        )
    }
}
