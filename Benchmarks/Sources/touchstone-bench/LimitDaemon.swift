import Glibc
import TouchstoneTesting

/// A running limit daemon with its own database.
struct LimitDaemon {
    private let directory: TemporaryDirectory
    private let process: ChildProcess
    /// The path of its socket.
    let socket: String

    /// Starts the daemon.
    static func start(_ program: String) async throws -> LimitDaemon {
        let directory = try TemporaryDirectory()
        let socket = directory.appending("socket")
        let process = try await ChildProcess.start(
            program,
            [socket, directory.appending("items.sqlite")],
            log: directory.appending("log")
        )
        try await Deadline.wait(for: "the limit daemon") { try? LimitClient(path: socket) }
        return LimitDaemon(directory: directory, process: process, socket: socket)
    }

    /// Its process ID.
    var processID: Int32 { process.processID }

    /// Opens a connection to it.
    func connect() throws -> LimitClient { try LimitClient(path: socket) }

    /// Adds numbered rows.
    func fill(_ numbers: Range<Int>) throws {
        let client = try connect()
        for number in numbers { try client.call(.add, number, value: BenchItem.secret) }
    }

    /// Stops the daemon.
    func stop() { process.stop() }
}
