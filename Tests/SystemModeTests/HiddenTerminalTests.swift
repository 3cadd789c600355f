import Glibc
import SecretMemory
import Testing
import TouchstoneTesting

/// A terminal that nobody sees, in another devpts instance, with the number and the device number of the terminal where
/// alice typed her passcode; an agent draws on either.
@Suite(
    "A hidden terminal in system mode with the number of the user's",
    .serialized,
    .enabled(if: FingerScene.isPossible, Comment(rawValue: FingerScene.needs)),
    .enabled(if: SecondInstance.isPossible, "this machine lets no test mount"),
    .enabled(if: TerminalPerson.getsGroup, "a set-gid program gets no group here: no-new-privileges")
)
struct HiddenTerminalTests {
    /// A terminal of a second instance, which is mounted over `/dev/pts` for the sessions on it.
    private final class HiddenTerminal: Sendable {
        private let instance: SecondInstance
        private let primary: CInt
        private let path: String
        private let drawn = Guarded<[UInt8]>([])

        /// The instance must be mounted before the machine starts, whose namespace has a copy of all mounts.
        init(_ instance: SecondInstance, like terminal: PseudoTerminal, of user: SystemModeMachine.Account)
            throws
        {
            self.instance = instance
            (path, primary) = try instance.terminal(like: terminal)
            guard chown(path, user.uid, user.uid) == 0 else {
                throw TestKitError.system("chown", errno: errno)
            }
        }

        /// Starts a session of root's with this controlling terminal; in it `AS` stands for a user, and `THERE` for that user
        /// with this terminal's instance at `/dev/pts`.
        ///
        /// A program that runs there has no secrets: the daemon does not know the files of another namespace.
        func start(_ script: String, on machine: SystemModeMachine, as user: SystemModeMachine.Account)
            async throws -> ChildProcess
        {
            let credentials = "--reuid=\(user.uid) --regid=\(user.uid) --clear-groups --pdeathsig=KILL"
            let there = "unshare --mount sh -c 'mount --bind \(instance.path) /dev/pts && exec \"$@\"' sh"
            let whole = script.replacing("THERE", with: "\(there) AS").replacing(
                "AS",
                with: "setpriv \(credentials) --"
            )
            return try await machine.start(
                ["/bin/sh", "-c", "exec 0<>\(path) 1>&0 2>&0; \(whole)"],
                as: .root,
                environment: [
                    "TERM": "xterm", "PATH": "\(SystemModeMachine.programs):/usr/bin:/bin",
                    "HOME": machine.home(of: user),
                ],
                log: machine.directory.appending("hidden.log")
            )
        }

        /// What was drawn so far, without white space.
        var text: String {
            var room = [UInt8](repeating: 0, count: 4096)
            while case let count = read(primary, &room, room.count), count > 0 {
                drawn.withLock { $0 += room[..<count] }
            }
            let octets = drawn.withLock { $0 }.filter { $0 > 0x20 }
            return String(decoding: octets, as: UTF8.self)
        }

        /// Waits for the first of several texts without white space.
        func wait(forAnyOf texts: [String]) async throws -> String {
            do {
                return try await Deadline.wait(for: "one of \(texts)") {
                    let text = text
                    return texts.first { text.contains($0) }
                }
            } catch { throw TestKitError.unexpected("\(error): \(text)") }
        }
    }

    /// What is drawn on alice's terminal, without white space.
    private func drawn(_ scene: FingerScene) -> String {
        scene.alice.terminal.text.filter { !$0.isWhitespace }
    }

    @Test("a request from it, with its own agent, needs the passcode")
    func ownAgent() async throws {
        let instance = try SecondInstance()
        let scene = try await FingerScene()
        let (alice, sensor) = (scene.alice, scene.sensor)
        try await scene.touchAlone(40)
        try await alice.terminal.wait(for: "ready>")
        let before = drawn(scene)
        let hidden = try HiddenTerminal(instance, like: alice.terminal, of: .alice)
        let session = try await hidden.start(
            // What the agent writes to a pipe once it has registered starts the request.
            "THERE \(SystemModeMachine.agent) --terminal | { read line; AS touchstone get finger --show; echo \"ended with $?\"; }",
            on: scene.machine,
            as: .alice
        )
        defer { session.stop() }
        let found = try await hidden.wait(forAnyOf: ["Passcode:", "endedwith", "Cancel"])
        #expect(found == "Passcode:", "\(hidden.text)")
        #expect(try await !sensor.isArmed(within: .milliseconds(700)))
        #expect(!hidden.text.contains("releasedby"))
        #expect(drawn(scene) == before)
        // Prompts are shown one at a time.
        session.stop()
        try await alice.expectNoAgent()
        try await scene.touchAlone(41)
        await sensor.bus.stop()
    }

    @Test("its agent draws nothing for a request from the user's terminal")
    func strangersAgent() async throws {
        let instance = try SecondInstance()
        let scene = try await FingerScene()
        let (alice, sensor) = (scene.alice, scene.sensor)
        let hidden = try HiddenTerminal(instance, like: alice.terminal, of: .alice)
        let session = try await hidden.start(
            "THERE \(SystemModeMachine.agent) --terminal | cat",
            on: scene.machine,
            as: .alice
        )
        defer { session.stop() }
        // What it writes to a pipe once it has registered.
        _ = try await hidden.wait(forAnyOf: ["ready"])
        // In the foreground of its own terminal, and so in the background of the hidden one.
        let reading = try await alice.start("get finger --show")
        #expect(try await alice.end(of: reading) == 8, "\(alice.terminal.text)")
        #expect(try await !sensor.isArmed(within: .zero))
        #expect(!alice.terminal.text.contains("released by"))
        #expect(hidden.text == "ready")
        session.stop()
        try await alice.expectNoAgent()
        try await scene.touchAlone(41)
        await sensor.bus.stop()
    }

    @Test("a request from it is not drawn over the user's window by the window's agent")
    func windowsAgent() async throws {
        let instance = try SecondInstance()
        let scene = try await FingerScene()
        let (alice, sensor) = (scene.alice, scene.sensor)
        try await alice.expectNoAgent()
        alice.terminal.skip()
        alice.terminal.press(.text("\(SystemModeMachine.agent) --terminal | sed s/^/it\\ is\\ /"), .enter)
        // What it writes to a pipe once it has registered.
        try await alice.terminal.wait(for: "it is ready")
        let agent = try #require(alice.agents.first)
        let before = drawn(scene)
        let hidden = try HiddenTerminal(instance, like: alice.terminal, of: .alice)
        let session = try await hidden.start(
            "AS touchstone get finger --show; echo \"ended with $?\"; sleep 600",
            on: scene.machine,
            as: .alice
        )
        defer { session.stop() }
        let found = try await hidden.wait(forAnyOf: ["endedwith", "Passcode:", "Cancel"])
        #expect(found == "endedwith" && hidden.text.contains("endedwith8"), "\(hidden.text)")
        #expect(try await !sensor.isArmed(within: .milliseconds(700)))
        #expect(drawn(scene) == before)
        kill(agent, SIGTERM)
        try await alice.expectNoAgent()
        await sensor.bus.stop()
    }
}
