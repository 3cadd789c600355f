import Glibc
import KeychainModel
import KeychainServer
import PeerSockets
import Testing
import TouchstoneTesting

@Suite("The listening socket")
struct ListenerTests {
    private struct Place {
        private let directory: TemporaryDirectory

        init() throws { directory = try TemporaryDirectory() }

        var path: String { directory.path }

        var layout: Layout {
            Layout(
                runtimeDirectory: path + "/run",
                dataDirectory: path + "/data",
                configurationFile: path + "/conf"
            )
        }
    }

    private static func mode(of path: String) -> UInt32 {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_mode & 0o777 : 0
    }

    private func code(_ layout: Layout) -> ServerError.Code? {
        do throws(ServerError) {
            _ = try Listener(at: layout)
            return nil
        } catch {
            return error.code
        }
    }

    @Test("the socket and its directory are accessible only to their user")
    func modes() async throws {
        let place = try Place()
        let listener = try Listener(at: place.layout)
        #expect(Self.mode(of: place.layout.runtimeDirectory) == 0o700)
        #expect(Self.mode(of: place.layout.socket) & 0o077 == 0)
        #expect(Listener.isAnswering(at: place.layout))
        _ = consume listener
        // A program that another test is starting holds all descriptors of this process until it executes.
        try await Deadline.wait(for: "the end of whoever answers") {
            Listener.isAnswering(at: place.layout) ? nil : true
        }
    }

    @Test("only one daemon listens, and the next one may after it has ended")
    func single() throws {
        let place = try Place()
        let first = try Listener(at: place.layout)
        #expect(code(place.layout) == .alreadyRunning)
        _ = consume first
        // The first one's socket file still exists and does not matter.
        #expect(code(place.layout) == nil)
    }

    @Test("a directory accessible to others is refused", arguments: [0o777, 0o750, 0o701] as [UInt32])
    func openDirectory(mode: UInt32) throws {
        let place = try Place()
        mkdir(place.layout.runtimeDirectory, 0o700)
        chmod(place.layout.runtimeDirectory, mode)
        #expect(code(place.layout) == .unsafePath)
    }

    @Test("a symbolic link in place of the directory is refused")
    func linkedDirectory() throws {
        let place = try Place()
        mkdir(place.path + "/other", 0o700)
        symlink(place.path + "/other", place.layout.runtimeDirectory)
        #expect(code(place.layout) == .unsafePath)
    }

    @Test("a lock file that is a link, a FIFO or has a second name is refused")
    func strangeLock() throws {
        let place = try Place()
        mkdir(place.layout.runtimeDirectory, 0o700)
        symlink(place.path + "/elsewhere", place.layout.lockFile)
        #expect(code(place.layout) == .unsafePath)
        unlink(place.layout.lockFile)
        mkfifo(place.layout.lockFile, 0o600)
        #expect(code(place.layout) == .unsafePath)
        unlink(place.layout.lockFile)
        close(open(place.path + "/elsewhere", O_CREAT | O_WRONLY, 0o600))
        link(place.path + "/elsewhere", place.layout.lockFile)
        #expect(code(place.layout) == .unsafePath)
    }

    @Test("a path longer than the kernel allows is refused")
    func longPath() throws {
        let long = "/tmp/" + String(repeating: "x", count: 120)
        let layout = Layout(runtimeDirectory: long, dataDirectory: long, configurationFile: long)
        #expect(code(layout) == .pathTooLong)
    }

    @Test("clients connect to the socket path until the server stops")
    func serves() async throws {
        let place = try Place()
        let server = try TestServer()
        try server.server.start(try Listener(at: place.layout))
        let client = try TestClient(try UnixSocket.connect(to: place.layout.socket))
        try await client.hello()
        await server.server.stop(grace: Deadline.patience)
        #expect(try await client.isClosed())
        #expect(access(place.layout.socket, F_OK) != 0)
    }

    @Test("a failing listening socket does not keep the processor busy")
    func failingSocket() async throws {
        let place = try Place()
        let listening = try UnixSocket.listen(at: place.path + "/socket", backlog: 8)
        let server = try TestServer { $0.connectionsPerUser = 0 }
        try server.server.start(try Listener(adopting: listening, layout: place.layout))
        // A refused client reveals the accepting thread.
        let client = try TestClient(try UnixSocket.connect(to: place.path + "/socket"))
        #expect(try await client.isClosed())
        let clock = try #require(server.audit.clockOfThread)
        let before = Self.seconds(clock)
        #expect(shutdown(listening, CInt(SHUT_RDWR)) == 0)
        try await Task.sleep(for: .seconds(1))
        #expect(Self.seconds(clock) - before < 0.05)
        await server.server.stop(grace: Deadline.patience)
    }

    private static func seconds(_ clock: clockid_t) -> Double {
        var time = timespec()
        clock_gettime(clock, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
