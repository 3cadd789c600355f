import CBOR
import Desk
import KeychainModel
import KeychainServer
import Testing
import TouchstoneTesting

@Suite("Watching changes", .timeLimit(.minutes(5)))
struct WatchTests {
    /// The content of a change reply.
    private func changes(_ reply: TestReply) throws -> (isIncomplete: Bool, kinds: [UInt64]) {
        guard case .array(let fields)? = reply.body, fields.count == 2,
            case .bool(let isIncomplete) = fields[0], case .array(let list) = fields[1]
        else { throw TestFailure.closed }
        let kinds = stride(from: 0, to: list.count, by: 2).compactMap { index -> UInt64? in
            guard case .unsigned(let kind) = list[index] else { return nil }
            return kind
        }
        return (isIncomplete, kinds)
    }

    /// Starts to watch and reads the first reply.
    private func watch(_ client: TestClient) async throws -> UInt64 {
        let id = try await client.request(.watch, EmptyBody())
        let first = try await client.reply()
        #expect(first.head.id == id && first.head.more)
        #expect(try changes(first) == (false, []))
        return id
    }

    @Test("changes arrive in order at all watchers, and the end is a reply without more")
    func order() async throws {
        let server = try TestServer()
        let (one, other) = (try await server.greetedClient(), try await server.greetedClient())
        let id = try await watch(one)
        _ = try await watch(other)
        for kind in KeychainChange.Kind.allCases {
            // One after the other, because simultaneous changes share a reply.
            server.watchers.tell(kind)
            #expect(try changes(await one.reply()) == (false, [UInt64(kind.rawValue)]))
        }
        var heard: [UInt64] = []
        while heard.count < KeychainChange.Kind.allCases.count {
            heard += try changes(await other.reply()).kinds
        }
        #expect(heard == KeychainChange.Kind.allCases.map { UInt64($0.rawValue) })
        let cancel = try await one.request(.cancel, CancelRequest(id: id))
        let ends = [try await one.reply(), try await one.reply()]
        #expect(Set(ends.map(\.head.id)) == [id, cancel] && ends.allSatisfy { !$0.head.more })
        // The client can watch again, and gets no earlier changes.
        server.watchers.tell(.locked)
        _ = try await watch(one)
        await server.server.stop()
    }

    @Test("changes of items are told over the socket to a client that asks for them, and to no other")
    func items() async throws {
        let server = try TestServer()
        let (asking, other) = (try await server.greetedClient(), try await server.greetedClient())
        let writer = try await server.greetedClient()
        _ = try await asking.request(.watch, WatchRequest(tellsItems: true))
        #expect(try changes(await asking.reply()) == (false, []))
        _ = try await watch(other)
        let item = AddItem(
            itemClass: .genericPassword,
            attributes: [:],
            accessControl: AccessControl(accessibility: .whenUnlocked),
            data: nil,
            prompt: PromptFields()
        )
        #expect(try await writer.call(.addItem, item).status == .success)
        #expect(try changes(await asking.reply()).kinds == [UInt64(KeychainChange.Kind.items.rawValue)])
        server.watchers.tell(.locked)
        #expect(try changes(await other.reply()).kinds == [UInt64(KeychainChange.Kind.locked.rawValue)])
        await server.server.stop()
    }

    @Test("a connection watches once: a second request is refused, and the first continues")
    func once() async throws {
        let server = try TestServer()
        let client = try await server.greetedClient()
        let id = try await watch(client)
        #expect(try await client.call(.watch, EmptyBody()).status == .badReq)
        server.watchers.tell(.unlocked)
        let reply = try await client.reply()
        #expect(reply.head.id == id)
        #expect(try changes(reply).kinds == [UInt64(KeychainChange.Kind.unlocked.rawValue)])
        await server.server.stop()
    }

    @Test("a client that does not read delays nobody, and is told once that it missed changes")
    func slow() async throws {
        let server = try TestServer()
        let slow = try await server.greetedClient()
        let other = try await server.greetedClient()
        _ = try await watch(slow)
        let flood = 200_000
        for round in 0..<flood {
            server.watchers.tell(.locked)
            // Lets the connection's own thread send some changes until the socket is full.
            if round % 1000 == 0 { #expect(try await other.call(.status, EmptyBody()).status == .success) }
        }
        // Whatever was sent is in the socket; the rest is one marker that precedes the next change.
        var told = 0
        var isIncomplete = false
        while !isIncomplete {
            let reply = try changes(try await slow.reply())
            #expect(reply.kinds.count <= ChangesReply.mostChanges)
            if reply.isIncomplete { #expect(reply.kinds.isEmpty) }
            isIncomplete = reply.isIncomplete
            told += reply.kinds.count
        }
        #expect(told < flood)
        await server.server.stop()
    }

    @Test("a watcher is removed with its connection")
    func gone() async throws {
        let server = try TestServer()
        do {
            let client = try await server.greetedClient()
            _ = try await watch(client)
            #expect(server.watchers.isWatched)
        }
        try await Deadline.wait(for: "the end of the connection") {
            server.watchers.isWatched ? nil : true
        }
        await server.server.stop()
    }

    @Test("changes reveal nothing of other programs' items, prompts and refusals")
    func others() async throws {
        let caller = Caller(
            uid: 1,
            pid: 2,
            processStart: 3,
            program: "/bin/other",
            accessGroup: try #require(AccessGroup("other"))
        )
        let server = try TestServer()
        let client = try await server.greetedClient()
        _ = try await watch(client)
        /// The changes reported for an event; the following passcode change marks their end.
        func told(_ kind: AuditEvent.Kind, _ factors: Set<AuthenticationFactor> = []) async throws
            -> [KeychainChange.Kind]
        {
            server.watchers.tell(
                of: AuditEvent(kind, caller: caller, factors: factors, detail: "of another one")
            )
            server.watchers.tell(of: AuditEvent(.passcodeChanged))
            var kinds: [KeychainChange.Kind] = []
            while kinds.last != .passcode {
                kinds += try changes(await client.reply()).kinds.compactMap {
                    KeychainChange.Kind(rawValue: UInt8($0))
                }
            }
            return kinds.dropLast()
        }
        // A lockout may be older than the daemon; the passcode ends it, a fingerprint does not.
        #expect(try await told(.authenticationSucceeded, [.biometry]) == [])
        #expect(try await told(.authenticationSucceeded, [.passcode]) == [.lockoutEnd])
        #expect(try await told(.authenticationSucceeded, [.passcode]) == [])
        let expected: [AuditEvent.Kind: [KeychainChange.Kind]] = [
            .keybagUnlocked: [.unlocked], .keybagLocked: [.locked], .enrolmentChanged: [.enrolment],
            // A keychain that was put aside is no longer open; nothing says where its files are.
            .keybagPutAside: [.locked],
            .busLost: [.sensor], .fingersSwitched: [.sensor], .biometryLockedOut: [.lockout],
            .passcodeDelayed: [.lockout],
            .keybagClosed: [.lockout], .itemsInvalidated: [.invalidated], .assuranceLowered: [.assurance],
            .tamperDetected: [.tampering],
        ]
        let ownMarks: Set<AuditEvent.Kind> = [.keybagCreated, .passcodeChanged, .keybagRecovered]
        for kind in AuditEvent.Kind.allCases where !ownMarks.contains(kind) {
            #expect(try await told(kind) == expected[kind] ?? [], "\(kind)")
            // Each lockout ends once.
            guard expected[kind] == [.lockout] else { continue }
            #expect(try await told(.authenticationSucceeded, [.passcode]) == [.lockoutEnd], "\(kind)")
        }
        await server.server.stop()
    }
}
