import Foundation
import Glibc
import KeychainClient
import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting

@Suite(
    "Many clients",
    .serialized,
    .enabled(if: access(Programs.touchstoned, X_OK) == 0, "touchstoned-testing is not built")
)
struct ManyClientTests {
    /// An ordinary user's `RLIMIT_MEMLOCK`.
    private static let lockedOctets = 8 << 20
    private static let count = 256
    private static let setpriv = "/usr/bin/setpriv"
    private static let canDropCapabilities = geteuid() == 0 && access(setpriv, X_OK) == 0

    /// Limits the daemon's locked memory to an ordinary user's; root's is unlimited.
    private static let limited =
        ["/usr/bin/prlimit", "--memlock=\(lockedOctets):\(lockedOctets)"]
        + (canDropCapabilities
            ? [setpriv, "--bounding-set=-ipc_lock", "--inh-caps=-ipc_lock"] : [])

    /// The size of a client's item: mostly small, some at the end of the arena, a few large.
    private static func size(of index: Int) -> Int {
        switch index % 64 {
        case 7: 900_000
        case 3, 19, 35, 51: 15_000
        default: 20 + index
        }
    }

    private static func octets(of index: Int) -> [UInt8] {
        (0..<size(of: index)).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ index) }
    }

    @Test(
        "256 clients work within an ordinary user's locked memory, and the next one gets a clear error",
        .timeLimit(.minutes(10))
    )
    func manyClients() async throws {
        let keychain = try PrivateKeychain()
        try await keychain.start(through: Self.limited)
        try keychain.client.setUp(keychain.prompt())
        let before = try Self.number("VmRSS", of: keychain.processID)
        let (layout, prompt) = (keychain.layout, keychain.prompt())
        // The kit's own client uses one of the connections.
        let clients = (1..<Self.count).map { _ in RemoteKeychain(layout: layout, daemon: .none) }
        let faults = Guarded<[String]>([])
        let most = Guarded(0)
        let rounds = CaseSize.of(2, full: 40)
        let watch = Task.detached {
            while !Task.isCancelled {
                let locked = (try? Self.number("VmLck", of: keychain.processID)) ?? 0
                most.withLock { $0 = max($0, locked) }
                try? await Task.sleep(for: .milliseconds(5))
            }
        }
        await Self.inThreads(clients.count) { index in
            for _ in 0..<rounds {
                do {
                    try Self.round(of: index, clients[index], prompt)
                } catch {
                    faults.withLock { $0.append("\(index): \(error)") }
                }
            }
        }
        watch.cancel()
        #expect(faults.withLock { $0 } == [])
        // In KiB.
        let locked = most.withLock { $0 }
        #expect(locked > 0 && locked <= Self.lockedOctets >> 10)
        let process = keychain.processID
        let resident = try Self.number("VmRSS", of: process)
        let threads = try Self.number("Threads", of: process)
        let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/fd").count
        print(
            "256 clients: \(locked) KiB locked, \(before) to \(resident) KiB resident, \(threads) threads, \(descriptors) files"
        )
        #expect(threads >= Self.count && threads < Self.count + 40)
        #expect(descriptors >= 2 * Self.count && descriptors < 1024)

        let next = RemoteKeychain(layout: layout, daemon: .none)
        let refused = #expect(throws: KeychainError.self) { try next.status() }
        #expect(refused?.cause == .tooManyConnections)
        #expect(refused?.remedy == .retry)
        #expect(refused?.status == .allocate)
        let lines = try await keychain.expectLogged("too many connections")
        #expect(lines.count == 1, "not a line for each try")
    }

    @Test("a waiting client is connected as soon as another one disconnects")
    func placeComesFree() async throws {
        let keychain = try PrivateKeychain(settings: ["log-level = critical"])
        try await keychain.start()
        var sockets: [CInt] = []
        defer { for socket in sockets { close(socket) } }
        for _ in 0..<Self.count { sockets.append(try UnixSocket.connect(to: keychain.layout.socket)) }
        let first = sockets.removeFirst()
        let ending = Task.detached {
            try await Task.sleep(for: .milliseconds(700))
            close(first)
        }
        // Silent clients are disconnected after five seconds, later than a client waits.
        let client = RemoteKeychain(layout: keychain.layout, daemon: .none)
        let start = ContinuousClock.now
        #expect(throws: Never.self) { try client.status() }
        #expect(ContinuousClock.now - start < .seconds(4))
        try await ending.value
    }

    private static func round(of index: Int, _ client: RemoteKeychain, _ prompt: PromptFields) throws {
        let attributes: ItemAttributes = [.account: .string("client \(index)")]
        var asked = prompt
        asked.interactionAllowed = false
        let item = AddItem(
            itemClass: .genericPassword,
            attributes: attributes,
            accessControl: AccessControl(accessibility: .whenUnlocked),
            data: SecretBytes(copying: octets(of: index)),
            prompt: asked
        )
        _ = try client.add(item)
        let query = ItemQuery(itemClass: .genericPassword, attributes: attributes, returns: .data)
        let found = try client.copy(CopyItems(query: query, prompt: asked))
        guard found.count == 1 else { throw TestKitError.unexpected("\(found.count) items") }
        _ = try client.delete(DeleteItems(query: query, prompt: asked))
    }

    /// The number in a line of `/proc/PID/status`.
    private static func number(_ name: String, of pid: Int32) throws -> Int {
        let lines = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8).split(separator: "\n")
        let line = lines.first { $0.hasPrefix(name + ":") }
        return line?.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first.flatMap { Int($0) }
            ?? 0
    }

    private static func inThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let left = Guarded(count)
            for index in 0..<count {
                Thread.detachNewThread {
                    body(index)
                    let isLast = left.withLock { left in
                        left -= 1
                        return left == 0
                    }
                    if isLast { continuation.resume() }
                }
            }
        }
    }
}
