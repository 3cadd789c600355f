import Foundation
import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting

@testable import PinentryDriver

/// The channel of a prompt that is shown, and removed at once.
private func channel(_ prompter: PinentryPrompter, at origin: PromptOrigin) async throws -> PromptChannel? {
    let shown = Guarded<(count: Int, channel: PromptChannel?)>((0, nil))
    let asking = Task {
        try await Answer(prompter, .unlock(timeout: .seconds(60)), at: origin) { channel in
            shown.withLock { $0 = ($0.count + 1, channel) }
        }
    }
    try await Deadline.wait(for: "a prompt") { shown.withLock { $0.count > 0 } ? true : nil }
    asking.cancel()
    _ = await asking.result
    return shown.withLock { $0.channel }
}

@Suite(
    "The server behind a display",
    .enabled(if: Windows.arePossible, "Xvfb, xdotool, pinentry-gtk2 or pinentry-qt is not installed"),
    .serialized
)
struct DisplayServerTests {
    @Test(
        "is a channel, the same for each prompt, that is expected after the first check",
        arguments: Windows.programs
    )
    func same(program: String) async throws {
        for sockets in XServer.Sockets.allCases {
            let server = try await XServer(sockets)
            let prompter = PinentryPrompter(program)
            let origin = PromptOrigin(display: server.name)
            let expected = try await prompter.checkCanPrompt(at: origin)
            #expect(expected.count == 1, "\(sockets)")
            for _ in 0..<2 {
                let shown = try await channel(prompter, at: origin)
                #expect(shown != nil && expected == [shown], "\(sockets)")
            }
            // Another program and another prompter find the same server.
            #expect(try await channel(PinentryPrompter(program), at: origin) == expected.first, "\(sockets)")
        }
    }

    /// How a program of the user leads a display's name to a hidden server.
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

    @Test(
        "is another channel once the display's name leads to another server, and the same when it leads back",
        arguments: Attack.allCases,
        CaseSize.of(Array(Windows.programs.prefix(1)), full: Windows.programs)
    )
    func hidden(attack: Attack, program: String) async throws {
        let (seen, hidden) = (try await XServer(.pathAlone), try await XServer(.pathAlone))
        let prompter = PinentryPrompter(program)
        let origin = PromptOrigin(display: seen.name)
        let before = try await channel(prompter, at: origin)
        #expect(before != nil)
        let kept = seen.path + ".kept"
        var relay: DisplayRelay?
        if attack != .abstractAddress { rename(seen.path, kept) }
        switch attack {
        case .abstractAddress: relay = try await DisplayRelay(at: "@" + seen.path, to: hidden.path)
        case .renamedSocket: rename(hidden.path, seen.path)
        case .boundPath: relay = try await DisplayRelay(at: seen.path, to: hidden.path)
        case .link: symlink(hidden.path, seen.path)
        }
        let other = try await channel(prompter, at: origin)
        #expect(other != before)
        // The person's own prompts go on where they were.
        relay = nil
        if attack != .abstractAddress {
            unlink(seen.path)
            rename(kept, seen.path)
        }
        try await Deadline.wait(for: "the first server") {
            try await channel(prompter, at: origin) == before ? true : nil
        }
        withExtendedLifetime((relay, hidden)) {}
    }

    @Test("has no channel on a connection to another machine, or when the program has none")
    func none() async throws {
        let place = PromptPlace(PromptOrigin(display: ":1", waylandDisplay: "wayland-1"))
        func of(_ connections: Set<ProgramConnection>?, gnome: Bool = false) -> PromptChannel? {
            let flavor = PinentryFlavor(name: gnome ? "gnome3" : "gtk2")
            return DisplayChannel.of(connections, at: place, flavor: flavor, runtimeDirectory: "/run/user/1")
        }
        let server = "17 of 1 started 5"
        let bus = ProgramConnection(address: "/run/user/1/bus", server: "16 of 1 started 4")
        #expect(of(nil) == nil && of([]) == nil && of([bus]) == nil)
        for address in ["@/tmp/.X11-unix/X1", "/tmp/.X11-unix/X1", "/run/user/1/wayland-1"] {
            let display = ProgramConnection(address: address, server: server)
            #expect(of([display]) != nil && of([display, bus]) != of([display]))
            #expect(of([display]) != of([ProgramConnection(address: address, server: "18 of 1 started 5")]))
        }
        #expect(of([ProgramConnection(address: "/tmp/.X11-unix/X2", server: server)]) == nil)
        #expect(of([bus], gnome: true) != nil)
        let missing = PinentryPrompter(Windows.programs[0])
        await #expect(throws: PromptError.self) {
            try await Answer(missing, .unlock(), at: PromptOrigin(display: ":999998"))
        }
    }
}

@Suite(
    "The server behind a Wayland display",
    .enabled(if: access("/usr/bin/weston", X_OK) == 0, "weston is not installed"),
    .serialized
)
struct WaylandServerTests {
    @Test("is another channel once the socket is another server's, and the same when it is back")
    func hidden() async throws {
        let directory = try TemporaryDirectory()
        chmod(directory.path, 0o700)
        let weston = try await ChildProcess.start(
            "/usr/bin/weston",
            ["--backend=headless-backend.so", "--socket=wayland-7", "--idle-time=0"],
            environment: ["XDG_RUNTIME_DIR": directory.path, "PATH": "/usr/bin:/bin", "HOME": directory.path]
        )
        defer { weston.stop() }
        let path = directory.appending("wayland-7")
        try await Deadline.wait(for: "weston's socket") { access(path, F_OK) == 0 ? true : nil }
        let scripted = try ScriptedPinentry(["GETPIN": "printf 'D a\\nOK\\n'"])
        for name in ["wayland-7", path] {
            let prompter = PinentryPrompter(
                program: .testing(scripted.path),
                environment: PinentryEnvironment(runtimeDirectory: directory.path)
            )
            let origin = PromptOrigin(waylandDisplay: name)
            let expected = try await prompter.checkCanPrompt(at: origin)
            let before = try await channel(prompter, at: origin)
            #expect(before != nil && expected == [before])
            rename(path, path + ".kept")
            let relay = try await DisplayRelay(at: path, to: path + ".kept")
            let other = try await channel(prompter, at: origin)
            #expect(other != nil && other != before)
            unlink(path)
            rename(path + ".kept", path)
            #expect(try await channel(prompter, at: origin) == before)
            withExtendedLifetime(relay) {}
        }
    }
}
