import ArgumentParser
import Glibc
import SecretMemory

/// The program through which the clipboard is reached.
///
/// Each of them stays behind to serve what was copied, and goes when something else is.
enum ClipboardProgram: String, CaseIterable {
    case wlCopy = "wl-copy"
    case xclip
    case xsel

    /// The program for the display of this process.
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
            // What was copied can be looked at again only with its companion.
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

    /// The arguments that copy standard input.
    var copying: [String] {
        switch self {
        // Plain text by name: the program would ask xdg-mime what the secret is.
        case .wlCopy: ["wl-copy", "--type", "text/plain"]
        case .xclip: ["xclip", "-selection", "clipboard", "-in"]
        case .xsel: ["xsel", "--clipboard", "--input"]
        }
    }

    /// The program and the arguments that write what the clipboard holds.
    var pasting: [String] {
        switch self {
        case .wlCopy: ["wl-paste", "--no-newline"]
        case .xclip: ["xclip", "-selection", "clipboard", "-out"]
        case .xsel: ["xsel", "--clipboard", "--output"]
        }
    }

    /// The arguments that empty it; the nothing of standard input is copied.
    ///
    /// Where a clipboard of Wayland is cleared, what keeps its content for programs that end, as weston and Klipper do,
    /// puts the last one back: an empty text takes its place.
    var clearing: [String] {
        switch self {
        case .wlCopy, .xclip: copying
        case .xsel: ["xsel", "--clipboard", "--clear"]
        }
    }
}
