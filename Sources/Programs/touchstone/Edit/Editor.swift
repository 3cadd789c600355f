import ArgumentParser
import CLinux
import Glibc
import KeychainModel

/// The user's editor: `$VISUAL`, `$EDITOR`, or an installed one.
struct Editor {
    /// The command for the shell, such as `code --wait`.
    private let command: String

    /// Finds the editor.
    ///
    /// - Throws: ``CommandError`` with the status "not available".
    init() throws(CommandError) {
        if let chosen = Environment.value("VISUAL") ?? Environment.value("EDITOR") {
            command = chosen
            return
        }
        guard let found = ["editor", "nano", "vim", "vi"].first(where: { (try? Executable($0)) != nil })
        else {
            throw CommandError(
                "there is no editor",
                hint: "name one in EDITOR, or " + PackageManager.command(for: .nano),
                exitCode: .notAvailable
            )
        }
        command = found
    }

    /// Runs the editor on a file and returns its exit status.
    ///
    /// The editor gets the signals of terminal keys; a signal that stops the editor also stops this process, so that
    /// the shell resumes.
    /// - Throws: ``CommandError`` for a signal that must end this process; the editor received it as well.
    func run(_ path: String) throws(CommandError) -> CInt {
        let signals = unsafe clinux_hold_signals([SIGTERM, SIGHUP, SIGINT, SIGQUIT], 4)
        defer { clinux_release_signals(signals) }
        let stop = signal(SIGTSTP, SIG_DFL)
        defer { _ = signal(SIGTSTP, stop) }
        let restrained = try RestrainedVim(
            Self.vimNames.filter { name in
                (try? Executable(name)).map { Self.isVim($0.path) } ?? false
            },
            options: Self.vimOptions
        )
        defer { extendLifetime(restrained) }
        let search = Environment.value("PATH") ?? "/usr/local/bin:/usr/bin:/bin"
        let child = try ChildProgram(
            "/bin/sh",
            ["sh", "-c", "exec \(command) \(restraints) \"$1\"", "sh", path],
            variables: ["PATH=" + (restrained.directory.map { $0 + ":" } ?? "") + search]
        )
        let ended = clinux_pidfd_open(child.processID)
        guard ended >= 0 else { return child.wait() }
        defer { close(ended) }
        var entries = [ended, signals].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        while true {
            guard unsafe poll(&entries, nfds_t(entries.count), -1) > 0 else { continue }
            if entries[0].revents != 0 { return child.wait() }
            var fromTerminal = false
            let number = unsafe clinux_next_signal(signals, &fromTerminal)
            guard number == SIGTERM || number == SIGHUP else { continue }
            kill(child.processID, number)
            if !Descriptor.isReadable(ended, until: ContinuousClock.now + .seconds(2)) {
                kill(child.processID, SIGKILL)
            }
            _ = child.wait()
            throw CommandError("ended by a signal; nothing was changed", exitCode: ExitCode(128 + number))
        }
    }

    /// Options that keep Vim and its relatives from writing register, swap, undo and backup files elsewhere.
    private static let vimOptions = "-n -i NONE -c 'set noundofile nobackup nowritebackup'"
    /// Names by which Vim is called.
    private static let vimNames = [
        "vim", "vi", "nvim", "view", "ex", "editor", "vim.basic", "vim.tiny", "vim.nox", "vim.gtk3",
    ]

    /// The options for a command that names Vim itself.
    private var restraints: String {
        let program = String(command.prefix { $0 != " " })
        guard let path = try? Executable(program).path, Self.isVim(path) else { return "" }
        return Self.vimOptions
    }

    private static func isVim(_ path: String) -> Bool {
        guard let real = unsafe realpath(path, nil) else { return false }
        defer { unsafe free(real) }
        let name = unsafe String(cString: real).split(separator: "/").last ?? ""
        return name.hasPrefix("vim") || name.hasPrefix("nvim")
    }
}
