import Foundation
import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting

@testable import KeychainEngine

@Suite("Replacing an item without reading it")
struct ReplaceTests {
    /// What the former and the new item require.
    enum Guarding: String, CaseIterable {
        case nobody, passcode, presence, currentSet, password

        func control() throws -> AccessControl {
            let flags: AccessControlFlags =
                switch self {
                case .nobody: []
                case .passcode: .devicePasscode
                case .presence: .userPresence
                case .currentSet: .biometryCurrentSet
                case .password: .applicationPassword
                }
            return try AccessControl(accessibility: .whenUnlocked, flags: flags)
        }
    }

    private static let named: ItemAttributes = [.account: .string("ann"), .service: .string("tests")]
    private static let word = ApplicationPassword(SecretBytes(copying: Array("word".utf8)))

    private static func query(_ attributes: ItemAttributes = named) -> ItemQuery {
        ItemQuery(itemClass: .genericPassword, attributes: attributes)
    }

    private static func new(
        _ secret: String?,
        _ control: AccessControl,
        _ attributes: ItemAttributes = [:],
        mark: String? = nil,
        keepsSame: Bool = false
    ) -> ReplacingItem {
        let item = NewItem(
            itemClass: .genericPassword,
            attributes: named.merging(attributes) { $1 },
            accessControl: control,
            data: secret.asSecret()
        )
        return ReplacingItem(item: item, mark: mark.asSecret(), keepsSame: keepsSame)
    }

    /// The item as its owner reads it.
    private static func read(
        _ engine: KeychainEngine,
        _ control: AccessControl,
        _ key: PasscodeKey
    ) async throws -> CopiedItem? {
        try await engine.all(
            named,
            proofs: [Proofs.of(control, [.biometry, .passcode], key: key)],
            password: control.needsApplicationPassword ? word : nil
        ).first
    }

    private static func read(_ engine: KeychainEngine, _ guarding: Guarding, _ key: PasscodeKey) async throws
        -> CopiedItem?
    {
        try await read(engine, guarding.control(), key)
    }

    @Test(
        "every kind of item takes every other's place, with its reference and creation date, before and after a restart",
        arguments: Guarding.allCases,
        Guarding.allCases
    )
    func place(former: Guarding, later: Guarding) async throws {
        let keychain = TestKeychain()
        var (engine, key): (KeychainEngine?, PasscodeKey) = try await keychain.setUp()
        let password = former == .password ? Self.word : nil
        let reference = try await engine.required.add("ann", "old", former.control(), password: password)
        await engine?.close()
        engine = nil
        engine = try keychain.start(time: 1_800_000_000_000_000)
        key = try await engine.required.key(TestKeychain.passcode)
        let outcome = try await engine.required.replace(
            Self.query(),
            with: Self.new("new", later.control(), [.label: .string("later")]),
            password: later == .password ? Self.word : nil
        )
        #expect(outcome == .replaced)
        for _ in 0..<2 {
            let item = try #require(try await Self.read(engine.required, later, key))
            #expect(item.text == "new" && item.reference == reference)
            #expect(item.attributes?[.creationDate] == .date(1_700_000_000_000_000))
            #expect(item.attributes?[.label] == .string("later"))
            if later != .nobody {
                // The former rule opens nothing any more.
                await #expect(throws: (any Error).self) {
                    try await engine.required.all(Self.named, ui: .fail)
                }
            }
            let report = await engine?.check()
            #expect(report?.items == 1 && report?.isSetAuthentic == true && report?.damaged == 0)
            try await keychain.restart(&engine)
            key = try await engine.required.key(TestKeychain.passcode)
        }
        await engine?.close()
    }

    @Test("what protected something is counted by the hardware at once; an item without constraints is not")
    func counted() async throws {
        for former in Guarding.allCases {
            let keychain = TestKeychain()
            let (engine, _) = try await keychain.setUp()
            // Its directory is there until the engine is closed.
            defer { withExtendedLifetime(keychain) {} }
            try await engine.add(
                "ann",
                "old",
                former.control(),
                password: former == .password ? Self.word : nil
            )
            let generation = engine.items.countFromNow()
            // Nothing else makes it due.
            engine.items.withState { $0.store?.commitsSinceCount = 0 }
            let outcome = try engine.items.replace(
                Self.query(),
                groups: [.ours],
                with: Self.new("new", Guarding.nobody.control()),
                group: .ours,
                authorization: ItemAuthorization()
            )
            let isCounted: Bool
            switch outcome {
            case .needsHardware(.replaced): isCounted = true
            default: isCounted = false
            }
            #expect(isCounted == (former != .nobody), "\(former)")
            #expect(engine.items.generation == generation + (former == .nobody ? 0 : 1))
        }
    }

    /// Why a replacement is refused.
    enum Refusal: String, CaseIterable {
        case noFinger, tooLarge, full, tooManyAttributes, synchronizable, otherName, noPassword, locked
    }

    @Test(
        "a refused replacement leaves the former item whole: every refusal, every kind of former item",
        arguments: Refusal.allCases,
        Guarding.allCases
    )
    func refused(refusal: Refusal, former: Guarding) async throws {
        // Without an enrolled set no item can be bound to it.
        if refusal == .noFinger, former == .currentSet { return }
        let keychain = TestKeychain(mostItems: 2)
        let (engine, key) = try await keychain.setUp(
            enrolled: refusal == .noFinger ? nil : TestKeychain.enrolled
        )
        let reference = try await engine.add(
            "ann",
            "old",
            former.control(),
            password: former == .password ? Self.word : nil
        )
        try await engine.add("bob", "other", attributes: [.label: .string("bob's")])
        let before = try #require(try await Self.read(engine, former, key))
        var query = Self.query()
        let new: () throws -> ReplacingItem
        let status: Status
        switch refusal {
        case .noFinger:
            new = { try Self.new("new", Guarding.currentSet.control()) }
            status = .authFailed
        case .tooLarge:
            let long = String(repeating: "x", count: ItemLimits.longestData + 1)
            new = { try Self.new(long, former.control()) }
            status = .dataTooLarge
        case .full:
            query = Self.query([.account: .string("eve"), .service: .string("tests")])
            let (attributes, control) = (query.attributes, try Guarding.nobody.control())
            func item() -> NewItem {
                NewItem(
                    itemClass: .genericPassword,
                    attributes: attributes,
                    accessControl: control,
                    data: .text("new")
                )
            }
            new = { ReplacingItem(item: item(), mark: nil, keepsSame: false) }
            status = .diskFull
        case .tooManyAttributes:
            var attributes: ItemAttributes = [:]
            for number in 0...ItemLimits.mostAttributes {
                attributes[AttributeKey(rawValue: "n\(number)")] = .integer(1)
            }
            new = { try Self.new("new", Guarding.nobody.control(), attributes) }
            status = .param
        case .synchronizable:
            let attributes: ItemAttributes = [.synchronizable: .boolean(true)]
            new = { try Self.new("new", Guarding.passcode.control(), attributes) }
            status = .param
        case .otherName:
            // The query finds ann, the name is bob's: bob stays, too.
            let name: ItemAttributes = [.account: .string("bob")]
            new = { try Self.new("new", Guarding.nobody.control(), name) }
            status = .duplicateItem
        case .noPassword:
            new = { try Self.new("new", Guarding.password.control()) }
            status = .authFailed
        case .locked:
            await engine.lock()
            new = { try Self.new("new", Guarding.nobody.control()) }
            status = .interactionNotAllowed
        }
        let error = await #expect(throws: KeychainError.self) {
            try await engine.replace(query, with: new())
        }
        #expect(error?.status == status)
        let keyNow = refusal == .locked ? try await engine.key(TestKeychain.passcode) : key
        let after = try #require(try await Self.read(engine, former, keyNow))
        #expect(after.text == "old" && after.reference == reference && after.attributes == before.attributes)
        #expect(try await engine.secret("bob") == "other")
        let report = await engine.check()
        #expect(report.items == 2 && report.isSetAuthentic && report.damaged == 0)
        await engine.close()
    }

    @Test("without a match the item is added; invalidated items and further matches are replaced, too")
    func others() async throws {
        let keychain = TestKeychain()
        let (engine, _) = try await keychain.setUp()
        let plain = try Guarding.nobody.control()
        #expect(try await engine.replace(Self.query(), with: Self.new("one", plain)) == .added)
        #expect(try await engine.secret("ann") == "one")
        #expect(
            try await engine.replace(Self.query(), with: Self.new("a", Guarding.currentSet.control()))
                == .replaced
        )
        let other = Enrolment(device: "sensor", fingers: ["right-index"], templateDigest: nil, completions: 0)
        #expect(try await engine.observe(other).changed)
        // The item can never be opened again.
        #expect(try await engine.replace(Self.query(), with: Self.new("two", plain)) == .replaced)
        #expect(try await engine.secret("ann") == "two")
        for account in ["bob", "eve"] { try await engine.add(account) }
        let all = Self.query([.service: .string("tests")])
        #expect(try await engine.replace(all, with: Self.new("three", plain)) == .replaced)
        #expect(try await engine.all().map(\.text) == ["three"])
        #expect(await engine.check().isSetAuthentic)
        await engine.close()
    }

    @Test(
        "eight threads that replace one item at once leave one of their values, whole",
        arguments: Guarding.allCases
    )
    func concurrent(former: Guarding) async throws {
        let keychain = TestKeychain()
        let (engine, key) = try await keychain.setUp()
        let word = former == .password ? Self.word : nil
        try await engine.add("ann", "old", former.control(), password: word)
        let rounds = CaseSize.of(4, full: 40)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for thread in 0..<8 {
                group.addTask {
                    for round in 0..<rounds {
                        let value = "\(thread) \(round)"
                        let control = try (round % 2 == 0 ? Guarding.nobody : former).control()
                        try await engine.replace(
                            Self.query(),
                            with: Self.new(value, control, [.label: .string(value)]),
                            password: word
                        )
                    }
                }
            }
            try await group.waitForAll()
        }
        let stored = try #require(try await engine.all(Self.named, returns: [.attributes]).first?.attributes)
        var item = try await Self.read(engine, former, key)
        if stored[.accessControl] == nil { item = try await Self.read(engine, .nobody, key) }
        #expect(item?.attributes?[.label] == item?.text.map { .string($0) })
        #expect(await engine.check().items == 1)
        await engine.close()
    }

    // MARK: Marks

    /// What of an item differs from what is stored.
    enum Difference: String, CaseIterable {
        case nothing, secret, mark, attributes, control, noMark
    }

    @Test(
        "the same item is not written again, any other is: every difference, every kind of item",
        arguments: Difference.allCases,
        Guarding.allCases
    )
    func same(difference: Difference, former: Guarding) async throws {
        let keychain = TestKeychain()
        let (engine, key) = try await keychain.setUp()
        let control = try former.control()
        let word = former == .password ? Self.word : nil
        for outcome in [Replacement.added, .unchanged] {
            let item = Self.new("line\npart", control, mark: "part", keepsSame: true)
            #expect(try await engine.replace(Self.query(), with: item, password: word) == outcome)
        }
        let otherControl = try (former == .nobody ? Guarding.passcode : .nobody).control()
        let item = Self.new(
            difference == .secret ? "other\npart" : "line\npart",
            difference == .control ? otherControl : control,
            difference == .attributes ? [.generic: .data([1])] : [:],
            mark: difference == .noMark ? nil : difference == .mark ? "line" : "part",
            keepsSame: true
        )
        let outcome = try await engine.replace(Self.query(), with: item, password: word)
        #expect(outcome == (difference == .nothing ? .unchanged : .replaced))
        let read = try await Self.read(engine, difference == .control ? otherControl : control, key)
        #expect(read?.text == (difference == .secret ? "other\npart" : "line\npart"))
        await engine.close()
    }

    @Test(
        "a secret is compared without a prompt, and only the item that has it is erased",
        arguments: Guarding.allCases
    )
    func erase(former: Guarding) async throws {
        let keychain = TestKeychain()
        var (engine, key): (KeychainEngine?, PasscodeKey) = try await keychain.setUp()
        let control = try former.control()
        let word = former == .password ? Self.word : nil
        // Secret, mark, and guesses with what they do.
        let cases: [(secret: String, mark: String?, [(guess: String, Erasure)])] = [
            (
                "p", "p",
                [("q", Erasure(different: 1)), ("", Erasure(different: 1)), ("p", Erasure(deleted: 1))]
            ),
            ("", "", [("p", Erasure(different: 1)), ("", Erasure(deleted: 1))]),
            ("a\np", "p", [("a", Erasure(different: 1)), ("p", Erasure(deleted: 1))]),
            ("a\np", "p", [("a\np", Erasure(deleted: 1))]),
            ("p", nil, [("q", Erasure(unknown: 1)), ("p", Erasure(unknown: 1))]),
        ]
        for (secret, mark, guesses) in cases {
            try await engine.required.replace(
                Self.query(),
                with: Self.new(secret, control, mark: mark),
                password: word
            )
            try await keychain.restart(&engine)
            for (guess, outcome) in guesses {
                #expect(try await engine.required.erase(Self.query(), secret: guess) == outcome)
                let found = try? await engine.required.all(Self.named, returns: .attributes)
                #expect(found?.count == (outcome.deleted == 0 ? 1 : nil), "\(secret) \(guess)")
            }
        }
        // The others of a search stay.
        for (account, secret) in [("bob", "p"), ("eve", "q")] {
            let name: ItemAttributes = [.account: .string(account)]
            let item = Self.new(secret, control, name, mark: secret)
            try await engine.required.replace(Self.query(name), with: item, password: word)
        }
        let all = Self.query([.service: .string("tests")])
        #expect(
            try await engine.required.erase(all, secret: "p") == Erasure(deleted: 1, different: 1, unknown: 1)
        )
        let left = try await engine.required.all(returns: .attributes).compactMap { $0.attributes?[.account] }
        #expect(left == [.string("ann"), .string("eve")])
        await #expect(throws: KeychainError(.itemNotFound)) {
            try await engine.required.erase(Self.query(), secret: "p", groups: [.theirs])
        }
        _ = key
        await engine?.close()
    }

    @Test("a mark follows the item's changes, and two items with the same secret have different marks")
    func changes() async throws {
        let keychain = TestKeychain()
        let (engine, _) = try await keychain.setUp()
        let plain = try Guarding.nobody.control()
        func store(_ account: String, _ secret: String, mark: String) async throws {
            let name: ItemAttributes = [.account: .string(account), .service: .string("tests")]
            try await engine.replace(Self.query(name), with: Self.new(secret, plain, name, mark: mark))
        }
        func mark(_ account: String) async throws -> AttributeValue? {
            let name: ItemAttributes = [.account: .string(account)]
            return try await engine.all(name, returns: .attributes).first?.attributes?[.secretMark]
        }
        func erasure(_ account: String, _ guess: String) async throws -> Erasure {
            try await engine.erase(Self.query([.account: .string(account)]), secret: guess)
        }
        for account in ["ann", "bob"] { try await store(account, "p", mark: "p") }
        try await store("eve", "a\np", mark: "p")
        #expect(try await mark("ann") != mark("bob"))
        // Nobody but the store makes a mark.
        let forged = try await mark("bob")
        _ = try await engine.update("ann", attributes: [.secretMark: forged.required, .label: .string("l")])
        #expect(try await mark("ann") != forged)
        #expect(try await erasure("ann", "q") == Erasure(different: 1))
        try await engine.add("max", "p", attributes: [.secretMark: forged.required])
        #expect(try await mark("max") == nil)
        for account in ["ann", "eve"] { _ = try await engine.update(account, secret: "new") }
        #expect(try await erasure("ann", "p") == Erasure(different: 1))
        #expect(try await erasure("ann", "new") == Erasure(deleted: 1))
        // Which part of the new secret counts is unknown.
        #expect(try await erasure("eve", "p") == Erasure(unknown: 1))
        #expect(try await erasure("eve", "new") == Erasure(deleted: 1))
        await engine.close()
    }

    @Test("a backup keeps that a secret is compared, but no digest")
    func export() async throws {
        let old = try await OldKeychain()
        let plain = try Guarding.nobody.control()
        for (account, secret) in [("ann", "p"), ("eve", "a\np")] {
            let name: ItemAttributes = [.account: .string(account)]
            try await old.engine.replace(Self.query(name), with: Self.new(secret, plain, name, mark: "p"))
        }
        let export = try await old.export()
        let there = TestKeychain()
        let later = try there.start()
        #expect(try await later.setUp(from: export.octets(), code: old.code) == 2)
        let ann = Self.query([.account: .string("ann")])
        #expect(try await later.erase(ann, secret: "q") == Erasure(different: 1))
        #expect(try await later.erase(ann, secret: "p") == Erasure(deleted: 1))
        let eve = Self.query([.account: .string("eve")])
        #expect(try await later.erase(eve, secret: "p") == Erasure(unknown: 1))
        #expect(try await later.secret("eve") == "a\np")
        await later.close()
    }
}
