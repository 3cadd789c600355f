import CBOR
import Glibc
import KeychainClient
import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting

@Suite("Floods of requests", .serialized, .enabled(if: Programs.isBuilt, "touchstoned is not built"))
struct FloodTests {
    @Test(
        "random frames are answered or end their connection, and the daemon keeps working",
        .timeLimit(.minutes(20))
    )
    func randomFrames() async throws {
        let daemon = try await RunningDaemon(DaemonHome(["log-level = critical"]))
        let bystander = try await daemon.client()
        var generator = SplitMix64(seed: 7)
        let frames = 200
        for _ in 0..<CaseSize.of(100, full: 5000) {
            // Refused until the daemon has noticed the end of earlier connections.
            let client = try await Deadline.wait(for: "a place") { try? await daemon.client() }
            var octets: [UInt8] = []
            for id in 2...UInt64(frames) { octets += Self.randomRequest(id, using: &generator) }
            try await client.write(octets)
            for _ in 2...frames { _ = try await client.reply() }
            // The last frame ends the connection, at the latest by its length.
            let noise = (0..<Int.random(in: 1...64)).map { _ in UInt8.random(in: 0...255, using: &generator) }
            try? await client.write(TestClient.header(noise.count) + noise + TestClient.header(0))
            #expect(try await client.isClosed())
        }
        #expect(try await bystander.call(.status, EmptyBody()).status == .success)
        #expect(daemon.process.isRunning)
    }

    /// A random request that does not end the connection: a look-up, or an unknown method.
    private static func randomRequest(_ id: UInt64, using generator: inout SplitMix64) -> [UInt8] {
        guard Bool.random(using: &generator) else {
            var attributes: ItemAttributes = [:]
            for key in [AttributeKey.account, .service, .label] {
                attributes[key] = .string(
                    String(decoding: randomOctets(atMost: 40, using: &generator), as: UTF8.self)
                )
            }
            let query = ItemQuery.passwords(attributes: attributes)
            let body = CopyItems(query: query, prompt: PromptFields(interactionAllowed: false))
            return TestClient.frame(RequestHead(id: id, method: .copyItems), body)
        }
        var writer = CBORWriter([UInt8]())
        writer.writeArrayHead(count: 4)
        for number in [1, id, UInt64.random(in: 1000..<1 << 62, using: &generator)] {
            writer.write(unsigned: number)
        }
        writeRandomValue(to: &writer, depth: 3, using: &generator)
        let message = writer.finish()
        return TestClient.header(message.count) + message
    }

    private static func writeRandomValue(
        to writer: inout CBORWriter<[UInt8]>,
        depth: Int,
        using generator: inout SplitMix64
    ) {
        switch Int.random(in: 0..<(depth > 0 ? 4 : 3), using: &generator) {
        case 0: writer.write(unsigned: UInt64.random(in: 0...UInt64.max, using: &generator))
        case 1: writer.write(bytes: randomOctets(atMost: 100, using: &generator))
        case 2:
            let count = Int.random(in: 0...50, using: &generator)
            writer.write(text: String(repeating: "\u{E9}", count: count))
        default:
            let count = Int.random(in: 0...4, using: &generator)
            writer.writeArrayHead(count: count)
            for _ in 0..<count { writeRandomValue(to: &writer, depth: depth - 1, using: &generator) }
        }
    }

    private static func randomOctets(atMost most: Int, using generator: inout SplitMix64) -> [UInt8] {
        (0..<Int.random(in: 0...most, using: &generator)).map { _ in
            UInt8.random(in: 0...255, using: &generator)
        }
    }

    @Test("invalid lengths allocate no memory in the daemon")
    func lengths() async throws {
        let daemon = try await RunningDaemon(DaemonHome(["log-level = critical"]))
        func send(_ lengths: [Int]) async throws {
            for length in lengths {
                let client = try await Deadline.wait(for: "a place") { try? await daemon.client() }
                try await client.write(TestClient.header(length))
                #expect(try await client.isClosed())
            }
        }
        let refused: [Int] = [0, 0x10_0001, 0x7FFF_FFFF, 0xFFFF_FFFF]
        let lengths = (0..<100).map { refused[$0 % refused.count] }
        // The memory of the connections themselves is allocated by the first round.
        try await send(lengths)
        let before = try Self.residentOctets(of: daemon.process.processID)
        try await send(lengths)
        #expect(try Self.residentOctets(of: daemon.process.processID) - before < 1 << 20)
    }

    @Test("of ten thousand connections all but 256 are refused, and the daemon recovers within 5 s")
    func connections() async throws {
        let daemon = try await RunningDaemon(DaemonHome(["log-level = critical"]))
        let bystander = try await daemon.client()
        let before = try Self.descriptorCount(of: daemon.process.processID)
        let count = min(10_000, Self.mostDescriptors() - 500)
        var sockets: [CInt] = []
        defer { for socket in sockets { close(socket) } }
        for _ in 0..<count { sockets.append(try UnixSocket.connect(to: daemon.home.layout.socket)) }
        #expect(try await bystander.call(.status, EmptyBody()).status == .success)
        #expect(try Self.residentOctets(of: daemon.process.processID) < 256 << 20)
        // Refused connections are closed as soon as they are told; the others have at most two descriptors.
        try await Deadline.wait(for: "256 connections") {
            try Self.descriptorCount(of: daemon.process.processID) <= before + 2 * 256 ? true : nil
        }
        for socket in sockets { close(socket) }
        sockets = []
        try await Deadline.wait(for: "a place", atMost: CaseSize.of(.seconds(30), full: .seconds(5))) {
            (try? await daemon.client()) != nil ? true : nil
        }
        #expect(try await bystander.call(.status, EmptyBody()).status == .success)
        #expect(daemon.process.isRunning)
    }

    @Test("without free descriptors the daemon waits without busy looping, and serves again later")
    func descriptors() async throws {
        let daemon = try await RunningDaemon(
            DaemonHome(["log-level = critical"]),
            through: ["/usr/bin/prlimit", "--nofile=32"]
        )
        var sockets: [CInt] = []
        for _ in 0..<60 {
            if let socket = try? UnixSocket.connect(to: daemon.home.layout.socket) {
                sockets.append(socket)
            }
        }
        // After the accepted connections: 5 ticks of 10 ms in a second are 5 %.
        try await Deadline.wait(for: "a quiet second") {
            let before = try Self.processorTime(of: daemon.process.processID)
            try await Task.sleep(for: .seconds(1))
            return try Self.processorTime(of: daemon.process.processID) - before <= 5 ? true : nil
        }
        for socket in sockets { close(socket) }
        try await Deadline.wait(for: "a client") {
            (try? await daemon.client()) != nil ? true : nil
        }
    }

    @Test("with no descriptor left for connections no item is opened without a prompt, and none is lost")
    func descriptorsAndItems() async throws {
        let keychain = try PrivateKeychain()
        try await keychain.start(through: ["/usr/bin/prlimit", "--nofile=36"])
        try keychain.client.setUp(keychain.prompt())
        let query = ItemQuery.passwords(attributes: [.account: .string("before")])
        func add(_ account: String) throws {
            let item = AddItem(
                itemClass: .genericPassword,
                attributes: [.account: .string(account)],
                accessControl: AccessControl(accessibility: .whenUnlocked),
                data: SecretBytes(copying: Array("a secret".utf8)),
                prompt: keychain.prompt()
            )
            _ = try keychain.client.add(item)
        }
        try add("before")
        var sockets: [CInt] = []
        for _ in 0..<60 { sockets.append(try UnixSocket.connect(to: keychain.layout.socket)) }
        // Eight are kept from connections, each of which takes two.
        try await Deadline.wait(for: "the last connection") {
            try Self.descriptorCount(of: keychain.processID) >= 27 ? true : nil
        }
        try keychain.client.lock()
        // A prompt may need more than those.
        let isOpened = (try? keychain.unlock()) != nil
        #expect(try keychain.client.status().keybag == (isOpened ? .unlocked : .lockedAfterFirstUnlock))
        try keychain.client.lock()
        var prompt = keychain.prompt()
        prompt.interactionAllowed = false
        let request = CopyItems(query: query, prompt: prompt)
        #expect(throws: KeychainError.self) { try keychain.client.copy(request).count }
        for socket in sockets { close(socket) }
        try await Deadline.wait(for: "descriptors") { (try? keychain.unlock()) != nil ? true : nil }
        try add("after")
        let report = try keychain.client.check()
        #expect(report.items == 2 && report.damaged == 0 && report.isSetAuthentic && report.faults.isEmpty)
    }

    @Test("with any number of free descriptors a client is served as the program that it is, or not at all")
    func descriptorsAndNames() async throws {
        let keychain = try PrivateKeychain()
        try await keychain.start(through: ["/usr/bin/prlimit", "--nofile=64"])
        try keychain.client.setUp(keychain.prompt())
        let socket = keychain.layout.socket
        var prompt = keychain.prompt()
        prompt.interactionAllowed = false
        var (sockets, stored, refused): ([CInt], [String], Int) = ([], [], 0)
        defer { for socket in sockets { close(socket) } }
        for number in 0..<40 {
            sockets.append(try UnixSocket.connect(to: socket))
            let account = "item \(number)"
            let item = AddItem(
                itemClass: .genericPassword,
                attributes: [.account: .string(account)],
                accessControl: AccessControl(accessibility: .whenUnlocked),
                data: SecretBytes(copying: Array("a secret".utf8)),
                prompt: prompt
            )
            do {
                let client = try TestClient(try UnixSocket.connect(to: socket))
                try await client.hello()
                let reply = try await client.call(.addItem, item)
                if reply.status == .success { stored.append(account) } else { refused += 1 }
            } catch TestFailure.closed {
                // The daemon has no descriptor for this connection.
            } catch KeychainModel.WireError.system {
            }
        }
        for socket in sockets { close(socket) }
        sockets = []
        #expect(stored.count > 5 && stored.count < 40, "\(stored.count) stored, \(refused) refused")
        for account in stored {
            let query = ItemQuery.passwords(attributes: [.account: .string(account)])
            try await Deadline.wait(for: account) {
                (try? keychain.client.copy(CopyItems(query: query, prompt: prompt)).count) == 1 ? true : nil
            }
        }
    }

    @Test("of a quarter of a million descriptors passed by a client none is kept")
    func passedDescriptors() async throws {
        let daemon = try await RunningDaemon(DaemonHome(["log-level = critical"]))
        let client = try await daemon.client()
        #expect(try await client.call(.status, EmptyBody()).status == .success)
        let before = try Self.descriptorCount(of: daemon.process.processID)
        let requests = 112
        var octets: [UInt8] = []
        for id in 3..<UInt64(3 + requests) {
            octets += TestClient.frame(RequestHead(id: id, method: .status), EmptyBody())
        }
        #expect(octets.count >= 1000)
        // 250 with each byte; the answers show that the daemon has read them all.
        for octet in octets { try await client.write(octet, descriptors: 250) }
        for _ in 0..<requests { #expect(try await client.reply().status == .success) }
        // A single byte would leave 250; the daemon itself may open a few meanwhile.
        #expect(try Self.descriptorCount(of: daemon.process.processID) < before + 250)
    }

    /// User and system time in ticks (`/proc/PID/stat`, fields 14 and 15).
    private static func processorTime(of pid: Int32) throws -> Int {
        let fields = try String(contentsOf: "/proc/\(pid)/stat").split(separator: " ")
        return (Int(fields[13]) ?? 0) + (Int(fields[14]) ?? 0)
    }

    private static func descriptorCount(of pid: Int32) throws -> Int {
        guard let directory = opendir("/proc/\(pid)/fd") else { throw TestFailure.system(errno) }
        defer { closedir(directory) }
        var count = 0
        while readdir(directory) != nil { count += 1 }
        // Without "." and "..".
        return count - 2
    }

    /// Resident memory (`/proc/PID/statm`, field 2, in pages).
    private static func residentOctets(of pid: Int32) throws -> Int {
        let fields = try String(contentsOf: "/proc/\(pid)/statm").split(separator: " ")
        return (Int(fields[1]) ?? 0) * sysconf(Int32(_SC_PAGESIZE))
    }

    /// The number of descriptors this process may have, after raising the limit.
    private static func mostDescriptors() -> Int {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_cur = min(limit.rlim_max, 20_000)
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        return Int(limit.rlim_cur)
    }
}
