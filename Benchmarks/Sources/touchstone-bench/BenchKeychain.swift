import Foundation
import Glibc
import KeychainClient
import KeychainModel
import TouchstoneTesting

/// A private keychain with its daemon: temporary home, scripted prompt, a cheap key derivation.
final class BenchKeychain {
    /// N = 2^4: negligible, so that everything else is measured.
    static let scryptLog2Rounds = 4
    private static let passcode = "plum anvil otter quartz ribbon"

    let layout: Layout
    /// The prompt fields of a real client's requests.
    let prompt: PromptFields
    private let directory: TemporaryDirectory
    private let terminal: PseudoTerminal
    private let programs: Programs
    private var process: ChildProcess?

    /// Writes the configuration; starts nothing yet.
    init(_ programs: Programs, busAddress: String? = nil, tpm: String? = nil, settings more: String = "")
        throws
    {
        self.programs = programs
        directory = try TemporaryDirectory()
        terminal = try PseudoTerminal()
        let home = directory.path
        guard let layout = Layout(variable: { $0 == "TOUCHSTONE_HOME" ? home : nil }) else {
            throw BenchError("\(home) is no home")
        }
        self.layout = layout
        prompt = PromptFields(
            origin: PromptOrigin(terminal: terminal.name, terminalType: "xterm", characterType: "C.UTF-8"),
            reason: "measure"
        )
        // The scripted pinentry uses the files in its own directory.
        let pinentry = directory.appending("pinentry")
        try FileManager.default.copyItem(atPath: programs.pinentry, toPath: pinentry)
        _ = try directory.write(Self.passcode + "\n", to: "passcode")
        var settings = """
            idle-exit = 0
            test.scrypt-log2-rounds = \(Self.scryptLog2Rounds)
            test.pinentry-program = \(pinentry)

            """
        if let busAddress {
            settings += """
                test.system-bus-address = \(busAddress)
                test.bus-owner-uid = \(geteuid())
                test.template-directory = \(try directory.makeDirectory("templates"))

                """
        } else {
            settings += "biometry = off\n"
        }
        if let tpm { settings += "test.tpm = \(tpm)\n" }
        settings += more
        _ = try directory.write(settings, to: "touchstoned.conf")
    }

    /// The environment of a program that uses this keychain.
    var environment: [String: String] {
        ["TOUCHSTONE_HOME": directory.path, "HOME": directory.path, "PATH": "/usr/bin:/bin"]
    }

    /// Starts the daemon and waits for its first reply.
    ///
    /// - Parameters:
    ///   - program: the program that starts it, for example `strace`; nil for the daemon itself.
    ///   - arguments: the arguments before the daemon's path.
    /// - Returns: the time from its start to its first reply.
    /// - Throws: ``BenchError`` when it does not answer.
    @discardableResult
    func start(under program: String? = nil, _ arguments: [String] = []) async throws -> Nanoseconds {
        let begin = Stopwatch.now()
        let process = try await ChildProcess.start(
            program ?? programs.daemon,
            program == nil ? [] : arguments + [programs.daemon],
            environment: environment,
            log: directory.appending("daemon.log")
        )
        self.process = process
        let client = connect()
        while true {
            if (try? client.status()) != nil { return Stopwatch.now() - begin }
            guard process.isRunning, Stopwatch.now() - begin < 20_000_000_000 else {
                throw BenchError("touchstoned does not answer: \(lastLogLine)")
            }
            usleep(100)
        }
    }

    private var lastLogLine: String {
        let log = (try? TextFile.read(directory.appending("daemon.log"))) ?? ""
        return String(log.split(separator: "\n").last ?? "it said nothing")
    }

    /// Creates a client with its own connection.
    func connect() -> RemoteKeychain { RemoteKeychain(layout: layout, daemon: .none) }

    /// Starts the daemon and creates the keybag, which is then unlocked.
    func setUp() async throws {
        try await start()
        try connect().setUp(prompt)
    }

    /// Adds numbered items from several concurrent clients.
    func fill(_ numbers: Range<Int>, clients: Int) throws {
        let (layout, prompt) = (layout, prompt)
        _ = try Threads.run(clients) { client in
            let keychain = RemoteKeychain(layout: layout, daemon: .none)
            for number in stride(from: numbers.lowerBound + client, to: numbers.upperBound, by: clients) {
                _ = try keychain.add(BenchItem.add(number, prompt: prompt))
            }
        }
    }

    /// The time at which the scripted pinentry recorded an event: `answered` or `shown`.
    func noted(_ name: String) throws -> Nanoseconds {
        let text = try TextFile.read(directory.appending(name))
        guard let time = Nanoseconds(text.prefix { $0 != "\n" }) else { throw BenchError("no \(name)") }
        return time
    }

    /// The path of a file in the keychain's home.
    func appending(_ name: String) -> String { directory.appending(name) }

    /// The daemon's process ID.
    func daemonProcess() throws -> Int32 { Int32(try connect().status().daemonProcess) }

    /// Stops the daemon as its service manager would, and waits until it has exited.
    func stop() async throws {
        guard let process = process.take() else { return }
        if let daemon = try? daemonProcess() { kill(daemon, SIGTERM) }
        try await process.waitUntilEnd()
    }
}
