import Glibc
public import KeychainModel

extension PromptOrigin {
    /// Where this process can show a prompt: its terminal and its display.
    ///
    /// The terminal is that of standard input, output or error, or else the controlling terminal; always by its
    /// real name, because `/dev/tty` would be another terminal for the daemon.
    public static func current() -> PromptOrigin {
        let terminal = Terminal.ofStandardDescriptors() ?? Terminal.controlling()
        if let terminal { TerminalModes.remember(terminal) }
        return PromptOrigin(terminal: terminal, variable: ProcessEnvironment.variable)
    }

    /// The path `/dev/…` of this process's controlling terminal, from the device number that the kernel
    /// reports; nil without one.
    package static func controllingTerminal() -> String? { Terminal.controlling() }
}

/// Finds terminals by their names under `/dev`.
private enum Terminal {
    /// The first terminal among standard input, output and error.
    static func ofStandardDescriptors() -> String? {
        for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where isatty(descriptor) == 1 {
            var name = [CChar](repeating: 0, count: 64)
            guard unsafe ttyname_r(descriptor, &name, name.count) == 0 else { continue }
            let path = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            if TerminalPath.isUsable(path) { return path }
        }
        return nil
    }

    /// The controlling terminal, from its device number in `/proc/self/stat` (proc(5), field 7).
    static func controlling() -> String? {
        ProcessStat(of: getpid()).flatMap { TerminalPath.path(ofDevice: $0.terminal) }
    }
}
