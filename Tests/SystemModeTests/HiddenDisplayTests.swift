import Glibc
import Testing
import TouchstoneTesting

/// An agent on a display whose name a program of alice's leads to a server that nobody sees.
@Suite(
    "A hidden display in system mode with the name of the user's",
    .serialized,
    .enabled(if: FingerScene.isPossible, Comment(rawValue: FingerScene.needs)),
    .enabled(if: TerminalPerson.getsGroup, "a set-gid program gets no group here: no-new-privileges")
)
struct HiddenDisplayTests {
    /// How the name of an X display leads to another server.
    enum Attack: CaseIterable, Sendable {
        /// The abstract address of a server that listens at a path alone.
        case abstractAddress
        /// Another server's socket, renamed.
        case renamedSocket
        /// A socket bound at the path.
        case boundPath
        /// A symbolic link to another server's socket.
        case link
    }

    /// A seen server and a hidden one, and the way from the one's name to the other.
    private final class Servers {
        let (seen, hidden): (XServer, XServer)
        private let kept: String
        private var relay: DisplayRelay?

        init() async throws {
            (seen, hidden) = (try await XServer(.pathAlone), try await XServer(.pathAlone))
            kept = seen.path + ".kept"
        }

        func lead(by attack: Attack) async throws {
            if attack != .abstractAddress { rename(seen.path, kept) }
            switch attack {
            case .abstractAddress: relay = try await DisplayRelay(at: "@" + seen.path, to: hidden.path)
            case .renamedSocket: rename(hidden.path, seen.path)
            case .boundPath: relay = try await DisplayRelay(at: seen.path, to: hidden.path)
            case .link: symlink(hidden.path, seen.path)
            }
        }

        func leadBack(from attack: Attack) {
            relay = nil
            guard attack != .abstractAddress else { return }
            if attack == .renamedSocket { rename(seen.path, hidden.path) } else { unlink(seen.path) }
            rename(kept, seen.path)
        }
    }

    @Test(
        "no touch counts on another server behind the display's name, before or after the passcode, and none is lost",
        .enabled(if: access(XServer.program, X_OK) == 0, "Xvfb is not installed")
    )
    func x() async throws {
        let servers = try await Servers()
        let alice = try await DisplayPerson(["DISPLAY": servers.seen.name])
        // The passcode is typed on the seen server, and the prompt for the touch is on the hidden one.
        try await alice.expectAskedAgain { try await servers.lead(by: .boundPath) }
        servers.leadBack(from: .boundPath)
        try await alice.read(40)
        #expect(try await alice.read(41) == ["CONFIRM"])
        for (number, attack) in Attack.allCases.enumerated() {
            try await servers.lead(by: attack)
            try await alice.expectPasscodeDue()
            // The passcode is typed on the hidden server, and the prompt for the touch is on yet another one.
            try await alice.expectAskedAgain {
                servers.leadBack(from: attack)
                try await servers.lead(by: .boundPath)
            }
            servers.leadBack(from: .boundPath)
            // The next prompt is expected where the last one was.
            try await alice.read(42 + 2 * number)
            #expect(try await alice.read(43 + 2 * number) == ["CONFIRM"])
        }
        #expect(try await alice.scene.count("biometryFailures") == 0)
        await alice.scene.sensor.bus.stop()
    }

    @Test(
        "no touch counts on another server behind the socket of a Wayland display",
        .enabled(if: access("/usr/bin/weston", X_OK) == 0, "weston is not installed")
    )
    func wayland() async throws {
        let directory = try TemporaryDirectory(mode: 0o711)
        let weston = try await ChildProcess.start(
            "/usr/bin/weston",
            ["--backend=headless-backend.so", "--socket=wayland-7", "--idle-time=0"],
            environment: ["XDG_RUNTIME_DIR": directory.path, "PATH": "/usr/bin:/bin", "HOME": directory.path]
        )
        defer { weston.stop() }
        let path = directory.appending("wayland-7")
        try await Deadline.wait(for: "weston's socket") { access(path, F_OK) == 0 ? true : nil }
        chmod(path, 0o777)
        let alice = try await DisplayPerson([
            "WAYLAND_DISPLAY": "wayland-7", "XDG_RUNTIME_DIR": directory.path,
        ])
        func lead() async throws -> DisplayRelay {
            rename(path, path + ".kept")
            return try await DisplayRelay(at: path, to: path + ".kept")
        }
        func leadBack() {
            unlink(path)
            rename(path + ".kept", path)
        }
        // The passcode is typed on the seen server, and the prompt for the touch is on the hidden one.
        var relay: DisplayRelay?
        try await alice.expectAskedAgain { relay = try await lead() }
        leadBack()
        try await alice.read(40)
        #expect(try await alice.read(41) == ["CONFIRM"])
        relay = try await lead()
        try await alice.expectPasscodeDue()
        leadBack()
        try await alice.read(42)
        #expect(try await alice.read(43) == ["CONFIRM"])
        #expect(try await alice.scene.count("biometryFailures") == 0)
        await alice.scene.sensor.bus.stop()
        withExtendedLifetime(relay) {}
    }
}
