import Glibc
import Testing
import TouchstoneTesting

/// The agent of a desktop session, and daemons that end.
@Suite(
    "An agent on a display outlives its daemon",
    .enabled(if: FingerScene.isPossible, Comment(rawValue: FingerScene.needs)),
    .enabled(if: TerminalPerson.getsGroup, "a set-gid program gets no group here: no-new-privileges"),
    .enabled(if: access(XServer.program, X_OK) == 0, "Xvfb is not installed")
)
struct AgentRestartTests {
    @Test(
        "a daemon that is told to end, or is killed, has the same agent after its restart",
        arguments: [SIGTERM, SIGKILL]
    )
    func restart(_ signal: Int32) async throws {
        let server = try await XServer(.pathAlone)
        let alice = try await DisplayPerson(["DISPLAY": server.name])
        try await alice.read(40)
        alice.scene.daemon.process.stop(with: signal)
        let next = try await alice.scene.machine.startDaemon(for: .alice)
        // At once: the agent registers with the next daemon within a second or two, and the prompt waits for it.
        #expect(try await alice.read(41).first == "GETPIN")
        withExtendedLifetime(next) {}
    }
}
