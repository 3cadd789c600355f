import Glibc
import KeychainModel
import Testing
import TouchstoneTesting

@testable import PinentryDriver

@Suite("Descriptors and environment of the program")
struct InheritanceTests {
    private let terminal: PseudoTerminal

    init() throws { terminal = try PseudoTerminal() }

    /// Lists descriptors in a child that opens the file itself: a redirection would add one to the shell's.
    private static let notesDescriptors =
        "find /proc/$$/fd -type l -fprintf \"$directory/notes\" '%f %l\\n'; printf 'D a\\nOK\\n'"

    @Test("the program has three descriptors: the socket twice, and /dev/null for errors")
    func descriptors() async throws {
        // Inheritable, as if a library had forgotten O_CLOEXEC.
        let careless = dup(0)
        #expect(careless >= 0)
        defer { close(careless) }
        // The shell keeps its script open, on a descriptor of 10 or above.
        let scripted = try ScriptedPinentry(["GETPIN": Self.notesDescriptors])
        let prompter = PinentryPrompter(program: .testing(scripted.path))
        _ = try await Answer(prompter, .unlock(), at: terminal)
        let notes = scripted.notes.map { $0.split(separator: " ", maxSplits: 1).map(String.init) }
        let ours = notes.filter { $0.last != scripted.path }
        let numbers = ours.compactMap(\.first).sorted()
        #expect(numbers == ["0", "1", "2"], "\(notes)")
        #expect(ours.first { $0.first == "0" }?.last?.hasPrefix("socket:") == true)
        #expect(ours.first { $0.first == "1" }?.last?.hasPrefix("socket:") == true)
        #expect(ours.first { $0.first == "2" }?.last == "/dev/null")
    }

    @Test("on a terminal the environment has no variables of the session")
    func environmentOnTerminal() async throws {
        let scripted = try ScriptedPinentry(["GETPIN": "printf 'D a\\nOK\\n'"])
        let session = PinentryEnvironment(runtimeDirectory: "/run/user/1", sessionBus: "unix:path=/x")
        let prompter = PinentryPrompter(program: .testing(scripted.path), environment: session)
        _ = try await Answer(prompter, .unlock(), at: terminal)
        #expect(
            scripted.environment.sorted() == [
                "LANG=C.UTF-8", "LC_CTYPE=C.UTF-8", "PATH=/usr/bin:/bin", "TERM=xterm",
            ]
        )
    }

    @Test("on a display the environment has the variables to reach the session, and no others")
    func environmentOnDisplay() async throws {
        let scripted = try ScriptedPinentry([
            "GETPIN": "printf 'D a\\nOK\\n'", "GETINFO": "printf 'D gnome3\\nOK\\n'",
        ])
        let session = PinentryEnvironment(
            runtimeDirectory: "/run/user/1",
            sessionBus: "unix:path=/x",
            xAuthority: "/home/u/.Xauthority"
        )
        let prompter = PinentryPrompter(program: .testing(scripted.path), environment: session)
        let origin = PromptOrigin(
            terminalType: "evil\nLD_PRELOAD=/x",
            display: ":1",
            waylandDisplay: "wayland-0",
            characterType: "de_DE.ISO-8859-1"
        )
        try await prompter.checkCanPrompt(at: origin)
        #expect(try await Answer(prompter, .unlock(), at: origin) == .entered("a"))
        #expect(
            scripted.environment.sorted() == [
                "DBUS_SESSION_BUS_ADDRESS=unix:path=/x", "DISPLAY=:1", "LANG=de_DE.ISO-8859-1",
                "LC_CTYPE=de_DE.ISO-8859-1", "PATH=/usr/bin:/bin", "TERM=vt100", "WAYLAND_DISPLAY=wayland-0",
                "XAUTHORITY=/home/u/.Xauthority", "XDG_RUNTIME_DIR=/run/user/1",
            ]
        )
        #expect(scripted.received.contains("OPTION display=:1"))
        #expect(!scripted.received.contains { $0.hasPrefix("OPTION ttyname") })
    }

    @Test(
        "a malformed display name counts as none",
        arguments: ["a b", ":0\nBYE", "", "%0A", "é"]
    )
    func malformedDisplay(display: String) async throws {
        let scripted = try ScriptedPinentry()
        let prompter = PinentryPrompter(program: .testing(scripted.path))
        await #expect(throws: PromptError(.notInteractive)) {
            try await prompter.checkCanPrompt(at: PromptOrigin(display: display))
        }
        #expect(scripted.processIdentifier == nil)
    }
}

@Suite("Finding the pinentry program")
struct PinentryProgramTests {
    private func detail(_ program: PinentryProgram) -> String? {
        do {
            _ = try program.resolve()
            return nil
        } catch {
            #expect(error.code == .prompterMissing)
            return error.detail
        }
    }

    @Test("the first installed program is taken, with symbolic links resolved")
    func installed() throws {
        #expect(try PinentryProgram(["/usr/bin/pinentry-tty"]).resolve() == "/usr/bin/pinentry-tty")
        let several = PinentryProgram(["/nowhere/pinentry", "pinentry-tty", "/usr/bin/pinentry-curses"])
        #expect(try several.resolve() == "/usr/bin/pinentry-curses")
    }

    @Test(
        "a missing, relative, non-executable or replaceable program is refused with its reason"
    )
    func refused() throws {
        let missing = detail(PinentryProgram(["/nowhere/pinentry"]))
        #expect(missing == "/nowhere/pinentry: No such file or directory")
        #expect(detail(PinentryProgram(["pinentry"])) == "pinentry: not an absolute path")
        #expect(detail(PinentryProgram(["/etc/passwd"])) == "/etc/passwd: not executable")
        #expect(detail(PinentryProgram(["/usr/bin"])) == "/usr/bin: not a file")
        // Whoever owns the file, anyone may write to /tmp.
        let scripted = try ScriptedPinentry()
        let reason = "\(scripted.path): can be replaced by others than root"
        #expect(detail(PinentryProgram([scripted.path])) == reason)
        #expect(try PinentryProgram.testing(scripted.path).resolve() == scripted.path)
        #expect(detail(PinentryProgram([])) == "")
    }

    @Test("without a program no prompt can be shown")
    func missing() async throws {
        let terminal = try PseudoTerminal()
        let prompter = PinentryPrompter("/nowhere/pinentry")
        await #expect(throws: PromptError(.prompterMissing)) {
            try await prompter.checkCanPrompt(at: terminal.origin)
        }
        await #expect(throws: PromptError(.prompterMissing)) {
            try await Answer(prompter, .unlock(), at: terminal)
        }
    }
}
