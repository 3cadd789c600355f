import CBOR
import Desk
import KeychainModel
import KeychainServer
import SecretMemory
import Testing
import TouchstoneTesting

@Suite("Frames from clients")
struct FrameTests {
    private static func addItem() -> [UInt8] {
        let control = AccessControl(accessibility: .whenUnlocked)
        let item = AddItem(
            itemClass: .genericPassword,
            attributes: [.account: .string("somebody")],
            accessControl: control,
            data: nil,
            prompt: PromptFields()
        )
        return TestClient.frame(RequestHead(id: 2, method: .addItem), item)
    }

    /// Requests that would change or reveal something.
    private static let frames: [[UInt8]] = [
        addItem(),
        TestClient.frame(RequestHead(id: 2, method: .copyItems), CopyItems.passwords()),
        TestClient.frame(
            RequestHead(id: 2, method: .updateItems),
            UpdateItems(
                query: .passwords(),
                attributes: [.label: .string("new")],
                accessControl: nil,
                data: nil,
                prompt: PromptFields()
            )
        ),
        TestClient.frame(
            RequestHead(id: 2, method: .deleteItems),
            DeleteItems(query: .passwords(), prompt: PromptFields())
        ),
        TestClient.frame(
            RequestHead(id: 2, method: .replaceItem),
            ReplaceItem(
                query: .passwords(),
                itemClass: .genericPassword,
                attributes: [.label: .string("new")],
                accessControl: AccessControl(accessibility: .whenUnlocked),
                data: SecretBytes(copying: [1]),
                mark: SecretBytes(copying: [1]),
                prompt: PromptFields()
            )
        ),
        TestClient.frame(
            RequestHead(id: 2, method: .eraseItems),
            EraseItems(query: .passwords(), secret: SecretBytes(copying: [1]), prompt: PromptFields())
        ),
    ]

    @Test("a frame truncated at any byte changes nothing", arguments: frames.indices)
    func truncated(index: Int) async throws {
        let server = try TestServer()
        let frame = Self.frames[index]
        for length in 0..<frame.count {
            let client = try await server.greetedClient()
            try await client.write(Array(frame[..<length]))
            await client.hangUp()
        }
        let client = try await server.greetedClient()
        _ = try await client.call(.status, EmptyBody())
        #expect(server.vault.calls.isEmpty)
    }

    @Test("an unfinished frame ends the connection", arguments: [1, 4, 5, 40])
    func stalled(length: Int) async throws {
        let server = try TestServer { $0.frameDeadline = .milliseconds(50) }
        let client = try await server.greetedClient()
        try await client.write(Array(Self.addItem()[..<length]))
        #expect(try await client.isClosed())
        #expect(server.vault.calls.isEmpty)
        #expect(server.audit.events.contains { $0.detail == "frame deadline" })
    }

    @Test("a frame sent byte by byte gets no more time than another")
    func dripping() async throws {
        let server = try TestServer { $0.frameDeadline = .milliseconds(100) }
        let client = try await server.greetedClient()
        let length = 10_000
        try await client.write(TestClient.header(length))
        await #expect(throws: TestFailure.self) {
            for _ in 0..<length {
                try await client.write([0])
                try await Task.sleep(for: .milliseconds(10))
            }
        }
        #expect(server.audit.events.map(\.detail) == ["frame deadline"])
    }

    @Test(
        "invalid lengths are refused on the header alone",
        arguments: [0, (1 << 20) + 1, 1 << 31 - 1, 1 << 32 - 1]
    )
    func lengths(length: Int) async throws {
        let server = try TestServer()
        let client = try await server.greetedClient()
        try await client.write(TestClient.header(length))
        #expect(try await client.isClosed())
    }

    /// Messages for which a careless decoder would allocate too much memory.
    enum Bomb: String, CaseIterable, Sendable {
        case deepNesting, hugeArray, hugeMap, indefiniteLength, duplicateKeys, invalidText, trailingOctets
        case otherVersion, longInteger, strayBreak

        var message: [UInt8] {
            switch self {
            case .deepNesting: [UInt8](repeating: 0x81, count: 100_000)
            case .hugeArray: [0x9B, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]
            case .hugeMap: [0x84, 1, 2, 21, 0xBB, 0, 0, 0, 1, 0, 0, 0, 0]
            case .indefiniteLength: [0x84, 1, 2, 21, 0x9F, 0x01, 0xFF]
            case .duplicateKeys: [0x84, 1, 2, 2, 0xA2, 0x61, 0x61, 1, 0x61, 0x61, 2]
            case .invalidText: [0x84, 1, 2, 2, 0x62, 0xC3, 0x28]
            case .trailingOctets: [0x84, 1, 2, 2, 0xF6, 0xF6]
            case .otherVersion: [0x84, 2, 2, 2, 0xF6]
            case .longInteger: [0x84, 0x18, 1, 2, 2, 0xF6]
            case .strayBreak: [0xFF]
            }
        }
    }

    @Test("structure bombs end only their own connection", arguments: Bomb.allCases)
    func structureBomb(bomb: Bomb) async throws {
        let server = try TestServer()
        let bystander = try await server.greetedClient()
        let client = try await server.greetedClient()
        try? await client.write(TestClient.header(bomb.message.count) + bomb.message)
        #expect(try await client.isClosed())
        let reply = try await bystander.call(.copyItems, CopyItems.passwords())
        #expect(reply.status == .success)
    }

    @Test("a malformed body is answered with errSecParam, and the connection ends")
    func malformedBody() async throws {
        let server = try TestServer()
        let client = try await server.greetedClient()
        let message: [UInt8] = [0x84, 1, 2, 21, 0x01]
        try await client.write(TestClient.header(message.count) + message)
        let reply = try await client.reply()
        #expect(reply.head.id == 2)
        #expect(reply.status == .param)
        #expect(try await client.isClosed())
    }

    @Test("an unknown method is answered with an error, and the connection remains open")
    func unknownMethod() async throws {
        let server = try TestServer()
        let client = try await server.greetedClient()
        let message: [UInt8] = [0x84, 1, 2, 0x18, 99, 0x82, 1, 2]
        try await client.write(TestClient.header(message.count) + message)
        #expect(try await client.reply().status == .unimplemented)
        try await client.write(TestClient.frame(RequestHead(id: 3, method: .status), EmptyBody()))
        #expect(try await client.reply().status == .success)
    }

    @Test("an unknown item class is answered with an error, and the connection remains open")
    func unknownClass() async throws {
        let server = try TestServer()
        let client = try await server.greetedClient()
        var writer = CBORWriter([UInt8]())
        writer.writeArrayHead(count: 4)
        for number: UInt64 in [1, 2, Method.copyItems.rawValue] { writer.write(unsigned: number) }
        writer.writeArrayHead(count: 3)
        writer.writeArrayHead(count: 6)
        writer.write(text: "nothing of the kind")
        let message = writer.finish()
        try await client.write(TestClient.header(message.count) + message)
        #expect(try await client.reply().status == .noSuchClass)
    }

    @Test("random bytes end only their own connection")
    func randomFrames() async throws {
        let server = try TestServer()
        let bystander = try await server.greetedClient()
        var generator = SplitMix64(seed: 5)
        for _ in 0..<300 {
            let client = try await server.greetedClient()
            let message = (0..<Int.random(in: 1...64)).map { _ in UInt8.random(in: 0...255, using: &generator)
            }
            try? await client.write(TestClient.header(message.count) + message)
            #expect(try await client.isClosed())
        }
        #expect(try await bystander.call(.status, EmptyBody()).status == .success)
    }

    @Test("large frames of many connections are processed one after the other")
    func largeFrames() async throws {
        let server = try TestServer { limits in
            limits.lockedOctets = 4 << 20
            // On a busy machine a client may itself stop for longer than a stalled one is waited for.
            limits.stallPause = Deadline.patience
        }
        try await withThrowingTaskGroup { group in
            for _ in 0..<6 {
                group.addTask {
                    let client = try await server.greetedClient()
                    let attribute = AttributeValue.data(
                        [UInt8](repeating: 1, count: ItemLimits.longestAttribute)
                    )
                    let keys = (0..<60).map { AttributeKey(rawValue: "a\($0 + 100)") }
                    let query = ItemQuery.passwords(
                        attributes: keys.reduce(into: [:]) { $0[$1] = attribute }
                    )
                    let reply = try await client.call(
                        .copyItems,
                        CopyItems(query: query, prompt: PromptFields())
                    )
                    #expect(reply.status == .success)
                }
            }
            try await group.waitForAll()
        }
        #expect(server.vault.calls.count == 6)
    }
}
