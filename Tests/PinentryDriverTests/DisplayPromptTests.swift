import Foundation
import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting

@testable import PinentryDriver

/// What a test with windows needs.
enum Windows {
    /// The programs that draw windows.
    static let programs = ["/usr/bin/pinentry-gtk-2", "/usr/bin/pinentry-qt"].filter(isThere)
    /// Whether a window can be drawn and keys be pressed.
    static let arePossible = !programs.isEmpty && isThere("/usr/bin/Xvfb") && isThere("/usr/bin/xdotool")
    /// GNOME's program, which draws no window itself.
    static let hasGNOME = isThere("/usr/bin/pinentry-gnome3")

    private static func isThere(_ path: String) -> Bool { access(path, X_OK) == 0 }
}

/// Boxes in windows: the programs that Debian ships, on a display of the test's own, and keys as a person presses them.
@Suite(
    "Boxes on a display",
    .enabled(
        if: Windows.arePossible,
        "Xvfb, xdotool, pinentry-gtk2 or pinentry-qt is not installed"
    ),
    .serialized
)
struct DisplayPromptTests {
    /// An X server without a screen.
    private final class Display: @unchecked Sendable {  // nobody touches the process but its owner's end
        let name: String
        private let server: Process

        init() async throws {
            // A number that no other run takes at this time.
            let number = 1000 + Int.random(in: 0..<60_000)
            name = ":\(number)"
            let server = Process()
            self.server = server
            server.executableURL = URL(fileURLWithPath: "/usr/bin/Xvfb")
            // Without -noreset the server starts anew when its last client goes, which xdotool is while a box is still
            // on its way: the box then finds its connection cut.
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
            // It inherits signals that are blocked here, SIGTERM among them.
            kill(server.processIdentifier, SIGKILL)
        }

        var origin: PromptOrigin { PromptOrigin(display: name, characterType: "C.UTF-8") }

        /// Runs xdotool; its output, nil where it failed.
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

        /// The windows of pinentry that are on the screen.
        func boxes() throws -> [String] {
            let found = try tool("search", "--onlyvisible", "--class", "pinentry") ?? ""
            return found.split(separator: "\n").map(String.init)
        }

        /// Waits until no box is left: the server hears of a program's end when it gets to it.
        func waitUntilEmpty() async throws {
            try await Deadline.wait(for: "an empty screen") { try boxes().isEmpty ? true : nil }
        }

        /// Waits for a box that has the keyboard: without a window manager nobody else gives it.
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

    @Test("the passcode that is typed comes back", arguments: Windows.programs)
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

    @Test("a finger that was accepted takes the box away", arguments: Windows.programs)
    func touched(program: String) async throws {
        let display = try await Display()
        let prompt = Prompt(.touch, requester: "app", heading: "Unlock the keychain", timeout: .seconds(60))
        let origin = display.origin
        let asking = Task { try await Answer(PinentryPrompter(program), prompt, at: origin) }
        _ = try await display.box()
        // What the engine does when the sensor has matched.
        asking.cancel()
        await #expect(throws: PromptError(.dismissed)) { try await asking.value }
        try await display.waitUntilEmpty()
    }

    @Test("a new passcode is typed twice in one box", arguments: Windows.programs)
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
        // gtk2 has the button that shows what is typed next.
        if program.hasSuffix("qt") == false { try display.tool("key", "Tab") }
        try display.tool("type", "--delay", "40", "plankwigmure")
        try display.tool("key", "Return")
        #expect(try await answer == .entered("plankwigmure"))
    }

    @Test(
        "GNOME's pinentry without a session's bus and without a terminal says so, instead of drawing nowhere",
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
        "GNOME's pinentry without a session's bus draws on the terminal where there is one",
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
