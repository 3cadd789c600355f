import Foundation
import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting

@testable import PinentryDriver

/// Requirements of the tests with windows.
enum Windows {
    /// The installed programs that draw windows.
    static let programs = ["/usr/bin/pinentry-gtk-2", "/usr/bin/pinentry-qt"].filter(isThere)
    /// Whether windows can be drawn and keys pressed.
    static let arePossible = !programs.isEmpty && isThere("/usr/bin/Xvfb") && isThere("/usr/bin/xdotool")
    /// Whether GNOME's pinentry is installed, which draws no window itself.
    static let hasGNOME = isThere("/usr/bin/pinentry-gnome3")

    private static func isThere(_ path: String) -> Bool { access(path, X_OK) == 0 }
}

/// Prompts in windows: Debian's pinentry programs on a private X display, with simulated key presses.
@Suite(
    "Prompts on a display",
    .enabled(
        if: Windows.arePossible,
        "Xvfb, xdotool, pinentry-gtk2 or pinentry-qt is not installed"
    ),
    .serialized
)
struct DisplayPromptTests {
    /// An X server without a screen (Xvfb).
    private final class Display: @unchecked Sendable {  // only deinit touches the process
        let name: String
        private let server: Process

        init() async throws {
            // A number that no other run is likely to use at the same time.
            let number = 1000 + Int.random(in: 0..<60_000)
            name = ":\(number)"
            let server = Process()
            self.server = server
            server.executableURL = URL(fileURLWithPath: "/usr/bin/Xvfb")
            // Without -noreset the server resets when its last client disconnects; xdotool can be that client while a prompt is
            // still starting, whose connection would then be closed.
            server.arguments = [name, "-screen", "0", "800x600x24", "-nolisten", "tcp", "-noreset"]
            server.standardInput = FileHandle.nullDevice
            server.standardOutput = FileHandle.nullDevice
            server.standardError = FileHandle.nullDevice
            try server.run()
            try await Deadline.wait(for: "the display's socket") {
                guard server.isRunning else { throw Timeout() }
                return access("/tmp/.X11-unix/X\(number)", F_OK) == 0 ? true : nil
            }
        }

        deinit {
            // It inherits this process's blocked signals, SIGTERM among them.
            kill(server.processIdentifier, SIGKILL)
        }

        var origin: PromptOrigin { PromptOrigin(display: name, characterType: "C.UTF-8") }

        /// Runs xdotool; returns its output, nil if it failed.
        @discardableResult
        func tool(_ arguments: String...) throws -> String? {
            let pipe = Pipe()
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/usr/bin/timeout")
            process.arguments = ["20", "/usr/bin/xdotool"] + arguments
            process.environment = ["DISPLAY": name, "PATH": "/usr/bin:/bin"]
            process.standardOutput = pipe
            process.standardError = FileHandle.nullDevice
            try process.run()
            let data = pipe.fileHandleForReading.readDataToEndOfFile()
            process.waitUntilExit()
            return process.terminationStatus == 0 ? String(decoding: data, as: UTF8.self) : nil
        }

        /// The visible windows of pinentry.
        func boxes() throws -> [String] {
            let found = try tool("search", "--onlyvisible", "--class", "pinentry") ?? ""
            return found.split(separator: "\n").map(String.init)
        }

        /// Waits until no window is left: the server notices a program's end with a delay.
        func waitUntilEmpty() async throws {
            try await Deadline.wait(for: "an empty screen") { try boxes().isEmpty ? true : nil }
        }

        /// Waits for a window, and gives it the keyboard focus: there is no window manager to do it.
        func box() async throws -> String {
            let window = try await Deadline.wait(for: "a box") { try boxes().last }
            try await Deadline.wait(for: "the box to have the keyboard") {
                try tool("windowfocus", window)
                let focused = try tool("getwindowfocus")?.trimmingCharacters(in: .whitespacesAndNewlines)
                return focused == window ? true : nil
            }
            return window
        }
    }

    @Test("the typed passcode is returned", arguments: Windows.programs)
    func typed(program: String) async throws {
        let display = try await Display()
        async let answer = Answer(
            PinentryPrompter(program),
            .unlock(timeout: .seconds(60)),
            at: display.origin
        )
        _ = try await display.box()
        try display.tool("type", "--delay", "40", "Orbit hazel 7%!")
        try display.tool("key", "Return")
        #expect(try await answer == .entered("Orbit hazel 7%!"))
        try await display.waitUntilEmpty()
    }

    @Test("Escape cancels", arguments: Windows.programs)
    func escape(program: String) async throws {
        let display = try await Display()
        async let answer = Answer(
            PinentryPrompter(program),
            .unlock(timeout: .seconds(60)),
            at: display.origin
        )
        _ = try await display.box()
        try display.tool("key", "Escape")
        #expect(try await answer == .cancelled)
    }

    @Test("an accepted finger closes the window", arguments: Windows.programs)
    func touched(program: String) async throws {
        let display = try await Display()
        let prompt = Prompt(.touch, requester: "app", heading: "Unlock the keychain", timeout: .seconds(60))
        let origin = display.origin
        let asking = Task { try await Answer(PinentryPrompter(program), prompt, at: origin) }
        _ = try await display.box()
        // What the engine does after a match.
        asking.cancel()
        await #expect(throws: PromptError(.dismissed)) { try await asking.value }
        try await display.waitUntilEmpty()
    }

    @Test("a new passcode is typed twice in one window", arguments: Windows.programs)
    func newSecret(program: String) async throws {
        let display = try await Display()
        let prompt = Prompt(
            .newSecret,
            requester: "app",
            heading: "Choose a passcode",
            fieldLabel: "New passcode:",
            timeout: .seconds(60)
        )
        async let answer = Answer(PinentryPrompter(program), prompt, at: display.origin)
        _ = try await display.box()
        try display.tool("type", "--delay", "40", "plankwigmure")
        try display.tool("key", "Tab")
        // In gtk2's window the button that reveals the passcode is next.
        if program.hasSuffix("qt") == false { try display.tool("key", "Tab") }
        try display.tool("type", "--delay", "40", "plankwigmure")
        try display.tool("key", "Return")
        #expect(try await answer == .entered("plankwigmure"))
    }

    @Test(
        "GNOME's pinentry without a session bus and a terminal reports it instead of drawing nothing",
        .enabled(if: Windows.hasGNOME, "pinentry-gnome3 is not installed")
    )
    func noSessionBus() async throws {
        let display = try await Display()
        let prompter = PinentryPrompter(
            program: PinentryProgram(["/usr/bin/pinentry-gnome3"]),
            environment: PinentryEnvironment()
        )
        let expected = PromptError(
            .notInteractive,
            detail:
                "this pinentry needs the session's bus for the display, and DBUS_SESSION_BUS_ADDRESS is not set"
        )
        await #expect(throws: expected) { try await prompter.checkCanPrompt(at: display.origin) }
        await #expect(throws: expected) { try await Answer(prompter, .unlock(), at: display.origin) }
    }

    @Test(
        "GNOME's pinentry without a session bus draws on the terminal if there is one",
        .enabled(if: Windows.hasGNOME, "pinentry-gnome3 is not installed")
    )
    func noSessionBusOnTerminal() async throws {
        let display = try await Display()
        let terminal = try PseudoTerminal()
        var origin = terminal.origin
        origin.display = display.name
        let prompter = PinentryPrompter(
            program: PinentryProgram(["/usr/bin/pinentry-gnome3"]),
            environment: PinentryEnvironment()
        )
        async let done: Void = ScriptedPerson(.sees("Passcode:", types: "typed here")).sit(at: terminal)
        #expect(try await Answer(prompter, .unlock(), at: origin) == .entered("typed here"))
        try await done
    }
}
