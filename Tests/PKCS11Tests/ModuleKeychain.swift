import Foundation
import Glibc
import ScriptedDaemon
import TouchstoneTesting

/// A keychain with two keys, `work` under the passcode and `free` without a rule, for programs that load the module.
struct ModuleKeychain {
    /// The module as it is installed.
    static let module = Programs.directory + "/libtouchstone-pkcs11.so"
    /// The program that calls the module as it is told.
    static let caller = Programs.directory + "/module-caller"
    /// Whether module, caller, command and daemon have been built.
    static var isPossible: Bool {
        RealKeychain.isPossible && access(module, R_OK) == 0 && Programs.isBuilt(caller)
    }

    let keychain: RealKeychain
    /// Where the programs that are run keep their files.
    let directory: TemporaryDirectory

    init(settings: [String] = []) async throws {
        directory = try TemporaryDirectory()
        keychain = try await RealKeychain.ready(settings: settings, variables: ["HOME": directory.path])
        try await makeKey("work", "--require", "passcode")
        try await makeKey("free", "--require", "none")
    }

    /// Makes a key, and returns its public key as ssh writes it.
    @discardableResult
    func makeKey(_ arguments: String...) async throws -> String {
        let made = try await keychain.run(all: ["key", "create"] + arguments)
        guard made.status == 0 else { throw TestKitError.unexpected(made.errors) }
        return made.text.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Writes a key's public key as PEM, and returns the file.
    func publicKey(_ name: String) async throws -> String {
        let file = directory.appending("\(name).pem")
        try await keychain.run("key", "show", name, "--format", "pem").text
            .write(toFile: file, atomically: true, encoding: .utf8)
        return file
    }

    /// A run of a program, at a terminal of its own.
    func command(_ program: String, _ arguments: [String]) throws -> CommandRun {
        var run = CommandRun(arguments: arguments, home: keychain.home)
        run.program = program
        run.terminal = try PseudoTerminal()
        run.environment = ["HOME": directory.path, "SSH_ASKPASS": "/bin/true"]
        return run
    }

    /// Runs a program to its end.
    func run(_ program: String, _ arguments: String...) async throws -> CommandResult {
        try await command(program, arguments).run()
    }

    /// Has the module called, and returns the lines that say how it answered.
    func call(_ arguments: String...) async throws -> [String] {
        let result = try await command(Self.caller, [Self.module] + arguments).run()
        guard result.status == 0 else {
            throw TestKitError.unexpected(
                "\(String(describing: result.signal)) \(result.text) \(result.errors)"
            )
        }
        return result.text.split(separator: "\n").map(String.init)
    }

    /// Has the module called while a box is shown, with what happens once it is; the caller then reads a line.
    func call(_ arguments: String..., whenShown: () async throws -> Void) async throws -> [String] {
        let before = keychain.prompts
        var run = try command(Self.caller, [Self.module] + arguments)
        run.input = .terminal
        let started = try run.start()
        let prompts = { keychain.prompts }
        try await Deadline.wait(for: "a box") { prompts() > before ? true : nil }
        try await whenShown()
        run.terminal?.type("\n")
        return await started.result().text.split(separator: "\n").map(String.init)
    }

    /// Queues what the person does at the next boxes.
    func tellPerson(_ deeds: ScriptedPinentry.Deed...) throws {
        try ScriptedPinentry.tell(deeds, home: keychain.home.path)
    }
}

/// The results that tests name (PKCS #11 2.40), in hexadecimal as the caller writes them.
enum Code {
    static let ok = "0"
    static let hostMemory = "2"
    static let functionFailed = "6"
    static let argumentsBad = "7"
    static let attributeSensitive = "11"
    static let attributeValueInvalid = "13"
    static let actionProhibited = "1b"
    static let dataLengthRange = "21"
    static let deviceError = "30"
    static let functionNotSupported = "54"
    static let keyHandleInvalid = "60"
    static let mechanismParameterInvalid = "71"
    static let objectHandleInvalid = "82"
    static let operationActive = "90"
    static let operationNotInitialized = "91"
    static let sessionCount = "b1"
    static let sessionHandleInvalid = "b3"
    static let templateInconsistent = "d1"
    static let tokenNotPresent = "e0"
    static let tokenWriteProtected = "e2"
    static let bufferTooSmall = "150"
    static let notInitialized = "190"
    static let alreadyInitialized = "191"
    static let functionRejected = "200"
}
