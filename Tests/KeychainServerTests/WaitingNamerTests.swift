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
    private let looks = Guarded(0)
    private let name: String?
    private let pause: UInt32

    /// Finds this name after so many microseconds.
    init(_ name: String?, pause: UInt32 = 0) {
        self.name = name
        self.pause = pause
    }

    var count: Int { looks.withLock { $0 } }
    var waits: Bool { true }

    func look(at process: ClientProcess) -> ProgramLook {
        looks.withLock { $0 += 1 }
        usleep(pause)
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
        let namer = WaitingNamer(nil, pause: 500_000)
        let server = try TestServer(namer: namer)
        let clients = try (1...20).map { _ in try server.connect() }
        let begin = ContinuousClock.now
        for client in clients { try await client.hello() }
        // One after the other it would take ten seconds at least.
        #expect(ContinuousClock.now - begin < .seconds(8))
        for client in clients { _ = try await client.call(.copyItems, CopyItems.passwords()) }
        #expect(await groups(server).allSatisfy { $0 == ["unknown"] })
        #expect(namer.count == 20)
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
