import ArgumentParser
import Glibc
import SecretMemory

/// The program that accesses the clipboard.
///
/// Each of them leaves a process that serves the copied content until something else is copied.
enum ClipboardProgram: String, CaseIterable {
    case wlCopy = "wl-copy"
    case xclip
    case xsel

    /// Finds the program for the display of this process.
    ///
    /// - Throws: ``CommandError`` with the status "not available" without a display, and without a program for it.
    static func find() throws(CommandError) -> (program: ClipboardProgram, path: String) {
        let hasWayland = Environment.value("WAYLAND_DISPLAY") != nil
        let hasX = Environment.value("DISPLAY") != nil
        guard hasWayland || hasX else {
            throw CommandError(
                "there is no display, and so no clipboard",
                hint: "run it in a desktop session, or pipe the secret",
                exitCode: .notAvailable
            )
        }
        let usable: [ClipboardProgram] = (hasWayland ? [.wlCopy] : []) + (hasX ? [.xclip, .xsel] : [])
        for program in usable {
            guard let executable = try? Executable(program.rawValue) else { continue }
            // Reading the clipboard back needs its companion program.
            if program == .wlCopy, (try? Executable("wl-paste")) == nil { continue }
            return (program, executable.path)
        }
        throw CommandError(
            "no program reaches the clipboard",
            hint: "install one: "
                + PackageManager.command(for: hasWayland ? .clipboardOfWayland : .clipboardOfX),
            exitCode: .notAvailable
        )
    }

    /// The arguments for copying standard input.
    var copying: [String] {
        switch self {
        // The type is given explicitly: the program would otherwise ask xdg-mime for the type of the secret.
        case .wlCopy: ["wl-copy", "--type", "text/plain"]
        case .xclip: ["xclip", "-selection", "clipboard", "-in"]
        case .xsel: ["xsel", "--clipboard", "--input"]
        }
    }

    /// The program and the arguments for writing the clipboard's content to standard output.
    var pasting: [String] {
        switch self {
        case .wlCopy: ["wl-paste", "--no-newline"]
        case .xclip: ["xclip", "-selection", "clipboard", "-out"]
        case .xsel: ["xsel", "--clipboard", "--output"]
        }
    }

    /// The arguments for emptying the clipboard, by copying an empty standard input.
    ///
    /// A Wayland clipboard is not cleared: compositors that keep the content of exited programs, such as weston, and
    /// Klipper would restore the last one. An empty text replaces it instead.
    var clearing: [String] {
        switch self {
        case .wlCopy, .xclip: copying
        case .xsel: ["xsel", "--clipboard", "--clear"]
        }
    }
}
