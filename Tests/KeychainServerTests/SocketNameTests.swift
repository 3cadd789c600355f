import Glibc
import KeychainModel
import KeychainServer
import PeerSockets
import Testing
import TouchstoneTesting

@Suite("The socket's path")
struct SocketNameTests {
    private func losses(_ server: TestServer) -> [AuditEvent] {
        server.audit.events.filter { $0.kind == .tamperDetected }
    }

    @Test(
        "a moved, removed or replaced socket is audited once, and other files are ignored",
        arguments: ["moved", "removed", "exchanged"]
    )
    func lost(how: String) async throws {
        let directory = try TemporaryDirectory()
        let layout = Layout(
            runtimeDirectory: directory.path + "/run",
            dataDirectory: directory.path + "/data",
            configurationFile: directory.path + "/conf"
        )
        let server = try TestServer { $0.refusalPause = .zero }
        try server.server.start(try Listener(at: layout))
        let other = layout.runtimeDirectory + "/other"
        close(open(other, O_CREAT | O_WRONLY, 0o600))
        unlink(other)
        #expect(Listener.isAnswering(at: layout))
        #expect(losses(server).isEmpty)

        switch how {
        case "moved": #expect(rename(layout.socket, other) == 0)
        case "removed": #expect(unlink(layout.socket) == 0)
        default:
            close(open(other, O_CREAT | O_WRONLY, 0o600))
            #expect(rename(other, layout.socket) == 0)
        }
        try await Deadline.wait(for: "the event") { losses(server).isEmpty ? nil : true }
        // Still lost: no further event.
        close(open(layout.runtimeDirectory + "/more", O_CREAT | O_WRONLY, 0o600))
        try await Task.sleep(for: .milliseconds(200))
        #expect(losses(server).count == 1)
        if how == "moved" {
            // Restored and lost again, repeatedly until the server notices it in between.
            try await Deadline.wait(for: "the second event") {
                guard rename(other, layout.socket) == 0, Listener.isAnswering(at: layout) else {
                    throw TestFailure.system(errno)
                }
                try await Task.sleep(for: .milliseconds(300))
                guard rename(layout.socket, other) == 0 else { throw TestFailure.system(errno) }
                try await Task.sleep(for: .milliseconds(100))
                return losses(server).count >= 2 ? true : nil
            }
        }
        await server.server.stop()
    }

    @Test("the daemon's own removal of the socket is not audited")
    func end() async throws {
        let directory = try TemporaryDirectory()
        let layout = Layout(
            runtimeDirectory: directory.path + "/run",
            dataDirectory: directory.path + "/data",
            configurationFile: directory.path + "/conf"
        )
        let server = try TestServer()
        try server.server.start(try Listener(at: layout))
        await server.server.stop()
        #expect(access(layout.socket, F_OK) != 0)
        #expect(losses(server).isEmpty)
    }
}
