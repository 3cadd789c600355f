import Desk
import Foundation
import Glibc
import KeychainModel
import KeychainServer
import SecretMemory
import Testing
import TouchstoneTesting

/// A namer that asks another process, as the broker's does.
private final class WaitingNamer: ProgramNamer {
    private struct State {
        var looks = 0
        var isHeld: Bool
    }

    private let state: Guarded<State>
    private let name: String?

    /// Finds this name, where it is held only once it is released.
    init(_ name: String?, isHeld: Bool = false) {
        self.name = name
        state = Guarded(State(isHeld: isHeld))
    }

    var count: Int { state.withLock { $0.looks } }
    var waits: Bool { true }

    func release() { state.withLock { $0.isHeld = false } }

    func look(at process: ClientProcess) -> ProgramLook {
        state.withLock { $0.looks += 1 }
        // On the client's own thread, as the daemon has it.
        while state.withLock({ $0.isHeld }) { usleep(1000) }
        return ProgramLook(processStart: 7, program: name.map { RunningProgram(path: $0, isStill: { true }) })
    }
}

@Suite("Naming that waits for another process")
struct WaitingNamerTests {
    private func groups(_ server: TestServer) async -> [[String]] {
        await server.vault.calls.compactMap {
            guard case .copy(_, let groups, _, _) = $0 else { return nil }
            return groups.map(\.name)
        }
    }

    @Test("is done once a connection: no request costs a question")
    func once() async throws {
        let namer = WaitingNamer("/usr/bin/named")
        let server = try TestServer(namer: namer)
        let client = try await server.greetedClient()
        for _ in 1...50 { _ = try await client.call(.copyItems, CopyItems.passwords()) }
        #expect(namer.count == 1)
        #expect(await groups(server) == Array(repeating: ["/usr/bin/named"], count: 50))
        let next = try await server.greetedClient()
        _ = try await next.call(.copyItems, CopyItems.passwords())
        #expect(namer.count == 2)
    }

    @Test("holds nobody else up, and who cannot be named is served as an unknown program")
    func slow() async throws {
        let namer = WaitingNamer(nil, isHeld: true)
        defer { namer.release() }
        let server = try TestServer(namer: namer)
        let clients = try (1...8).map { _ in try server.connect() }
        // All at once: none of them has its answer yet.
        try await Deadline.wait(for: "eight looks") { namer.count == 8 ? true : nil }
        namer.release()
        for client in clients { try await client.hello() }
        for client in clients { _ = try await client.call(.copyItems, CopyItems.passwords()) }
        #expect(await groups(server) == Array(repeating: ["unknown"], count: 8))
        #expect(namer.count == 8)
    }

    @Test(
        "the command that came with a daemon is known by the daemon's place",
        arguments: [
            ("/usr/libexec/touchstone/touchstoned", "/usr/bin/touchstone"),
            ("/usr/local/libexec/touchstone/touchstoned", "/usr/local/bin/touchstone"),
            ("/opt/build/touchstoned", "/opt/build/touchstone"),
        ]
    )
    func installedCommand(daemon: String, command: String) async throws {
        let isPackaged = daemon.contains("libexec")
        for (program, own) in [
            (command, isPackaged ? ["touchstone", command] : ["touchstone"]),
            // A file of that name anywhere else is a program like any other.
            ("/usr/libexec/touchstone/touchstone", ["/usr/libexec/touchstone/touchstone"]),
            ("/home/alice/touchstone", ["/home/alice/touchstone"]),
        ] {
            let server = try TestServer(
                identity: ClientIdentity(ofDaemon: daemon),
                namer: WaitingNamer(program)
            )
            let client = try await server.greetedClient()
            _ = try await client.call(.copyItems, CopyItems.passwords())
            #expect(await groups(server).first.map(Set.init) == Set(own), "\(program)")
        }
    }
}
