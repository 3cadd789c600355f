import CBOR
import Foundation
import KeychainModel
import ScriptedDaemon
import Synchronization
import Testing

@testable import KeychainClient

@Suite("Asynchronous look-ups, for threads that must not block")
struct BegunCopyTests {
    private static let item = ScriptedDaemon.Item(attributes: [.account: .string("a")], data: [1, 2, 3])
    private let request = CopyItems(
        query: ItemQuery(itemClass: .genericPassword, returns: [.data, .attributes]),
        prompt: PromptFields()
    )

    private func octets(_ results: borrowing ItemResults) -> [UInt8]? {
        results.first()?.withData { octets in octets.indices.map { octets[$0] } }
    }

    /// A daemon, and a keychain connected to it.
    private func connected(_ answering: @escaping ScriptedDaemon.Answering) throws -> ScriptedDaemon {
        let daemon = try ScriptedDaemon { head, reader in
            guard head.method == .copyItems else {
                try reader.skipValue()
                return .body(EmptyBody())
            }
            return try answering(head, &reader)
        }
        try daemon.keychain.lock()
        return daemon
    }

    @Test("without a connection nothing is sent")
    func unconnected() throws {
        let daemon = try ScriptedDaemon { _, reader in
            try reader.skipValue()
            return .items([Self.item])
        }
        #expect(try daemon.keychain.beginCopy(request, lookingFor: .seconds(1)) == nil)
        #expect(daemon.connections == 0 && daemon.requested.isEmpty)
    }

    @Test("a reply that arrives at once is available without waiting")
    func atOnce() throws {
        let daemon = try connected { _, reader in
            try reader.skipValue()
            return .items([Self.item])
        }
        for _ in 0..<100 {
            let begun = try #require(try daemon.keychain.beginCopy(request, lookingFor: .seconds(60)))
            #expect(begun.hasArrived)
            #expect(octets(try begun.finish()) == [1, 2, 3])
        }
        #expect(daemon.connections == 1)
    }

    @Test("finishing waits for a later reply, and other requests continue meanwhile")
    func later() throws {
        let isReleased = DispatchSemaphore(value: 0)
        let daemon = try connected { _, reader in
            try reader.skipValue()
            isReleased.wait()
            return .items([Self.item])
        }
        let start = ContinuousClock.now
        let begun = try #require(try daemon.keychain.beginCopy(request, lookingFor: .milliseconds(1)))
        #expect(!begun.hasArrived)
        #expect(ContinuousClock.now - start < .seconds(10))
        let ended = Mutex<[UInt8]?>(nil)
        let done = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            if let found = try? octets(begun.finish()) { ended.withLock { $0 = found } }
            done.signal()
        }
        #expect(ended.withLock { $0 } == nil)
        isReleased.signal()
        done.wait()
        #expect(ended.withLock { $0 } == [1, 2, 3])
        // The connection is still usable.
        isReleased.signal()
        #expect(octets(try daemon.keychain.copy(request)) == [1, 2, 3])
        #expect(daemon.connections == 1)
    }

    @Test("finishing throws the request's failure")
    func failure() throws {
        let daemon = try connected { _, reader in
            try reader.skipValue()
            return .failure(KeychainError(.itemNotFound))
        }
        let begun = try #require(try daemon.keychain.beginCopy(request, lookingFor: .milliseconds(100)))
        #expect(!begun.hasArrived)
        #expect(throws: KeychainError(.itemNotFound)) { _ = try begun.finish().count }
    }

    @Test("a dropped look-up is cancelled at the daemon, and its slot is free again")
    func dropped() async throws {
        let daemon = try connected { _, reader in
            try reader.skipValue()
            return .hold
        }
        for round in 1...(2 * Connection.mostInFlight) {
            do {
                let begun = try #require(try daemon.keychain.beginCopy(request, lookingFor: .zero))
                #expect(!begun.hasArrived)
            }
            let deadline = ContinuousClock.now + .seconds(60)
            while daemon.requested.count(where: { $0 == .cancel }) < round, .now < deadline {
                try await Task.sleep(for: .milliseconds(1))
            }
            #expect(daemon.requested.count { $0 == .cancel } == round)
        }
        // The replies to the dropped look-ups are discarded, too.
        try daemon.keychain.lock()
    }

    @Test("a look-up beyond the connection's slots is not sent until one of the others is dropped")
    func noPlace() throws {
        let daemon = try connected { _, reader in
            try reader.skipValue()
            return .hold
        }
        var begun: [BegunCopy] = []
        for _ in 0..<Connection.mostBegun {
            begun.append(try #require(try daemon.keychain.beginCopy(request, lookingFor: .zero)))
        }
        #expect(try daemon.keychain.beginCopy(request, lookingFor: .zero) == nil)
        begun.removeLast()
        let next = try daemon.keychain.beginCopy(request, lookingFor: .zero)
        #expect(next != nil)
    }

    @Test("a daemon that exited is reported by finishing, or reconnected to by the next call")
    func gone() throws {
        let daemon = try connected { _, _ in throw WireError.closed }
        let begun = try #require(try daemon.keychain.beginCopy(request, lookingFor: .milliseconds(100)))
        #expect(!begun.hasArrived)
        let error = #expect(throws: KeychainError.self) { _ = try begun.finish().count }
        #expect(error?.status == .internalComponent)
        #expect(try daemon.keychain.beginCopy(request, lookingFor: .zero) == nil)
        try daemon.keychain.lock()
        #expect(daemon.connections == 2)
    }

    @Test("many threads each get their own reply")
    func crowd() async throws {
        let daemon = try connected { _, reader in
            let request = try CopyItems(from: &reader)
            return .items([ScriptedDaemon.Item(attributes: request.query.attributes, data: [9])])
        }
        let keychain = daemon.keychain
        await withTaskGroup(of: Int.self) { group in
            for task in 0..<8 {
                group.addTask {
                    var right = 0
                    for round in 0..<200 {
                        let name = "\(task).\(round)"
                        let query = ItemQuery(
                            itemClass: .genericPassword,
                            attributes: [.account: .string(name)],
                            returns: [.data, .attributes]
                        )
                        let request = CopyItems(query: query, prompt: PromptFields())
                        // Some replies arrive in that time, and some do not.
                        let begun = try? keychain.beginCopy(request, lookingFor: .microseconds(round))
                        guard let results = try? begun.map({ try $0.finish() }) ?? keychain.copy(request)
                        else {
                            continue
                        }
                        if case .string(name)? = results.first()?.attributes?[.account] { right += 1 }
                    }
                    return right
                }
            }
            for await right in group { #expect(right == 200) }
        }
        #expect(daemon.connections == 1)
    }

    @Test("a look-up refused because the caller could not be identified is repeated on a new connection")
    func untold() throws {
        let isAway = Mutex(true)
        let daemon = try connected { _, reader in
            try reader.skipValue()
            let wasAway = isAway.withLock { isAway in
                defer { isAway = false }
                return isAway
            }
            if wasAway { return .failure(KeychainError(.notAvailable, cause: .brokerAway, remedy: .check)) }
            return .items([Self.item])
        }
        let begun = try #require(try daemon.keychain.beginCopy(request, lookingFor: .seconds(60)))
        #expect(octets(try begun.finish()) == [1, 2, 3])
        #expect(daemon.connections == 2)
    }
}
