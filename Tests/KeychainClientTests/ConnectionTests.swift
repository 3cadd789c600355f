import CLinux
import Foundation
import Glibc
import KeychainClient
import KeychainModel
import ScriptedDaemon
import SecretMemory
import Synchronization
import Testing

@Suite("Connections to the daemon")
struct ConnectionTests {
    private let home: TemporaryHome

    init() throws { home = try TemporaryHome() }

    private func keychain() -> RemoteKeychain { RemoteKeychain(layout: home.layout, daemon: .none) }

    /// Answers every numbered request with its number.
    private static func countAnswerer(_ peer: ScriptedPeer) throws {
        try peer.welcome()
        while true {
            let request = try peer.next()
            try peer.reply(to: request, CountBody(Self.number(of: request)))
        }
    }

    private static func number(of request: ScriptedRequest) throws -> Int {
        guard case .integer(let number) = try request.body(DeleteItems.self).query.attributes[.port] else {
            return -1
        }
        return Int(number)
    }

    private static func numbered(_ number: Int) -> DeleteItems {
        let query = ItemQuery(itemClass: .internetPassword, attributes: [.port: .integer(Int64(number))])
        return DeleteItems(query: query, prompt: PromptFields())
    }

    @Test("a connection sends the greeting's nonce in its hello, before the first request")
    func hello() throws {
        let daemon = try ScriptedDaemon(home, script: Self.countAnswerer)
        #expect(try keychain().delete(Self.numbered(3)).count == 3)
        #expect(daemon.connections == 1)
    }

    @Test("a connection serves several calls")
    func reuse() throws {
        let daemon = try ScriptedDaemon(home, script: Self.countAnswerer)
        let keychain = keychain()
        for number in 1...100 { #expect(try keychain.delete(Self.numbered(number)).count == number) }
        #expect(daemon.connections == 1)
    }

    @Test("each thread gets its own reply, whatever their order")
    func outOfOrder() throws {
        let threads = 8
        let daemon = try ScriptedDaemon(home) { peer in
            try peer.welcome()
            while true {
                let requests = try (0..<threads).map { _ in try peer.next() }
                for request in requests.reversed() {
                    try peer.reply(to: request, CountBody(Self.number(of: request)))
                }
            }
        }
        let keychain = keychain()
        let wrong = Mutex(0)
        // Each round needs all threads: the daemon answers in reverse order.
        inThreads(threads) { thread in
            for round in 0..<50 {
                let number = thread * 1000 + round
                if (try? keychain.delete(Self.numbered(number)))?.count != number {
                    wrong.withLock { $0 += 1 }
                }
            }
        }
        #expect(wrong.withLock { $0 } == 0)
        #expect(daemon.connections == 1)
    }

    @Test("more threads can wait than the daemon serves at a time")
    func crowd() throws {
        let daemon = try ScriptedDaemon(home, script: Self.countAnswerer)
        let keychain = keychain()
        let right = Mutex(0)
        inThreads(64) { thread in
            if (try? keychain.delete(Self.numbered(thread)))?.count == thread { right.withLock { $0 += 1 } }
        }
        #expect(right.withLock { $0 } == 64)
        #expect(daemon.connections == 1)
    }

    @Test("a connection that the daemon closed between two calls is replaced without an error")
    func reconnection() throws {
        let daemon = try ScriptedDaemon(home) { peer in
            try peer.welcome()
            try peer.reply(to: peer.next(), CountBody(1))
        }
        let keychain = keychain()
        #expect(try keychain.delete(Self.numbered(1)).count == 1)
        // The script has returned; its end closes once its thread gets there.
        while daemon.connections == 1 {
            do {
                #expect(try keychain.delete(Self.numbered(2)).count == 1)
            } catch {
                #expect(error.remedy == .retry)
            }
        }
        #expect(daemon.connections >= 2)
    }

    @Test(
        "a connection whose client the daemon could not identify is replaced, for this and all other requests"
    )
    func untold() throws {
        let away = Mutex(2)
        let daemon = try ScriptedDaemon(home) { peer in
            try peer.welcome()
            let isUntold = away.withLock { away in
                away -= 1
                return away >= 0
            }
            while true {
                let request = try peer.next()
                if isUntold, request.head.method == .deleteItems {
                    let error = KeychainError(.notAvailable, cause: .brokerAway, remedy: .check)
                    try peer.refuse(request, error)
                } else {
                    try peer.reply(to: request, CountBody(1))
                }
            }
        }
        let keychain = keychain()
        // On a new connection the failure is reported: the daemon has just tried.
        let error = #expect(throws: KeychainError(.notAvailable)) { try keychain.delete(Self.numbered(1)) }
        #expect(error?.cause == .brokerAway && daemon.connections == 1)
        // Connected while the broker is away, and replaced once it is back.
        try keychain.lock()
        #expect(daemon.connections == 2)
        #expect(try keychain.delete(Self.numbered(2)).count == 1)
        #expect(try keychain.delete(Self.numbered(3)).count == 1)
        #expect(daemon.connections == 3)
    }

    @Test("a lost connection ends the current request, and the next call reconnects")
    func loss() throws {
        let first = Mutex(true)
        let daemon = try ScriptedDaemon(home) { peer in
            try peer.welcome()
            let request = try peer.next()
            let isFirst = first.withLock { isFirst in
                defer { isFirst = false }
                return isFirst
            }
            if isFirst { return }
            try peer.reply(to: request, CountBody(5))
        }
        let keychain = keychain()
        let error = #expect(throws: KeychainError(.internalComponent)) {
            try keychain.delete(Self.numbered(1))
        }
        #expect(error?.authentication?.code == .systemCancel)
        #expect(error?.remedy == .retry)
        #expect(try keychain.delete(Self.numbered(1)).count == 5)
        #expect(daemon.connections == 2)
    }

    @Test("a lost connection ends the requests of all threads")
    func lossForAll() throws {
        let daemon = try ScriptedDaemon(home) { peer in
            try peer.welcome()
            for _ in 0..<6 { _ = try peer.next() }
        }
        let keychain = keychain()
        let lost = Mutex(0)
        inThreads(6) { thread in
            do throws(KeychainError) {
                try keychain.delete(Self.numbered(thread))
            } catch {
                if error.remedy == .retry { lost.withLock { $0 += 1 } }
            }
        }
        #expect(lost.withLock { $0 } == 6)
        #expect(daemon.connections == 1)
    }

    @Test("the daemon's error keeps its cause and remedy")
    func failure() throws {
        let sent = KeychainError(
            AuthenticationError(
                .biometryLockout,
                cause: DriverCause(domain: "fprintd", code: "five"),
                remedy: .wait(seconds: 60)
            )
        )
        let daemon = try ScriptedDaemon(home) { peer in
            try peer.welcome()
            try peer.refuse(peer.next(), sent)
            _ = try peer.next()
        }
        let error = #expect(throws: KeychainError(.authFailed)) { try keychain().lock() }
        #expect(error?.authentication == AuthenticationError(.biometryLockout))
        #expect(error?.cause == DriverCause(domain: "fprintd", code: "five"))
        #expect(error?.remedy == .wait(seconds: 60))
        _ = daemon
    }

    @Test(
        "an invalid greeting is refused",
        arguments: [
            Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8), [0, 0, 0, 0], [0xFF, 0xFF, 0xFF, 0xFF],
            [0, 0, 0, 1, 0xF6], [0, 0, 0, 5, 0x84, 0x02, 0x00, 0x00, 0xF6], [0, 0, 0, 9, 0x85],
        ]
    )
    func badGreeting(octets: [UInt8]) throws {
        let daemon = try ScriptedDaemon(home) { $0.send(octets: octets) }
        #expect(throws: KeychainError(.notAvailable)) { try keychain().status() }
        _ = daemon
    }

    @Test("the daemon's immediate refusal is reported with its reason")
    func refusedAtOnce() throws {
        let daemon = try ScriptedDaemon(home) { peer in
            let error = KeychainError(
                .allocate,
                cause: DriverCause(domain: "touchstone", code: "connections")
            )
            try peer.send(ReplyHead(id: 0, status: error.status).message(Failure(error)))
        }
        let error = #expect(throws: KeychainError(.allocate)) { try keychain().status() }
        #expect(error?.cause?.code == "connections")
        _ = daemon
    }

    @Test("a truncated, malformed or unrequested reply closes the connection", arguments: 0..<4)
    func badReply(kind: Int) throws {
        let daemon = try ScriptedDaemon(home) { peer in
            try peer.welcome()
            let request = try peer.next()
            switch kind {
            case 0: peer.send(octets: [0, 0, 0, 100, 0x85, 0x01])
            case 1: peer.send(octets: [0, 0, 0, 3, 0x9F, 0xFF, 0x00])
            case 2: try peer.send(ReplyHead(id: request.head.id + 7).message(EmptyBody()))
            default: try peer.reply(to: request, EmptyBody())
            }
        }
        #expect(throws: KeychainError(.internalComponent)) { try keychain().delete(Self.numbered(1)) }
        _ = daemon
    }

    @Test("a socket directory that others may enter is refused")
    func openDirectory() throws {
        let daemon = try ScriptedDaemon(home, script: Self.countAnswerer)
        #expect(chmod(home.layout.runtimeDirectory, 0o755) == 0)
        let error = #expect(throws: KeychainError(.notAvailable)) { try keychain().status() }
        #expect(error?.cause?.code.hasPrefix("runtimeDirectory") == true)
        #expect(daemon.connections == 0)
    }

    @Test("a socket directory that is a symbolic link is refused")
    func linkedDirectory() throws {
        let daemon = try ScriptedDaemon(home, script: Self.countAnswerer)
        let link = home.path + "/link"
        try FileManager.default.createSymbolicLink(
            atPath: link,
            withDestinationPath: home.layout.runtimeDirectory
        )
        let layout = Layout(
            runtimeDirectory: link,
            dataDirectory: home.layout.dataDirectory,
            configurationFile: home.layout.configurationFile
        )
        #expect(throws: KeychainError(.notAvailable)) {
            try RemoteKeychain(layout: layout, daemon: .none).status()
        }
        #expect(daemon.connections == 0)
    }

    @Test(
        "another user's daemon is refused",
        .enabled(if: geteuid() == 0 && ForeignListener.isPossible, "needs root, setpriv and perl")
    )
    func foreignDaemon() throws {
        let listener = try ForeignListener(home, uid: 65534)
        let error = #expect(throws: KeychainError(.notAvailable)) { try keychain().status() }
        #expect(error?.cause?.code == "foreignDaemon: uid 65534")
        listener.stop()
    }

    @Test("without a daemon, and without a program to start, the error says so")
    func nobody() throws {
        let error = #expect(throws: KeychainError(.notAvailable)) { try keychain().status() }
        #expect(error?.cause?.code == "daemonNotRunning")
        #expect(error?.remedy == .check)
    }
}

/// Runs `body` on `count` threads concurrently, and waits for all of them.
func inThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
    let group = DispatchGroup()
    for index in 0..<count {
        group.enter()
        Thread.detachNewThread {
            body(index)
            group.leave()
        }
    }
    group.wait()
}
