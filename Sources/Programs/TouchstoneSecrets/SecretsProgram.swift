import CLinux
import Glibc
import KeychainClient
import KeychainModel
import SecretMemory
import Threads

/// The main program of the Secret Service's door: hardens itself, takes the name on the session bus, and serves until it is told to
/// end.
///
/// Where it is set-gid, the daemon recognises it by the group of its peer, which no other program of the user has: nothing inherited
/// from its caller may influence it but the bus and the display.
package enum SecretsProgram {
    /// Runs the door and ends the process.
    package static func main() -> Never {
        let environment = SecretsEnvironment.read()
        do throws(SecretsFailure) {
            switch try SecretsOptions(CommandLine.arguments.dropFirst()) {
            case .tell(let text): print(text, terminator: "")
            case .owner:
                let address = try environment.address()
                run { () throws(SecretsFailure) in try await NameOwner().tell(on: address) }
            case .leases:
                let address = try environment.address()
                run { () throws(SecretsFailure) in try await NameOwner().tellLeases(on: address) }
            case .endLease(let number):
                let address = try environment.address()
                run { () throws(SecretsFailure) in try await NameOwner().endLeases(number, on: address) }
            case .refresh:
                let address = try environment.address()
                run { () throws(SecretsFailure) in try await NameOwner().refresh(on: address) }
            case .takeOver(let isDryRun):
                let address = try environment.address()
                guard ProcessHardening.begin() else { throw .unprotected }
                run { () throws(SecretsFailure) in
                    var copy = KeyringImport(into: environment.keychain, isDryRun: isDryRun)
                    try await copy.run(address)
                }
            case .serve(let replaces): try serve(replaces, environment)
            }
        } catch {
            error.tell()
            exit(error.status)
        }
        exit(0)
    }

    private static func serve(
        _ replaces: Bool,
        _ environment: SecretsEnvironment
    ) throws(SecretsFailure) -> Never {
        guard ProcessHardening.begin(), clinux_keep_standard_descriptors() == 0 else { throw .unprotected }
        clinux_process_allow_descriptors(4096)
        // Before the second thread: clients' threads share what others freed, which halves the memory (MemoryRelease).
        clinux_heap_share()
        _ = unsafe chdir("/")
        unsafe clinux_process_begin_signals([SIGPIPE], 1)
        // Before the first thread starts: signals are read here alone.
        let held = [SIGTERM, SIGINT, SIGHUP]
        let signals = unsafe clinux_hold_signals(held, held.count)
        guard signals >= 0 else { throw .unprotected }
        let address = try environment.address()
        let door = SecretsDoor(
            keychain: environment.keychain,
            place: environment.place
        )
        let watch = ProgramWatch()
        let failure = BlockingThread.start {
            if watch.waitUntilReplaced(orReadable: signals) {
                ErrorStream.write(
                    "the program's file was replaced or removed; the next call starts what is there\n"
                )
            }
            Task.detached { await door.stop() }
        }
        guard failure == 0 else { throw .unprotected }
        run { () throws(SecretsFailure) in
            try await door.start(address, replaces: replaces)
            try await door.wait()
        }
    }

    /// Ends the process with the end of `body`.
    private static func run(_ body: @escaping @Sendable () async throws(SecretsFailure) -> Void) -> Never {
        Task.detached {
            do throws(SecretsFailure) {
                try await body()
                exit(0)
            } catch {
                error.tell()
                exit(error.status)
            }
        }
        while true { pause() }
    }
}

/// What the door takes from its environment.
struct SecretsEnvironment {
    /// The address of the session bus; nil for none.
    private let busAddress: String?
    /// Where a box is shown for a program without a display or terminal of its own.
    let place: PromptOrigin
    /// The keychain that it serves.
    let keychain: RemoteKeychain

    private static let longestValue = 4096

    /// The address of the session bus.
    ///
    /// - Throws: ``SecretsFailure`` if there is none.
    func address() throws(SecretsFailure) -> String {
        guard let busAddress else { throw .noBus(nil, nil) }
        return busAddress
    }

    /// Reads the variables.
    static func read() -> SecretsEnvironment {
        let runtime = variable("XDG_RUNTIME_DIR") ?? "/run/user/\(ProcessUser.uid)"
        let inRuntime = "\(runtime)/bus"
        return SecretsEnvironment(
            busAddress: variable("DBUS_SESSION_BUS_ADDRESS")
                ?? (unsafe access(inRuntime, F_OK) == 0 ? "unix:path=\(inRuntime)" : nil),
            place: PromptOrigin(terminal: nil, variable: variable),
            keychain: keychain()
        )
    }

    /// The keychain of the user.
    ///
    /// A set-gid program sees no variable by secure_getenv(3), and in per-user mode would not know where the user's own daemon is. There
    /// it reads them all the same: whoever chooses them is the user, whose daemon it is. System mode is found without any.
    private static func keychain() -> RemoteKeychain {
        guard clinux_is_secure(), RemoteKeychain.systemLayout() == nil else { return RemoteKeychain() }
        return RemoteKeychain(layout: Layout(variable: { $0 == "TOUCHSTONE_HOME" ? nil : variable($0) }))
    }

    private static func variable(_ name: String) -> String? {
        guard let text = unsafe getenv(name), let value = unsafe String(validatingCString: text),
            !value.isEmpty, value.utf8.count <= longestValue
        else { return nil }
        return value
    }
}

/// The parsed command line.
enum SecretsOptions: Equatable {
    /// Serve; whether the name is taken from another program that allows it.
    case serve(replaces: Bool)
    /// Copy the secrets of the keyring that has the name; a dry run only tells which.
    case takeOver(isDryRun: Bool)
    /// Tell which process has the name.
    case owner
    /// Tell which gestures count now.
    case leases
    /// End the gesture of this number; 0 for all.
    case endLease(UInt64)
    /// Have the program that has the name read the rules anew.
    case refresh
    /// Tell this text on standard output.
    case tell(String)

    private static let usage =
        "touchstone-secrets [--replace | --owner | --leases | --end-lease NUMBER | --refresh | --import [--dry-run]]"
    private static let help = """
        Serves the keychain as org.freedesktop.secrets, to programs that use libsecret or the Secret Service in another way.

        Started by the session bus when a program asks for that name. See touchstone secrets --help.

        Usage: \(usage)

          --replace      take the name from a program that allows it
          --import       copy the secrets of the program that has the name; --dry-run only tells which
          --owner        write the number and the name of the process that has the name, if one has
          --leases       write which gestures count now: number, process, program, seconds, reads, label
          --end-lease    end the gesture of a number, or all for 0, and write how many there were
          --refresh      have the program that has the name read the rules anew
          -V, --version  show the version
          -h, --help     show this

        """

    init(_ arguments: some Collection<String>) throws(SecretsFailure) {
        switch Array(arguments) {
        case []: self = .serve(replaces: false)
        case ["--replace"]: self = .serve(replaces: true)
        case ["--import"]: self = .takeOver(isDryRun: false)
        case ["--import", "--dry-run"]: self = .takeOver(isDryRun: true)
        case ["--owner"]: self = .owner
        case ["--leases"]: self = .leases
        case ["--refresh"]: self = .refresh
        case let words where words.count == 2 && words[0] == "--end-lease" && UInt64(words[1]) != nil:
            self = .endLease(UInt64(words[1]) ?? 0)
        case ["--version"], ["-V"]: self = .tell(ProductVersion.text + "\n")
        case ["--help"], ["-h"]: self = .tell(Self.help)
        default:
            throw SecretsFailure(message: "the arguments are not understood", hint: Self.usage, status: 64)
        }
    }
}
