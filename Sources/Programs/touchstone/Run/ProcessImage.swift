import CLinux
import Glibc
import SecretMemory

/// A program to execute, with its arguments and its environment, which may contain secrets.
///
/// execve(2) copies the strings into the new program. If the program replaces this process, this process's memory is
/// released, including the locked pages, and signals, terminal and exit status are the program's from then on.
struct ProcessImage: ~Copyable {
    /// The longest environment string: `MAX_ARG_STRLEN` of Linux's binfmts.h, less its NUL.
    static let longestEntry = 32 * 4096 - 1

    private let executable: Executable
    /// The program's arguments, its name first; nil for the last `argumentCount` arguments of this process.
    private let arguments: [String]?
    private let argumentCount: Int
    /// The `VARIABLE=value` strings, NUL-terminated, one after the other.
    private var entries: SecretBuffer
    private var offsets: [(variable: String, offset: Int)] = []

    /// Prepares a program whose arguments, its name included, are the last `argumentCount` of this process.
    init(_ executable: Executable, argumentCount: Int) throws(CommandError) {
        entries = try CommandMemory.buffer(4096)
        self.executable = executable
        self.argumentCount = argumentCount
        arguments = nil
    }

    /// Prepares a program with the given arguments, its name first.
    init(_ executable: Executable, arguments: [String]) throws(CommandError) {
        entries = try CommandMemory.buffer(4096)
        self.executable = executable
        self.arguments = arguments
        argumentCount = arguments.count
    }

    /// Sets a variable in the program's environment; its value may contain secrets.
    mutating func setVariable(
        _ variable: String,
        to value: SecretTemplate,
        _ secrets: ReleasedSecrets
    ) throws(CommandError) {
        for reference in value.secrets {
            let holdsNUL = secrets.withSecret(reference) { secret in
                secret.withOctets { octets in octets.indices.contains { octets[$0] == 0 } }
            }
            guard !holdsNUL else {
                throw CommandError(
                    "'\(reference.name.text)' holds a NUL byte, which no environment variable can",
                    hint: "read it with touchstone get"
                )
            }
        }
        let start = entries.count
        for octet in variable.utf8 { entries.append(octet) }
        entries.append(UInt8(ascii: "="))
        value.render(secrets, to: &entries)
        if let refusal = entries.refusal { throw CommandError(refusal) }
        guard entries.count - start <= Self.longestEntry else {
            let subject = value.secrets.first.map { "'\($0.name.text)'" } ?? "the value of '\(variable)'"
            throw CommandError(
                "\(subject) is too long for an environment variable",
                hint: "read it with touchstone get"
            )
        }
        entries.append(0)
        if let refusal = entries.refusal { throw CommandError(refusal) }
        offsets.append((variable, start))
    }

    /// Replaces this process with the program; returns only on failure, with the reason.
    consuming func become() -> CommandError {
        let path = executable.path
        unsafe withStrings { argv, envp in unsafe _ = execve(path, argv, envp) }
        return Executable.notExecutable(path, errno)
    }

    /// Starts the program as a child process; with -1 it inherits this process's stream.
    ///
    /// - Returns: its process ID.
    /// - Throws: ``CommandError`` with status 126 if it cannot be executed.
    borrowing func start(output: CInt, errors: CInt) throws(CommandError) -> pid_t {
        let path = executable.path
        var processID: pid_t = -1
        unsafe withStrings { argv, envp in
            processID = unsafe clinux_start(path, argv, envp, -1, output, errors)
        }
        guard processID > 0 else { throw Executable.notExecutable(path, errno) }
        return processID
    }

    /// Starts the program in its own session, led by a ``SessionLeader``.
    ///
    /// - Returns: its process ID, which is also its process group ID.
    /// - Throws: ``CommandError`` with status 126 if it cannot be executed.
    borrowing func start(in session: clinux_session) throws(CommandError) -> pid_t {
        let path = executable.path
        var session = session
        var processID: pid_t = -1
        let names = unsafe [strdup("touchstone"), strdup(SessionLeader.argument), nil]
        defer { unsafe names.forEach { unsafe free($0) } }
        unsafe withStrings { argv, envp in
            processID = unsafe clinux_start_session(path, argv, envp, &session, names)
        }
        guard processID > 0 else { throw Executable.notExecutable(path, errno) }
        return processID
    }

    private borrowing func withStrings(
        _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>, UnsafePointer<UnsafeMutablePointer<CChar>?>) ->
            Void
    ) {
        let own = unsafe arguments?.map { unsafe strdup($0) }
        defer { unsafe own?.forEach { unsafe free($0) } }
        // Passed on unchanged: arguments and variables need not be valid text.
        let first = Int(CommandLine.argc) - argumentCount
        let argv =
            unsafe own.map { unsafe $0 + [nil] }
            ?? (first...Int(CommandLine.argc)).map { unsafe CommandLine.unsafeArgv[$0] }
        var envp = unsafe Environment.entries(without: offsets.map(\.variable))
        unsafe entries.withUnsafeBytes { octets in
            for (_, offset) in offsets {
                let entry = unsafe octets.baseAddress.map { unsafe $0 + offset }
                unsafe envp.append(UnsafeMutablePointer(mutating: entry?.assumingMemoryBound(to: CChar.self)))
            }
            unsafe envp.append(nil)
            unsafe argv.withUnsafeBufferPointer { argv in
                unsafe envp.withUnsafeBufferPointer { envp in
                    guard let argv = argv.baseAddress, let envp = envp.baseAddress else { return }
                    unsafe body(argv, envp)
                }
            }
        }
    }
}
