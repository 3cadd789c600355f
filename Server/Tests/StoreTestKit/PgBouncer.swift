internal import Foundation

/// A PgBouncer before a PostgreSQL server, with its socket in a directory of its own; it ends with the test process at the
/// latest.
package final class PgBouncer: Sendable {
    /// When a client gives its connection to the server back.
    package enum Mode: String, Sendable, CaseIterable {
        case session, transaction
    }

    private let directory: URL
    private let process: Process
    private let lifeline: Pipe

    /// Starts it, with at most `size` connections to a database.
    package init(_ cluster: PostgreSQLCluster, _ mode: Mode, size: Int) throws {
        directory = cluster.directory.deletingLastPathComponent()
            .appending(path: "ts-pb-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: directory.path)
        let settings = """
            [databases]
            * = host=\(cluster.directory.path) user=touchstone
            [pgbouncer]
            listen_addr =
            listen_port = 5432
            unix_socket_dir = \(directory.path)
            auth_type = any
            pool_mode = \(mode.rawValue)
            default_pool_size = \(size)
            max_client_conn = 200

            """
        let file = directory.appending(path: "pgbouncer.ini")
        try Data(settings.utf8).write(to: file)
        process = Process()
        lifeline = Pipe()
        process.executableURL = URL(filePath: "/bin/sh")
        // The shell ends it when its standard input closes, however this process ended.
        process.arguments =
            [
                "-c", #""$@" </dev/null >>"$0" 2>&1 & cat >/dev/null; kill -KILL $!; wait $!"#,
                directory.appending(path: "pooler.log").path,
            ] + PostgreSQLCluster.unprivileged + ["/usr/sbin/pgbouncer", file.path]
        process.standardInput = lifeline
        try process.run()
        let deadline = ContinuousClock.now + .seconds(60)
        while true {
            do {
                try cluster.psql("SELECT 1", in: "postgres", through: directory)
                return
            } catch {
                guard ContinuousClock.now < deadline, process.isRunning else {
                    let log = try? String(
                        contentsOf: directory.appending(path: "pooler.log"),
                        encoding: .utf8
                    )
                    throw PostgreSQLCluster.Failure(description: "\(error)\n\(log ?? "")")
                }
                poll(nil, 0, 20)
            }
        }
    }

    /// The connection string of a database.
    package func conninfo(_ database: String) -> String {
        "host=\(directory.path) user=touchstone dbname=\(database)"
    }

    package func stop() {
        try? lifeline.fileHandleForWriting.close()
        process.waitUntilExit()
        try? FileManager.default.removeItem(at: directory)
    }
}
