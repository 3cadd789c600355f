package import Foundation
internal import Synchronization

/// A PostgreSQL server for the tests, on a socket in a temporary directory; it ends with the test process at the latest.
///
/// PostgreSQL refuses to run as root; under root it runs as `postgres`, the account that its package creates.
package final class PostgreSQLCluster: Sendable {
    package struct Failure: Error, CustomStringConvertible { package let description: String }

    /// Shared by all tests that do not break it.
    package static let shared = Task { try PostgreSQLCluster() }

    package let directory: URL
    private let settings: [String]
    private let running = Mutex<(Process, Pipe)?>(nil)

    package init(_ settings: [String] = ["fsync=off", "max_connections=200"]) throws {
        // `Scripts/run-tests` deletes the directory; the name is short because a socket's path is limited.
        directory = FileManager.default.temporaryDirectory
            .appending(path: "ts-pg-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        if geteuid() == 0 {
            try Self.run(["/usr/bin/chown", "postgres", directory.path])
        }
        try Self.run(
            Self.unprivileged + [
                "\(try Self.programs())/initdb", "--pgdata=\(directory.path)/data", "--auth=trust",
                "--username=touchstone", "--encoding=UTF8", "--no-locale", "--no-sync",
            ]
        )
        self.settings = settings
        try startAgain()
    }

    /// Starts the server, which must not be running.
    package func startAgain() throws {
        let server =
            Self.unprivileged + [
                "\(try Self.programs())/postgres", "-D", "\(directory.path)/data", "-k", directory.path,
                "-c", "listen_addresses=",
            ] + settings.flatMap { ["-c", $0] }
        let process = Process()
        let lifeline = Pipe()
        process.executableURL = URL(filePath: "/bin/sh")
        // The shell kills the server when its standard input closes, however this process ended.
        process.arguments =
            [
                "-c", #"umask 077; "$@" </dev/null >>"$0" 2>&1 & cat >/dev/null; kill -QUIT $!; wait $!"#,
                directory.appending(path: "server.log").path,
            ] + server
        process.standardInput = lifeline
        process.standardError = FileHandle.nullDevice
        try process.run()
        running.withLock { $0 = (process, lifeline) }
        try waitUntilReady(process)
    }

    /// Sends the server a signal, and waits until it and its child processes have exited.
    package func endServer(_ signal: CInt) throws {
        let processes = try allProcesses()
        kill(processes[0], signal)
        for process in processes { while !Self.isOver(process) { poll(nil, 0, 10) } }
        stopShell()
        // SIGKILL leaves it behind.
        try? FileManager.default.removeItem(at: directory.appending(path: "data/postmaster.pid"))
    }

    /// Stops the server in order, as `pg_ctl stop` does.
    package func stopServer() throws {
        try endServer(SIGINT)
    }

    deinit { stop() }

    static let unprivileged =
        geteuid() == 0
        ? ["/usr/bin/setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "--"] : []

    private static func programs() throws -> String {
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib/postgresql")) ?? []
        guard let version = versions.compactMap({ Int($0) }).max() else {
            throw Failure(description: "no PostgreSQL: Scripts/test-server installs it")
        }
        return "/usr/lib/postgresql/\(version)/bin"
    }

    @discardableResult
    private static func run(_ command: [String]) throws -> String {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(filePath: command[0])
        process.arguments = Array(command.dropFirst())
        process.standardOutput = output
        process.standardError = output
        process.currentDirectoryURL = URL(filePath: "/tmp")
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failure(description: "\(command): \(text)") }
        return text
    }

    /// The server's process ID, from `postmaster.pid`.
    package func serverProcess() throws -> pid_t {
        let text = try String(contentsOf: directory.appending(path: "data/postmaster.pid"), encoding: .utf8)
        guard let pid = text.split(separator: "\n").first.flatMap({ pid_t($0) }) else {
            throw Failure(description: "no process in postmaster.pid")
        }
        return pid
    }

    /// The server's process and its children.
    package func allProcesses() throws -> [pid_t] {
        let server = try serverProcess()
        let children = try? String(
            contentsOfFile: "/proc/\(server)/task/\(server)/children",
            encoding: .utf8
        )
        return [server] + (children ?? "").split(separator: " ").compactMap { pid_t($0) }
    }

    private func waitUntilReady(_ process: Process) throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while true {
            do {
                try psql("SELECT 1", in: "postgres")
                return
            } catch {
                guard ContinuousClock.now < deadline, process.isRunning else {
                    let log = try? String(
                        contentsOf: directory.appending(path: "server.log"),
                        encoding: .utf8
                    )
                    throw Failure(description: "\(error)\n\(log ?? "")")
                }
                poll(nil, 0, 50)
            }
        }
    }

    @discardableResult
    package func psql(_ command: String, in database: String) throws -> String {
        try psql(command, in: database, through: directory)
    }

    /// Runs a command through the sockets of a directory: the server's, or a pooler's.
    @discardableResult
    func psql(_ command: String, in database: String, through directory: URL) throws -> String {
        try Self.run([
            "\(try Self.programs())/psql", "-h", directory.path, "-U", "touchstone", "-d", database, "-At",
            "-q",
            "-v", "ON_ERROR_STOP=1", "-c", command,
        ]).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Makes an empty database with a new name.
    package func makeName() throws -> String {
        let name = "t" + UUID().uuidString.lowercased().replacing("-", with: "").prefix(12)
        try psql("CREATE DATABASE \(name)", in: "postgres")
        return String(name)
    }

    /// Sets the number of the next transaction, in units of 2^32; the server must not be running.
    package func setEpoch(_ epoch: Int) throws {
        try Self.run(
            Self.unprivileged + [
                "\(try Self.programs())/pg_resetwal", "--epoch=\(epoch)", "\(directory.path)/data",
            ]
        )
    }

    /// The address of a database for the server's setting.
    package func address(of name: String) -> String {
        let host = directory.path.replacing("/", with: "%2F")
        return "postgresql://touchstone@/\(name)?host=\(host)"
    }

    /// Whether a process has exited or is a zombie.
    private static func isOver(_ process: pid_t) -> Bool {
        guard let state = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8) else {
            return true
        }
        return state.split(separator: ")").last?.hasPrefix(" Z") ?? true
    }

    private func stopShell() {
        guard let (process, lifeline) = running.withLock({ $0 }) else { return }
        try? lifeline.fileHandleForWriting.close()
        process.waitUntilExit()
        running.withLock { $0 = nil }
    }

    package func stop() {
        stopShell()
        try? FileManager.default.removeItem(at: directory)
    }
}
