import Glibc
import SecretMemory

/// What this process becomes: a program, its arguments and its environment, secrets among it.
///
/// execve(2) copies the strings into the new program and drops this process's memory, the locked pages with it.
/// Signals, terminal, and exit status are the program's own from then on, because nobody stands in between.
struct ProcessImage: ~Copyable {
    /// The longest string of an environment: `MAX_ARG_STRLEN` of Linux's binfmts.h, less its NUL.
    static let longestEntry = 32 * 4096 - 1

    private let executable: Executable
    private let argumentCount: Int
    /// `VARIABLE=secret` and a NUL, one after the other.
    private var secrets = SecretBuffer(minimumCapacity: 4096)
    private var offsets: [(variable: String, offset: Int)] = []

    /// Plans to become a program, whose arguments, its own name among them, are the last ones of this process.
    init(_ executable: Executable, argumentCount: Int) {
        self.executable = executable
        self.argumentCount = argumentCount
    }

    /// Gives the program a variable whose value is a secret.
    mutating func setVariable(_ binding: EnvironmentBinding, to secret: borrowing SecretBytes)
        throws(CommandError)
    {
        let holdsNUL = secret.withOctets { octets in octets.indices.contains { octets[$0] == 0 } }
        guard !holdsNUL else {
            throw CommandError(
                "'\(binding.name.text)' holds a NUL octet, which no environment variable can",
                hint: "read it with touchstone get"
            )
        }
        guard binding.variable.utf8.count + 1 + secret.count <= Self.longestEntry else {
            throw CommandError(
                "'\(binding.name.text)' is too long for an environment variable",
                hint: "read it with touchstone get"
            )
        }
        offsets.append((binding.variable, secrets.count))
        for octet in binding.variable.utf8 { secrets.append(octet) }
        secrets.append(UInt8(ascii: "="))
        secret.withOctets { secrets.append(contentsOf: $0) }
        secrets.append(0)
    }

    /// Becomes the program; returns only with the reason why not.
    consuming func become() -> CommandError {
        let path = executable.path
        // As they came: arguments and variables need not be text.
        let first = Int(CommandLine.argc) - argumentCount
        var argv = unsafe (first...Int(CommandLine.argc)).map { unsafe CommandLine.unsafeArgv[$0] }
        var envp = unsafe inheritedVariables()
        return unsafe secrets.withUnsafeBytes { octets in
            for (_, offset) in offsets {
                let entry = unsafe octets.baseAddress.map { unsafe $0 + offset }
                unsafe envp.append(UnsafeMutablePointer(mutating: entry?.assumingMemoryBound(to: CChar.self)))
            }
            unsafe envp.append(nil)
            unsafe execve(path, &argv, &envp)
            return Executable.notExecutable(path, errno)
        }
    }

    /// This process's variables, but those that are to hold a secret.
    private borrowing func inheritedVariables() -> [UnsafeMutablePointer<CChar>?] {
        let replaced = offsets.map { $0.variable + "=" }
        var entries: [UnsafeMutablePointer<CChar>?] = unsafe []
        var next = unsafe environ
        while let entry = unsafe next.pointee {
            let isReplaced = replaced.contains { unsafe strncmp(entry, $0, $0.utf8.count) == 0 }
            if !isReplaced { unsafe entries.append(entry) }
            unsafe next += 1
        }
        return unsafe entries
    }
}
