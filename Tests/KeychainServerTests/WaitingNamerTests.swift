import Desk
import Foundation
import Glibc
import KeychainModel
import KeychainServer
import SecretMemory
import Testing
import TouchstoneTesting

/// A namer that waits for another process, as the broker's does.
private final class WaitingNamer: ProgramNamer {
    private struct State {
        var looks = 0
        var isHeld: Bool
    }

    private let state: Guarded<State>
    private let name: String?

    /// Always finds this name; if held, only after its release.
    init(_ name: String?, isHeld: Bool = false) {
        self.name = name
        state = Guarded(State(isHeld: isHeld))
    }

    var count: Int { state.withLock { $0.looks } }
    var waits: Bool { true }

    func release() { state.withLock { $0.isHeld = false } }

    func look(at process: ClientProcess) -> ProgramLook {
        state.withLock { $0.looks += 1 }
        // On the client's own thread, as in the daemon.
        while state.withLock({ $0.isHeld }) { usleep(1000) }
        return ProgramLook(
            processStart: 7,
            program: name.map { RunningProgram(ProgramFile(path: $0, inode: 1), isStill: { true }) }
        )
    }
}

/// A namer whose other process is unavailable until `isBack`.
private final class AbsentNamer: ProgramNamer {
    let isBack = Guarded(false)
    var waits: Bool { true }

    func look(at process: ClientProcess) -> ProgramLook {
        guard isBack.withLock({ $0 }) else {
            return ProgramLook(fault: DriverCause(.brokerAway, detail: "test"))
        }
        return ProgramLook(
            processStart: 7,
            program: RunningProgram(ProgramFile(path: "/usr/bin/named", inode: 1), isStill: { true })
        )
    }
}

@Suite("A namer that waits for another process")
struct WaitingNamerTests {
    private func groups(_ server: TestServer) async -> [[String]] {
        server.vault.calls.compactMap {
            guard case .copy(_, let groups, _, _) = $0 else { return nil }
            return groups.map(\.name)
        }
    }

    @Test("a client is named once per connection, not per request")
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

    @Test("a slow namer does not delay other clients, and an unnamed client is an unknown program")
    func slow() async throws {
        let namer = WaitingNamer(nil, isHeld: true)
        defer { namer.release() }
        let server = try TestServer(namer: namer)
        let clients = try (1...8).map { _ in try server.connect() }
        // All at the same time: none has its answer yet.
        try await Deadline.wait(for: "eight looks") { namer.count == 8 ? true : nil }
        namer.release()
        for client in clients { try await client.hello() }
        for client in clients { _ = try await client.call(.copyItems, CopyItems.passwords()) }
        #expect(await groups(server) == Array(repeating: ["unknown"], count: 8))
        #expect(namer.count == 8)
    }

    @Test("without a namer, requests that need a name are refused with the cause, and others are served")
    func untold() async throws {
        let namer = AbsentNamer()
        let server = try TestServer(namer: namer)
        let client = try await server.greetedClient()
        let query = ItemQuery.passwords()
        let prompt = PromptFields(interactionAllowed: false)
        let control = try AccessControl(accessibility: .whenUnlocked, flags: [])
        var replies: [TestReply] = []
        for context: UInt64? in [nil, 7] {
            replies.append(try await client.call(.copyItems, CopyItems.passwords(context: context)))
            let all = CopyItems.passwords(context: context, limit: .all)
            replies.append(try await client.call(.copyItems, all))
        }
        replies.append(try await client.call(.deleteItems, DeleteItems(query: query, prompt: prompt)))
        replies.append(
            try await client.call(.makeKey, MakeKey(accessControl: control, context: nil, prompt: prompt))
        )
        replies.append(try await client.call(.listApps, EmptyBody()))
        for reply in replies {
            #expect(reply.error?.status == .notAvailable && reply.error?.remedy == .check)
            #expect(reply.error?.cause == DriverCause(.brokerAway, detail: "test"))
        }
        // No request reached the items, and each kind of request is logged with the cause.
        #expect(server.vault.calls.isEmpty)
        let told = server.audit.events.filter { $0.kind == .requestFailed }.map(\.detail)
        #expect(told.count == 4 && told.allSatisfy { $0.contains("broker away: test") }, "\(told)")
        #expect(try await client.call(.lock, EmptyBody()).status == .success)
        #expect(try await client.call(.canEvaluatePolicy, CanEvaluatePolicy(policy: 1)).status == .success)
    }

    @Test("a client that connected without a namer stays unnamed on that connection; later ones are named")
    func late() async throws {
        let namer = AbsentNamer()
        let server = try TestServer(namer: namer)
        let client = try await server.greetedClient()
        // Sent before and after the namer is back.
        let first = try await client.call(.copyItems, CopyItems.passwords())
        namer.isBack.withLock { $0 = true }
        let second = try await client.call(.copyItems, CopyItems.passwords())
        #expect(first.error?.cause?.known == .brokerAway && second.error?.cause?.known == .brokerAway)
        #expect(await groups(server).isEmpty)
        let next = try await server.greetedClient()
        _ = try await next.call(.copyItems, CopyItems.passwords())
        #expect(await groups(server) == [["/usr/bin/named"]])
    }

    @Test(
        "the daemon's own command is determined by the daemon's path",
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
            // A file of that name anywhere else is an ordinary program.
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
