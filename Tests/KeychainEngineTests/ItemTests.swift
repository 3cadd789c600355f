import KeychainEngine
import KeychainModel
import SecretMemory
import Testing

@Suite("Items are added, found, updated and deleted as in Apple's keychain")
struct ItemTests {
    let keychain = TestKeychain()

    @Test("an item is returned with its data, its attributes and those that the store adds")
    func roundTrip() async throws {
        let (engine, _) = try await keychain.setUp()
        let reference = try await engine.add("ann", "secret", attributes: [.label: .string("a label")])
        let found = try await engine.all([.account: .string("ann")], limit: .one)
        let item = try #require(found.first)
        #expect(item.text == "secret")
        #expect(item.reference == reference)
        let expected: ItemAttributes = [
            .account: .string("ann"), .service: .string("tests"), .label: .string("a label"),
            .accessGroup: .string(AccessGroup.ours.name), .accessible: .string("ak"),
            .synchronizable: .boolean(false), AttributeKey(rawValue: "class"): .string("genp"),
            .creationDate: .date(1_700_000_000_000_000), .modificationDate: .date(1_700_000_000_000_000),
        ]
        #expect(item.attributes == expected)
    }

    @Test("an item survives a restart, and a locked keychain reports that it is locked")
    func restart() async throws {
        var (engine, _): (KeychainEngine?, PasscodeKey?) = try await keychain.setUp()
        try await engine?.add("ann", "secret")
        await engine?.close()
        engine = nil
        let next = try await keychain.restart(unlocked: false)
        let error = await #expect(throws: KeychainError.self) { try await next.secret("ann") }
        #expect(error?.status == .interactionNotAllowed)
        #expect(error?.cause == .locked)
        _ = try await next.key(TestKeychain.passcode)
        #expect(try await next.secret("ann") == "secret")
    }

    @Test("before set-up the keychain is not available, and a passcode-set item fails as Apple's does")
    func notSetUp() async throws {
        let engine = try keychain.start()
        await #expect(throws: KeychainError(.notAvailable)) { try await engine.add("ann") }
        await #expect(throws: KeychainError(.authFailed)) {
            try await engine.add("ann", "s", AccessControl(accessibility: .whenPasscodeSetThisDeviceOnly))
        }
    }

    @Test("empty data and absent data are distinguished")
    func emptyData() async throws {
        let (engine, _) = try await keychain.setUp()
        try await engine.add("empty", "")
        try await engine.add("none", nil)
        #expect(try await engine.secret("empty") == "")
        #expect(try await engine.secret("none") == nil)
    }

    @Test("the primary key is unique; other attributes need not be")
    func duplicates() async throws {
        let (engine, _) = try await keychain.setUp()
        try await engine.add("ann")
        await #expect(throws: KeychainError(.duplicateItem)) {
            try await engine.add("ann", "other", attributes: [.label: .string("another label")])
        }
        try await engine.add("ann", attributes: [.synchronizable: .boolean(true)])
        try await engine.add("ann", attributes: [.service: .string("another")])
        try await engine.add("ann", attributes: [.tokenID: .string("token")])
        try await engine.add("ann", group: .theirs)
        try await engine.add("", attributes: [.service: .string("")])
        await #expect(throws: KeychainError(.duplicateItem)) {
            _ = try await engine.add(NewItem(.genericPassword, [:]), group: .ours)
        }
    }

    @Test("a look-up without synchronizable finds local items; any finds both")
    func synchronizable() async throws {
        let (engine, _) = try await keychain.setUp()
        try await engine.add("ann", "local")
        try await engine.add("ann", "synchronised", attributes: [.synchronizable: .integer(1)])
        let local = try await engine.all([.account: .string("ann")])
        #expect(local.map(\.text) == ["local"])
        let both = try await engine.all([.account: .string("ann"), .synchronizable: .string("syna")])
        #expect(both.map(\.text) == ["local", "synchronised"])
        let other = try await engine.all([.account: .string("ann"), .synchronizable: .boolean(true)])
        #expect(other.map(\.text) == ["synchronised"])
    }

    @Test("an item cannot have both constraints and synchronizable")
    func constrainedAndSynchronizable() async throws {
        let (engine, _) = try await keychain.setUp()
        let control = try AccessControl(accessibility: .whenUnlocked, flags: .userPresence)
        await #expect(throws: KeychainError(.param)) {
            try await engine.add("ann", "s", control, attributes: [.synchronizable: .boolean(true)])
        }
    }

    @Test("items are found by indexed and by unindexed attributes")
    func lookups() async throws {
        let (engine, _) = try await keychain.setUp()
        for index in 0..<20 {
            try await engine.add(
                "account \(index)",
                "\(index)",
                attributes: [
                    .service: .string("service \(index % 4)"), .label: .string("label \(index % 5)"),
                    .comment: .string("comment \(index % 2)"), .generic: .data([UInt8(index)]),
                ]
            )
        }
        func find(_ attributes: ItemAttributes) async throws -> [String?] {
            try await engine.all(attributes).map(\.text)
        }
        #expect(try await find([.account: .string("account 7")]) == ["7"])
        #expect(try await find([.service: .string("service 3")]) == ["3", "7", "11", "15", "19"])
        #expect(try await find([.label: .string("label 4")]) == ["4", "9", "14", "19"])
        #expect(try await find([.comment: .string("comment 1"), .service: .string("service 1")]).count == 5)
        #expect(try await find([.generic: .data([12])]) == ["12"])
        #expect(try await find([:]).count == 20)
        #expect(try await find([.service: .string("service 3"), .account: .string("account 7")]) == ["7"])
        await #expect(throws: KeychainError(.itemNotFound)) { try await find([.generic: .string("12")]) }
        await #expect(throws: KeychainError(.itemNotFound)) {
            try await find([.service: .string("service 2"), .account: .string("account 7")])
        }
    }

    @Test("the limit applies to the number of returned items")
    func limits() async throws {
        let (engine, _) = try await keychain.setUp()
        for index in 0..<10 { try await engine.add("account \(index)", "\(index)") }
        #expect(try await engine.all(limit: .one).map(\.text) == ["0"])
        #expect(try await engine.all(limit: .count(3)).map(\.text) == ["0", "1", "2"])
        #expect(try await engine.all(limit: .all).count == 10)
    }

    @Test("a long result is paged without losing items")
    func pages() async throws {
        let (engine, _) = try await keychain.setUp()
        let large = String(repeating: "x", count: 60_000)
        for index in 0..<12 { try await engine.add("account \(index)", large + "\(index)") }
        let query = ItemQuery(itemClass: .genericPassword, limit: .all, returns: .data)
        let first = try await engine.copy(
            query,
            groups: [.ours],
            authorization: ItemAuthorization(),
            after: nil
        )
        guard case .items(let page) = first else { throw MissingValue() }
        let next = page.next
        #expect(next != nil)
        #expect(page.count < 12)
        let found = try await engine.all()
        #expect(found.map { $0.text?.dropFirst(60_000) } == (0..<12).map { "\($0)".dropFirst(0) })
    }

    @Test("a persistent reference finds its item only for the item's access group")
    func references() async throws {
        let (engine, _) = try await keychain.setUp()
        let ours = try await engine.add("ann", "ours")
        let theirs = try await engine.add("ann", "theirs", group: .theirs)
        #expect(try await engine.all(references: [ours]).map(\.text) == ["ours"])
        await #expect(throws: KeychainError(.itemNotFound)) { try await engine.all(references: [theirs]) }
        let query = ItemQuery(itemClass: nil, references: [theirs])
        await #expect(throws: KeychainError(.itemNotFound)) {
            try await engine.delete(query, groups: [.ours])
        }
        let both = try await engine.all(references: [theirs, ours], groups: [.ours, .theirs])
        #expect(both.map(\.text) == ["ours", "theirs"])
        let unknown = try #require(PersistentReference(octets: [UInt8](repeating: 0, count: 16)))
        await #expect(throws: KeychainError(.itemNotFound)) { try await engine.all(references: [unknown]) }
    }

    @Test("access groups do not see each other's items")
    func groups() async throws {
        let (engine, _) = try await keychain.setUp()
        try await engine.add("ann", "ours")
        try await engine.add("ann", "theirs", group: .theirs)
        #expect(try await engine.all().map(\.text) == ["ours"])
        #expect(try await engine.all(groups: [.theirs]).map(\.text) == ["theirs"])
        #expect(try await engine.all(groups: [.ours, .theirs]).count == 2)
        await #expect(throws: KeychainError(.itemNotFound)) {
            try await engine.all([.accessGroup: .string(AccessGroup.theirs.name)])
        }
        #expect(try await engine.delete("ann") == 1)
        #expect(try await engine.all(groups: [.theirs]).map(\.text) == ["theirs"])
    }

    @Test("an update changes the data and the look-up attributes of a match and keeps the rest")
    func update() async throws {
        let (engine, _) = try await keychain.setUp()
        try await engine.add("ann", "old", attributes: [.label: .string("label")])
        #expect(try await engine.update("ann", secret: "new") == .updated(1))
        #expect(try await engine.secret("ann") == "new")
        #expect(try await engine.update("ann", attributes: [.account: .string("bob")]) == .updated(1))
        await #expect(throws: KeychainError(.itemNotFound)) { try await engine.secret("ann") }
        #expect(try await engine.secret("bob") == "new")
        #expect(try await engine.all([.label: .string("label")]).count == 1)
        await #expect(throws: KeychainError(.itemNotFound)) { try await engine.update("ann", secret: "x") }
    }

    @Test("an update that would create a duplicate changes nothing")
    func updateToDuplicate() async throws {
        let (engine, _) = try await keychain.setUp()
        try await engine.add("ann", "a")
        try await engine.add("bob", "b")
        await #expect(throws: KeychainError(.duplicateItem)) {
            try await engine.update("ann", attributes: [.account: .string("bob")])
        }
        #expect(try await engine.secret("ann") == "a")
        #expect(try await engine.secret("bob") == "b")
        let report = await engine.check()
        #expect(report == StoreReport(items: 2, invalidated: 0, damaged: 0, isSetAuthentic: true, faults: []))
    }

    @Test("a delete removes all matches and returns their number")
    func delete() async throws {
        let (engine, _) = try await keychain.setUp()
        for index in 0..<5 { try await engine.add("account \(index)", "\(index)") }
        let query = ItemQuery(itemClass: .genericPassword, attributes: [.service: .string("tests")])
        #expect(try await engine.delete(query, groups: [.ours]) == 5)
        await #expect(throws: KeychainError(.itemNotFound)) {
            try await engine.delete(query, groups: [.ours])
        }
        await #expect(throws: KeychainError(.itemNotFound)) { try await engine.all() }
    }

    @Test("internet passwords and keys have their own primary keys")
    func otherClasses() async throws {
        let (engine, _) = try await keychain.setUp()
        let internet: ItemAttributes = [
            .account: .string("ann"), .server: .string("example.org"), .port: .integer(443),
        ]
        _ = try await engine.add(NewItem(.internetPassword, internet), group: .ours)
        await #expect(throws: KeychainError(.duplicateItem)) {
            _ = try await engine.add(NewItem(.internetPassword, internet), group: .ours)
        }
        var elsewhere = internet
        elsewhere[.port] = .integer(444)
        _ = try await engine.add(NewItem(.internetPassword, elsewhere), group: .ours)
        let key: ItemAttributes = [AttributeKey(rawValue: "atag"): .data([1, 2, 3])]
        _ = try await engine.add(NewItem(.key, key), group: .ours)
        let query = ItemQuery(itemClass: .key, attributes: key, returns: .attributes)
        let outcome = try await engine.copy(
            query,
            groups: [.ours],
            authorization: ItemAuthorization(),
            after: nil
        )
        guard case .items(let page) = outcome else { throw MissingValue() }
        #expect(page.count == 1)
    }

    @Test("an item larger than the maximum data length is refused")
    func tooLarge() async throws {
        let (engine, _) = try await keychain.setUp()
        await #expect(throws: KeychainError(.dataTooLarge)) {
            try await engine.add("large", String(repeating: "x", count: ItemLimits.longestData + 1))
        }
        let longest = String(repeating: "x", count: ItemLimits.longestData)
        try await engine.add("longest", longest)
        #expect(try await engine.secret("longest") == longest)
    }

    // The search queries SQLite's schema inside the deletion's transaction.
    @Test("deleting a missing item right after a start, before the items are read ahead, reports not found")
    func absentAfterStart() async throws {
        do {
            let (engine, _) = try await keychain.setUp()
            try await engine.add("kept", "secret")
            await engine.close()
        }
        let copy = try keychain.copy()
        let next = try await copy.restart()
        await #expect(throws: KeychainError(.itemNotFound)) { try await next.delete("missing") }
        #expect(try await next.secret("kept") == "secret")
    }
}

extension NewItem {
    init(_ itemClass: ItemClass, _ attributes: ItemAttributes) {
        self.init(
            itemClass: itemClass,
            attributes: attributes,
            accessControl: AccessControl(accessibility: .whenUnlocked),
            data: .text("secret")
        )
    }
}
