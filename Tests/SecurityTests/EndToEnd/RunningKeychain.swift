import Foundation
import KeychainClient
import KeychainModel
import Security
import TouchstoneTesting

/// A keychain of its own: a real daemon, a terminal, and a pinentry that does what a person would.
final class RunningKeychain: Sendable {
    static let passcode = "marble lantern orchid tundra velvet"

    /// The daemon's program: beside the test bundle, or where `TOUCHSTONE_BIN` says.
    static var daemon: String {
        let directory =
            ProcessInfo.processInfo.environment["TOUCHSTONE_BIN"]
            ?? URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
            .path
        return directory + "/touchstoned"
    }

    /// Whether the daemon was built.
    static var isBuilt: Bool { access(daemon, X_OK) == 0 }

    let keychain: RemoteKeychain
    private let home: TemporaryDirectory
    private let terminal: PseudoTerminal
    private let pinentry: ScriptedPinentry
    private let process: ChildProcess
    private let promptsOfSetUp: Int

    /// Starts a daemon and sets the keychain up.
    init() async throws {
        home = try TemporaryDirectory()
        terminal = try PseudoTerminal()
        pinentry = try ScriptedPinentry(Self.person(home.path))
        let path = home.path
        _ = try home.write(
            """
            test.pinentry-program = \(pinentry.path)
            test.system-bus-address = unix:path=\(path)/no-bus
            test.scrypt-log2-rounds = 10

            """,
            to: "touchstoned.conf"
        )
        guard let layout = Layout(variable: { $0 == "TOUCHSTONE_HOME" ? path : nil }) else {
            throw KeychainError(.param)
        }
        let keychain = RemoteKeychain(layout: layout, daemon: .none)
        self.keychain = keychain
        let environment = ["TOUCHSTONE_HOME": path, "HOME": path]
        process = try await ChildProcess.start(Self.daemon, ["--foreground"], environment: environment)
        let origin = PromptOrigin(terminal: terminal.name, terminalType: "xterm", characterType: "C.UTF-8")
        _ = try await Deadline.wait(for: "the daemon", atMost: .seconds(15)) { try? keychain.status() }
        try keychain.setUp(PromptFields(origin: origin))
        promptsOfSetUp = pinentry.notes.count
    }

    deinit { process.stop() }

    /// Runs `body` with this keychain as the user's.
    func use<R>(_ body: () throws -> R) rethrows -> R {
        let origin = PromptOrigin(terminal: terminal.name, terminalType: "xterm", characterType: "C.UTF-8")
        return try KeychainConnection.$current.withValue(keychain) {
            try KeychainConnection.$promptOrigin.withValue(origin, operation: body)
        }
    }

    /// The boxes shown since the set-up.
    var prompts: Int { pinentry.notes.count - promptsOfSetUp }

    /// What the person does when a box asks for the passcode.
    func setCancels(_ cancels: Bool) throws {
        let sign = home.appending("cancels")
        if cancels { _ = try home.write("", to: "cancels") } else { unlink(sign) }
    }

    /// Shell commands that type the passcode, keep the recovery code and type it back, or cancel.
    private static func person(_ home: String) -> [String: String] {
        let note = "echo \"$line\" >> \"$directory/notes\""
        return [
            "SETDESC": """
            code=$(printf '%s' "$line" | grep -oE '[0-9A-Z]{4}(-[0-9A-Z]{4}){6}')
            if [ -n "$code" ]; then printf '%s' "$code" > \(home)/code; fi
            echo OK
            """,
            "SETPROMPT": "prompt=$line; echo OK",
            "SETREPEAT": "repeated=1; echo OK",
            "CONFIRM": "\(note); echo OK",
            "MESSAGE": "\(note); echo OK",
            "GETPIN": """
            \(note)
            if [ -e \(home)/cancels ]; then
                echo 'ERR 83886179 Operation cancelled <Pinentry>'
            else
                case "$prompt" in
                *Recovery*) printf 'D %s\\n' "$(cat \(home)/code)" ;;
                *) echo 'D \(passcode)'; if [ -n "$repeated" ]; then echo 'S PIN_REPEATED'; fi ;;
                esac
                echo OK
            fi
            """,
        ]
    }
}
