import Foundation
import KeychainClient
import KeychainModel
import ScriptedDaemon
import SecretMemory
import Synchronization
import Testing

@Suite("Requests for items")
struct ItemCallTests {
    private let home: TemporaryHome

    init() throws { home = try TemporaryHome() }

    private func keychain() -> RemoteKeychain { RemoteKeychain(layout: home.layout, daemon: .none) }

    private func copyAll(_ returns: ItemQuery.Returns) -> CopyItems {
        CopyItems(
            query: ItemQuery(itemClass: .genericPassword, limit: .all, returns: returns),
            prompt: PromptFields()
        )
    }

    private func found(_ results: borrowing ItemResults) -> [String] {
        var found: [String] = []
        results.forEach { item in
            guard case .string(let account) = item.attributes?[.account] else { return }
            let data = item.withData { octets in octets.indices.map { octets[$0] } }
            found.append("\(account)=\(data.map { "\($0)" } ?? "-")")
        }
        return found
    }

    @Test("items arrive page by page, in order, each secret in its own memory")
    func pages() throws {
        let daemon = try ScriptedDaemon(home) { peer in
            try peer.welcome()
            let request = try peer.next()
            try peer.reply(
                to: request,
                items: [ScriptedItem(account: "a", data: [1]), ScriptedItem(account: "b", data: [2, 2])],
                more: true
            )
            try peer.reply(to: request, items: [], more: true)
            try peer.reply(to: request, items: [ScriptedItem(account: "c", data: [])], more: false)
            _ = try peer.next()
        }
        let results = try keychain().copy(copyAll([.data, .attributes]))
        #expect(results.count == 3)
        #expect(found(results) == ["a=[1]", "b=[2, 2]", "c=[]"])
        // Reading the results does not consume them.
        #expect(found(results).count == 3)
        let first = results.first()
        let secret = try first?.copyData()
        let octet = secret?.withOctets { $0[0] }
        #expect(octet == 1)
        _ = daemon
    }

    @Test("a list without secrets may be larger than locked memory")
    func longList() throws {
        let daemon = try ScriptedDaemon(home) { peer in
            try peer.welcome()
            let request = try peer.next()
            let name = String(repeating: "n", count: 1000)
            for page in 0..<20 {
                try peer.reply(
                    to: request,
                    items: (0..<900).map { ScriptedItem(account: "\(name)\($0)", data: nil) },
                    more: page < 19
                )
            }
            _ = try peer.next()
        }
        let results = try keychain().copy(copyAll([.attributes]))
        #expect(results.count == 18_000)
        _ = daemon
    }

    @Test("secrets beyond locked memory fail, and the connection stays usable")
    func tooMuch() throws {
        let cancelled = Mutex<[UInt64]>([])
        let daemon = try ScriptedDaemon(home) { peer in
            try peer.welcome()
            let request = try peer.next()
            let secret = [UInt8](repeating: 1, count: 900_000)
            for page in 0..<6 {
                try peer.reply(
                    to: request,
                    items: [ScriptedItem(account: "big", data: secret)],
                    more: page < 5
                )
            }
            while true {
                let next = try peer.next()
                if next.head.method == .cancel {
                    let id = try next.body(CancelRequest.self).id
                    cancelled.withLock { $0.append(id) }
                    try peer.reply(to: next)
                } else {
                    try peer.reply(to: next, CountBody(1))
                }
            }
        }
        let keychain = keychain()
        var error: KeychainError?
        do {
            _ = try keychain.copy(copyAll([.data]))
        } catch let failure {
            error = failure
        }
        #expect(error?.status == .allocate)
        let count = try keychain.delete(
            DeleteItems(query: ItemQuery(itemClass: .key), prompt: PromptFields())
        ).count
        #expect(count == 1)
        #expect(cancelled.withLock { $0 } == [2])
        #expect(daemon.connections == 1)
    }

    @Test("an added secret reaches the daemon byte for byte")
    func add() throws {
        let arrived = Mutex<[UInt8]>([])
        let daemon = try ScriptedDaemon(home) { peer in
            try peer.welcome()
            let request = try peer.next()
            let octets = try request.addedOctets()
            arrived.withLock { $0 = octets }
            try peer.reply(to: request, items: [], more: false)
            _ = try peer.next()
        }
        let octets = (0..<100_000).map { UInt8(truncatingIfNeeded: $0) }
        let item = AddItem(
            itemClass: .genericPassword,
            attributes: [.account: .string("a")],
            accessControl: AccessControl(accessibility: .whenUnlocked),
            data: SecretBytes(copying: octets),
            prompt: PromptFields()
        )
        let results = try keychain().add(item)
        #expect(results.count == 0)
        #expect(arrived.withLock { $0 } == octets)
        _ = daemon
    }

    @Test("requests beyond the daemon's limits are refused before they are sent", arguments: 0..<6)
    func limits(kind: Int) throws {
        let daemon = try ScriptedDaemon(home) { try $0.welcome() }
        let keychain = keychain()
        var attributes: ItemAttributes = [:]
        var limit = ItemQuery.Limit.all
        var references: [PersistentReference] = []
        var prompt = PromptFields()
        var expected = Status.param
        switch kind {
        case 0:
            attributes[.account] = .string(String(repeating: "a", count: ItemLimits.longestAttribute + 1))
            expected = .dataTooLarge
        case 1: for number in 0...64 { attributes[AttributeKey(rawValue: "k\(number)")] = .boolean(true) }
        case 2:
            attributes[AttributeKey(rawValue: String(repeating: "k", count: 33))] = .boolean(true)
            expected = .noSuchAttr
        case 3: limit = .count(0)
        case 4:
            let reference = try #require(PersistentReference(octets: [UInt8](repeating: 0, count: 16)))
            references = Array(repeating: reference, count: 4097)
        default: prompt.reason = String(repeating: "r", count: PromptFields.longestText + 1)
        }
        let query = ItemQuery(
            itemClass: .genericPassword,
            attributes: attributes,
            limit: limit,
            references: references
        )
        #expect(throws: KeychainError(expected)) {
            try keychain.delete(DeleteItems(query: query, prompt: prompt))
        }
        #expect(daemon.connections == 0)
    }

    @Test("a secret that is too long is refused before it is sent")
    func longSecret() throws {
        let item = AddItem(
            itemClass: .genericPassword,
            attributes: [:],
            accessControl: AccessControl(accessibility: .whenUnlocked),
            data: SecretBytes(copying: [UInt8](repeating: 0, count: ItemLimits.longestData + 1)),
            prompt: PromptFields()
        )
        var error: KeychainError?
        do {
            _ = try keychain().add(item)
        } catch let failure {
            error = failure
        }
        #expect(error?.status == .dataTooLarge)
    }
}
