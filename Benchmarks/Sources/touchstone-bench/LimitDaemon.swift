import Glibc
import TouchstoneTesting

/// A running limit daemon with a database of its own.
struct LimitDaemon {
    private let directory: TemporaryDirectory
    private let process: ChildProcess
    /// Where it listens.
    let socket: String

    /// Starts it.
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

    /// Its process.
    var processID: Int32 { process.processID }

    /// A connection to it.
    func connect() throws -> LimitClient { try LimitClient(path: socket) }

    /// Adds rows, by number.
    func fill(_ numbers: Range<Int>) throws {
        let client = try connect()
        for number in numbers { try client.call(.add, number, value: BenchItem.secret) }
    }

    /// Ends it.
    func stop() { process.stop() }
}
