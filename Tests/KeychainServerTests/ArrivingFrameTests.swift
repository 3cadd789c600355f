import Desk
import KeychainModel
import KeychainServer
import SecretMemory
import Testing
import TouchstoneTesting

/// Clients that take the memory of others: by frames that do not go on, and by replies that they do not read.
///
/// Nothing ends them in these tests but what is said: a look-up that needed their memory would not be answered.
@Suite("Frames that do not arrive, and replies that nobody reads")
struct ArrivingFrameTests {
    /// What `RLIMIT_MEMLOCK` of 8 MiB leaves for requests.
    private static let lockedOctets = 9 << 19
    private static let lengths = [9, 4096, 4097, 200_000, 1 << 20]
    private static let counts = CaseSize.of([1, 30], full: [1, 30, 200])
    private static let longItem = 900_000

    /// How much of a frame is sent.
    enum Sent: CaseIterable, Sendable {
        case header, nineBytes, ownRoom, half, allButOne

        func count(of length: Int) -> Int {
            switch self {
            case .header: 0
            case .nineBytes: min(9, length - 1)
            case .ownRoom: min(5000, length - 1)
            case .half: length / 2
            case .allButOne: length - 1
            }
        }
    }

    private static func server(
        stallPause: Duration = Deadline.patience,
        vault: ScriptedVault = ScriptedVault()
    ) throws
        -> TestServer
    {
        try TestServer(vault: vault) { limits in
            limits.lockedOctets = lockedOctets
            limits.stallPause = stallPause
        }
    }

    /// Why clients were disconnected.
    private static func refusals(_ server: TestServer) -> [String] {
        server.audit.events.filter { $0.kind == .clientRefused }.map(\.detail)
    }

    private static func item(_ count: Int) -> AddItem {
        AddItem(
            itemClass: .genericPassword,
            attributes: [.account: .string("somebody")],
            accessControl: AccessControl(accessibility: .whenUnlocked),
            data: SecretBytes(copying: [UInt8](repeating: 7, count: count)),
            prompt: PromptFields()
        )
    }

    /// Sends part of a frame in the background: the server may not read all of it.
    private static func send(_ length: Int, _ sent: Sent, by client: TestClient) -> Task<Void, any Error> {
        let bytes = TestClient.header(length) + [UInt8](repeating: 0x18, count: sent.count(of: length))
        return Task { try await client.write(bytes) }
    }

    private static func expectService(_ client: TestClient, _ cell: Comment) async throws {
        for _ in 1...5 {
            #expect(try await client.call(.copyItems, CopyItems.passwords()).status == .success, cell)
            #expect(try await client.call(.status, EmptyBody()).status == .success, cell)
            #expect(try await client.call(.addItem, item(100)).status == .success, cell)
        }
    }

    // One after the other: all at once need over 10,000 descriptors at full size.
    @Test(
        "others are served at once, whatever is announced and sent",
        .serialized,
        arguments: lengths,
        Sent.allCases
    )
    func matrix(length: Int, sent: Sent) async throws {
        for count in Self.counts {
            for isGreeted in [true, false] {
                let cell: Comment = "\(count) clients send \(sent) of \(length), greeted: \(isGreeted)"
                let server = try Self.server()
                let bystander = try await server.greetedClient()
                var clients: [TestClient] = []
                for _ in 0..<count {
                    clients.append(try await isGreeted ? server.greetedClient() : server.connect())
                }
                let tasks = clients.map { Self.send(length, sent, by: $0) }
                try await Self.expectService(bystander, cell)
                // Before the greeting, the header of a longer frame ends the connection.
                if !isGreeted, length > 4096 {
                    for client in clients { #expect(try await client.isClosed(), cell) }
                    #expect(Self.refusals(server) == ["frame length"], cell)
                } else {
                    #expect(Self.refusals(server).isEmpty, cell)
                }
                try await Self.expectService(try await server.greetedClient(), cell)
                for client in clients { await client.hangUp() }
                for task in tasks { _ = await task.result }
            }
        }
    }

    @Test("a long request is served as soon as the stalled ones have stopped for a while", arguments: counts)
    func longRequest(count: Int) async throws {
        let server = try Self.server(stallPause: .milliseconds(250))
        var tasks: [Task<Void, any Error>] = []
        var clients: [TestClient] = []
        for index in 0..<count {
            let client = try await server.greetedClient()
            clients.append(client)
            tasks.append(Self.send(Self.lengths[3 + index % 2], Sent.allCases[3 + index / 2 % 2], by: client))
        }
        for _ in 1...3 {
            // As the client library does: on a busy machine it may itself stop for too long, and sends the request again.
            try await eventually("a long request") {
                let client = try await server.greetedClient()
                return (try? await client.call(.addItem, Self.item(Self.longItem)).status) == .success
            }
        }
        for client in clients { await client.hangUp() }
        for task in tasks { _ = await task.result }
        #expect(Set(Self.refusals(server)).isSubset(of: ["frame stalled"]), "\(Self.refusals(server))")
    }

    @Test("long requests that arrive side by side do not wait for each other", arguments: [2, 12])
    func sideBySide(count: Int) async throws {
        let server = try Self.server()
        try await withThrowingTaskGroup { group in
            for _ in 0..<count {
                let client = try await server.greetedClient()
                group.addTask {
                    for _ in 1...3 {
                        let reply = try await client.call(.addItem, Self.item(Self.longItem))
                        #expect(reply.status == .success)
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(server.vault.calls.count == 3 * count && Self.refusals(server).isEmpty)
    }

    @Test("replies that nobody reads delay only other long replies", arguments: counts)
    func unreadReplies(count: Int) async throws {
        let vault = ScriptedVault { calls throws(KeychainError) in
            guard case .copy(let query, _, _, _)? = calls.last, query.attributes[.account] == .string("long")
            else {
                return .page([[1, 2, 3]], next: nil)
            }
            return .page([[UInt8](repeating: 7, count: Self.longItem)], next: nil)
        }
        let server = try Self.server(vault: vault)
        let bystander = try await server.greetedClient()
        let query = ItemQuery.passwords(attributes: [.account: .string("long")])
        var readers: [TestClient] = []
        for _ in 0..<count {
            let reader = try await server.greetedClient()
            try await reader.request(.copyItems, CopyItems(query: query, prompt: PromptFields()))
            readers.append(reader)
        }
        // Some are being sent, and the others wait for that.
        try await eventually("the long pages") { vault.calls.count >= count }
        try await Self.expectService(bystander, "\(count) readers")
        try await withThrowingTaskGroup { group in
            for reader in readers {
                group.addTask {
                    let reply = try await reader.reply()
                    #expect(reply.status == .success)
                }
            }
            try await group.waitForAll()
        }
    }
}
