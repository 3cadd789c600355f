import Glibc
import KeychainModel
import TouchstoneTesting

extension Programs {
    /// Whether the daemon has been built.
    static var isBuilt: Bool {
        access(touchstoned, X_OK) == 0 && access(installedTouchstoned, X_OK) == 0
    }

    static let setpriv = "/usr/bin/setpriv"

    /// Whether tests can run processes as other users.
    static var canChangeUser: Bool { geteuid() == 0 && access(setpriv, X_OK) == 0 }
}

/// A private home directory for a daemon, removed at deinit.
final class DaemonHome {
    let directory: TemporaryDirectory
    let layout: Layout

    /// Creates a home with these lines of configuration, besides those that disable the machine's own
    /// hardware and services.
    ///
    /// Nil omits those lines too, which only the daemon for tests accepts.
    init(_ configuration: [String]? = [], mode: UInt32 = 0o700) throws {
        directory = try TemporaryDirectory(mode: mode)
        let path = directory.path
        guard let layout = Layout(variable: { $0 == "TOUCHSTONE_HOME" ? path : nil }) else {
            throw TestFailure.unexpected("no layout")
        }
        self.layout = layout
        let usual = [
            "test.system-bus-address = unix:path=\(path)/no-bus",
            "test.scrypt-log2-rounds = 10",
        ]
        guard let configuration else { return }
        _ = try directory.write(
            (usual + configuration).joined(separator: "\n") + "\n",
            to: "touchstoned.conf"
        )
    }

    var environment: [String: String] { ["TOUCHSTONE_HOME": directory.path, "HOME": directory.path] }

    /// A client of the daemon here after its hello.
    func client() async throws -> TestClient { try await TestClient.greeted(at: layout.socket) }

    /// Changes the owner of all files.
    func give(to user: UInt32) {
        for path in [directory.path, layout.configurationFile] { chown(path, user, user) }
    }
}

extension TestClient {
    /// A client of the daemon at a socket after its hello, which a busy machine may delay beyond what the daemon allows; it is
    /// repeated then.
    static func greeted(at socket: String) async throws -> TestClient {
        try await Deadline.wait(for: "a hello in time") {
            let client = try TestClient(UnixSocket.connect(to: socket))
            do {
                try await client.hello()
                return client
            } catch TestFailure.closed {
                return nil
            }
        }
    }
}

/// A daemon in the foreground, killed at deinit.
final class RunningDaemon {
    let home: DaemonHome
    let process: ChildProcess
    /// The daemon's standard error.
    var log: String { (try? String(contentsOf: home.directory.appending("log"))) ?? "" }

    init(
        _ home: DaemonHome,
        through wrapper: [String] = [],
        program: String = Programs.touchstoned,
        environment: [String: String] = [:]
    ) async throws {
        self.home = home
        let command = wrapper + [program, "--foreground"]
        let log = home.directory.appending("log")
        process = try await ChildProcess.start(
            command[0],
            Array(command.dropFirst()),
            environment: home.environment.merging(environment) { $1 },
            log: log
        )
        let process = process
        try await Deadline.wait(for: "the daemon's socket") {
            if Self.canConnect(to: home.layout.socket) { return true }
            guard process.isRunning else {
                throw TestFailure.unexpected("the daemon ended: \((try? String(contentsOf: log)) ?? "")")
            }
            return nil
        }
    }

    deinit { process.stop() }

    /// A client after its hello.
    func client() async throws -> TestClient { try await home.client() }

    /// A client before its hello.
    func connect() throws -> TestClient { try TestClient(UnixSocket.connect(to: home.layout.socket)) }

    static func canConnect(to path: String) -> Bool {
        guard let descriptor = try? UnixSocket.connect(to: path) else { return false }
        close(descriptor)
        return true
    }
}

extension String {
    /// The text of a file.
    init(contentsOf path: String) throws {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw TestFailure.system(errno) }
        defer { close(descriptor) }
        var octets: [UInt8] = []
        var room = [UInt8](repeating: 0, count: 1 << 16)
        while case let count = read(descriptor, &room, room.count), count > 0 { octets += room[..<count] }
        self.init(decoding: octets, as: UTF8.self)
    }
}
