import CLinux
import Glibc
import KeychainModel

/// A child process of this one, for as long as it is needed.
struct ChildProgram: ~Copyable {
    let processID: pid_t

    /// Starts a program by its path.
    ///
    /// It gets the arguments, its own name first, and the given variables in addition to this process's.
    /// - Throws: ``CommandError`` with status 126 if it cannot be executed.
    init(
        _ path: String,
        _ arguments: [String],
        variables: [String] = [],
        input: CInt = -1,
        output: CInt = -1,
        errors: CInt = -1
    ) throws(CommandError) {
        var argv: [UnsafeMutablePointer<CChar>?] = unsafe arguments.map { unsafe strdup($0) } + [nil]
        let added: [UnsafeMutablePointer<CChar>?] = unsafe variables.map { unsafe strdup($0) }
        defer { unsafe (argv + added).forEach { unsafe free($0) } }
        var envp = unsafe Environment.entries(without: variables.map { String($0.prefix { $0 != "=" }) })
        unsafe envp += added + [nil]
        processID = unsafe clinux_start(path, &argv, &envp, input, output, errors)
        guard processID > 0 else { throw Executable.notExecutable(path, errno) }
    }

    /// What a program writes to standard output, found as the shell finds it; its errors are dropped.
    ///
    /// - Throws: ``CommandError`` if it cannot be executed, fails, or writes more than `limit` bytes.
    static func output(
        of program: String,
        _ arguments: [String],
        upTo limit: Int
    ) throws(CommandError) -> [UInt8] {
        let path = try Executable(program).path
        let null = unsafe open("/dev/null", O_RDWR | O_CLOEXEC)
        defer { close(null) }
        var pipe = try Pipe()
        let child = try ChildProgram(
            path,
            [program] + arguments,
            input: null,
            output: pipe.writeEnd,
            errors: null
        )
        pipe.closeWriteEnd()
        var output: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 1 << 14)
        while output.count <= limit {
            let count = SystemCall.uninterrupted { unsafe read(pipe.readEnd, &part, part.count) }
            guard count > 0 else { break }
            output += part[..<count]
        }
        // It ends also if there is more.
        pipe.closeReadEnd()
        guard child.wait() == 0, output.count <= limit else {
            throw CommandError("\(program) failed", exitCode: .failed)
        }
        return output
    }

    /// Waits for its exit and returns its exit status; 128 plus the signal's number if a signal ended it.
    consuming func wait() -> CInt {
        var status: CInt = 0
        _ = SystemCall.uninterrupted { unsafe waitpid(processID, &status, 0) }
        return Self.exitStatus(of: status)
    }

    /// The exit status that a shell reports for a status of waitpid(2): the program's own, or 128 plus the number of the signal
    /// that ended it.
    static func exitStatus(of status: CInt) -> CInt {
        let signal = status & 0x7F
        return signal == 0 ? (status >> 8) & 0xFF : 128 + signal
    }
}

/// The variables of this process as raw bytes: they need not be valid text.
enum Environment {
    /// All entries except those of the named variables.
    @unsafe
    static func entries(without names: [String]) -> [UnsafeMutablePointer<CChar>?] {
        let replaced = names.map { $0 + "=" }
        var entries: [UnsafeMutablePointer<CChar>?] = unsafe []
        var next = unsafe environ
        while let entry = unsafe next.pointee {
            let isReplaced = replaced.contains { unsafe strncmp(entry, $0, $0.utf8.count) == 0 }
            if !isReplaced { unsafe entries.append(entry) }
            unsafe next += 1
        }
        return unsafe entries
    }

    /// A variable's value for finding the keychain's places; nil if it is missing, and in a program that runs with more privileges
    /// than its caller (secure_getenv(3)).
    static func secureValue(_ name: String) -> String? {
        unsafe clinux_secure_getenv(name).map { unsafe String(cString: $0) }
    }

    /// The value of a variable; nil if it is missing or empty.
    static func value(_ name: String) -> String? {
        let text = unsafe getenv(name).map { unsafe String(cString: $0) } ?? ""
        return text.isEmpty ? nil : text
    }
}
