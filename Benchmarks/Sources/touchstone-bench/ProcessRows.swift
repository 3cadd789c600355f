import Glibc
import TouchstoneTesting

/// Whole processes: `touchstone get` from start to exit, compared to other commands that print a secret.
enum ProcessRows {
    /// Runs the command repeatedly.
    ///
    /// - Parameters:
    ///   - programs: the command.
    ///   - stage: the keychain it uses.
    ///   - scale: the number of runs.
    ///   - table: receives the rows.
    /// - Returns: our median.
    /// - Throws: ``BenchError`` when it fails.
    static func measure(
        _ programs: Programs,
        _ stage: Stage,
        _ scale: Scale,
        into table: inout Table
    ) throws -> Nanoseconds {
        let secret = stage.keychain.appending("secret")
        let file = unsafe open(secret, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw BenchError("\(secret): errno \(errno)") }
        _ = unsafe write(file, BenchItem.secret, BenchItem.secret.count)
        close(file)
        let environment = stage.keychain.environment
        let set = CommandRun(
            path: programs.command,
            arguments: ["set", "measured", "--require", "none"],
            environment: environment,
            input: secret
        )
        try set.run()
        let get = CommandRun(
            path: programs.command,
            arguments: ["get", "measured"],
            environment: environment
        )
        let median = try get.median(of: scale.processes)
        table.add(Row("touchstone get, whole process", ours: Figure(median), atMost: .milliseconds(5)))
        // The system's cost for any process.
        let nothing = CommandRun(path: "/bin/true", arguments: [], environment: environment)
        table.add(Row("/bin/true, whole process", ours: Figure(try nothing.median(of: scale.processes))))
        return median
    }

    /// systemd-creds with a host key; `Scripts/benchmark` gives it a temporary directory for that key.
    static func measureCredentials(_ ours: Nanoseconds, _ scale: Scale, into table: inout Table) throws {
        let name = "touchstone get beside systemd-creds decrypt"
        let program = "/usr/bin/systemd-creds"
        guard unsafe access(program, X_OK) == 0 else {
            return table.add(Row(name, notMeasured: "systemd-creds is missing"))
        }
        guard unsafe access("/var/lib/systemd", W_OK) == 0 else {
            return table.add(Row(name, notMeasured: "the host's credential key is for root only"))
        }
        let directory = try TemporaryDirectory()
        let plain = try directory.write("correct horse battery staple, ok", to: "measured")
        let sealed = directory.appending("measured.cred")
        let environment = ["PATH": "/usr/bin:/bin"]
        try CommandRun(
            path: program,
            arguments: ["--with-key=host", "encrypt", plain, sealed],
            environment: environment
        ).run()
        let decrypt = CommandRun(
            path: program,
            arguments: ["--name=measured.cred", "decrypt", sealed, "-"],
            environment: environment
        )
        let median = try decrypt.median(of: scale.processes)
        table.add(Row(name, ours: Figure(ours), "systemd-creds", Figure(median), .atMost(1)))
    }
}
