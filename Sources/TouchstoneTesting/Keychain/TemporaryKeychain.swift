public import KeychainClient
public import KeychainModel
import Synchronization

/// A keychain of one's own: the real daemon in a private directory, and a person who knows the passcode.
///
/// ```swift
/// let keychain = try await TemporaryKeychain.ready()
/// try keychain.client.add(item)
/// ```
///
/// The daemon's derivation is reduced and its prompts are answered by a script, so its assurance is `test`.
public final class TemporaryKeychain: Sendable {
    /// What the person types.
    public static let passcode = "marble lantern orchid tundra velvet"

    /// Where all of it lies.
    public let home: TemporaryDirectory
    /// The same, as client and daemon name it.
    public let layout: Layout
    /// A client that starts no daemon of its own.
    public let client: RemoteKeychain

    private let terminal: PseudoTerminal
    private let pinentry: ScriptedPinentry
    private let daemon = Mutex<ChildProcess?>(nil)

    /// Makes the directory and the settings; nothing runs yet.
    ///
    /// - Parameters:
    ///   - bus: the system bus with fprintd; nil for none.
    ///   - settings: more lines for the daemon's configuration.
    /// - Throws: ``TestKitError`` or ``TerminalError`` when a file or a terminal cannot be made.
    public init(bus: PrivateBus? = nil, settings: [String] = []) throws {
        home = try TemporaryDirectory()
        let path = home.path
        guard let layout = Layout(variable: { $0 == "TOUCHSTONE_HOME" ? path : nil }) else {
            throw TestKitError.unexpected("no layout for \(path)")
        }
        self.layout = layout
        terminal = try PseudoTerminal()
        pinentry = try ScriptedPinentry(Self.person(path))
        let lines = [
            "test.pinentry-program = \(pinentry.path)",
            "test.scrypt-log2-rounds = 10",
            "test.system-bus-address = \(bus?.address ?? "unix:path=\(path)/no-bus")",
            "idle-exit = 0",
        ]
        _ = try home.write((lines + settings).joined(separator: "\n") + "\n", to: "touchstoned.conf")
        client = RemoteKeychain(layout: layout, daemon: .none)
    }

    deinit { daemon.withLock { $0?.stop() } }

    /// A keychain that is set up and unlocked.
    public static func ready(bus: PrivateBus? = nil, settings: [String] = []) async throws
        -> TemporaryKeychain
    {
        let keychain = try TemporaryKeychain(bus: bus, settings: settings)
        try await keychain.start()
        try keychain.client.setUp(keychain.prompt())
        return keychain
    }

    /// How this keychain's requests are prompted for.
    public func prompt(_ reason: String = "a test") -> PromptFields {
        PromptFields(origin: PromptOrigin(terminal: terminal.name, terminalType: "xterm"), reason: reason)
    }

    /// The boxes that were shown so far.
    public var prompts: Int { pinentry.notes.count }

    /// The daemon's process; 0 when none runs.
    public var processID: Int32 { daemon.withLock { $0?.processID ?? 0 } }

    /// Whether the daemon runs.
    public var isRunning: Bool { daemon.withLock { $0?.isRunning ?? false } }

    /// Starts the daemon and waits until it listens.
    ///
    /// - Parameter wrapper: a command that runs the daemon, for example `strace` with its options.
    /// - Throws: ``TestKitError`` when it ends or does not listen in time.
    public func start(through wrapper: [String] = []) async throws {
        let command = wrapper + [Programs.touchstoned, "--foreground"]
        let process = try await ChildProcess.start(
            command[0],
            Array(command.dropFirst()),
            environment: ["TOUCHSTONE_HOME": home.path, "HOME": home.path],
            log: home.appending("daemon.stderr")
        )
        daemon.withLock { $0 = process }
        try await Deadline.wait(for: "the daemon's socket", atMost: .seconds(20)) {
            if (try? client.status()) != nil { return true }
            guard process.isRunning else { throw TestKitError.unexpected("the daemon ended") }
            return nil
        }
    }

    /// Ends the daemon by a signal and waits for its end.
    public func stop(with signal: Int32) {
        daemon.withLock {
            $0?.stop(with: signal)
            $0 = nil
        }
    }

    /// Unlocks the keychain; the person types the passcode.
    public func unlock() throws { try client.unlock(prompt()) }

    /// Tells the person what to do at the next boxes, one deed for each; after them the passcode again.
    public func tellPerson(_ deeds: [Deed]) throws {
        _ = try home.write(deeds.map { $0.line + "\n" }.joined(), to: "deeds")
    }
}

extension TemporaryKeychain {
    /// What the person does at one box.
    public enum Deed: Sendable, Equatable {
        /// Types something else than the passcode.
        case types(String)
        /// Presses cancel.
        case cancels
        /// Kills the daemon, with the box still open.
        case killsDaemon

        fileprivate var line: String {
            switch self {
            case .types(let text): "type \(text)"
            case .cancels: "cancel"
            case .killsDaemon: "kill"
            }
        }
    }

    /// Shell commands that do what the person was told, or type the passcode, keep the recovery code and type
    /// it back.
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
            "GETPIN": """
            \(note)
            deed=
            if [ -s \(home)/deeds ]; then
                deed=$(head -n 1 \(home)/deeds)
                tail -n +2 \(home)/deeds > \(home)/deeds.rest
                mv \(home)/deeds.rest \(home)/deeds
            fi
            case "$deed" in
            cancel) echo 'ERR 83886179 Operation cancelled <Pinentry>' ;;
            kill) kill -KILL $PPID ;;
            *)
                case "$deed$prompt" in
                type*) typed=${deed#type } ;;
                *Recovery*) typed=$(cat \(home)/code) ;;
                *) typed='\(passcode)' ;;
                esac
                printf 'D %s\\n' "$typed"
                if [ -n "$repeated" ]; then echo 'S PIN_REPEATED'; fi
                echo OK ;;
            esac
            """,
        ]
    }
}
