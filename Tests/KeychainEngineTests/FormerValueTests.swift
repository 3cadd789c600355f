import Foundation
import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting

@testable import KeychainEngine

@Suite("A change that keeps the item as it was")
struct FormerValueTests {
    private static let word = ApplicationPassword(SecretBytes(copying: Array("word".utf8)))
    private static let query = ItemQuery(
        itemClass: .genericPassword,
        attributes: [.account: .string("ann"), .service: .string("tests")]
    )
    private static let kept: ItemAttributes = [
        .service: .string("former"), .account: .string("1 ann"), .label: .string("ann"),
    ]

    /// What the item requires.
    enum Rule: String, CaseIterable {
        case nothing, presence, passcode, currentSet, password

        func control() throws -> AccessControl {
            let flags: AccessControlFlags =
                switch self {
                case .nothing: []
                case .presence: .userPresence
                case .passcode: .devicePasscode
                case .currentSet: .biometryCurrentSet
                case .password: .applicationPassword
                }
            return try AccessControl(accessibility: .whenUnlocked, flags: flags)
        }

        var word: ApplicationPassword? { self == .password ? FormerValueTests.word : nil }
    }

    private static func changes(
        _ secret: String?,
        _ control: AccessControl? = nil,
        attributes: ItemAttributes = [:],
        former: ItemAttributes? = kept
    ) -> ItemChanges {
        ItemChanges(attributes: attributes, accessControl: control, data: secret.asSecret(), former: former)
    }

    private static func values(
        _ engine: KeychainEngine,
        _ attributes: ItemAttributes = [:],
        _ authorization: ItemAuthorization = ItemAuthorization()
    ) async throws -> [String: String?] {
        let found = try await engine.all(
            attributes,
            proofs: authorization.proofs,
            password: authorization.applicationPassword
        )
        return Dictionary(
            found.map { item in
                guard case .string(let account)? = item.attributes?[.account] else { return ("?", nil) }
                return (account, item.text)
            },
            uniquingKeysWith: { first, _ in first }
        )
    }

    private static func proofs(of rule: Rule, key: PasscodeKey) throws -> [AuthenticationProof] {
        guard rule != .nothing, rule != .password else { return [] }
        return [Proofs.of(try rule.control(), [.biometry, .passcode], key: key)]
    }

    /// A keychain whose item was changed and kept.
    private static func changed(
        _ keychain: TestKeychain,
        _ rule: Rule,
        _ loosens: Bool
    ) async throws -> KeychainEngine {
        let (engine, key) = try await keychain.setUp()
        let control = try rule.control()
        try await engine.add("ann", "old", control, attributes: [.comment: .string("c")], password: rule.word)
        let proofs = try proofs(of: rule, key: key)
        let authorization = ItemAuthorization(proofs: proofs, applicationPassword: rule.word)
        if !proofs.isEmpty {
            // Refused first: nothing is changed, and nothing is kept.
            let refused = try await engine.update(
                query,
                groups: [.ours],
                changes: changes("new"),
                authorization: ItemAuthorization()
            )
            #expect(refused == .needsAuthentication([control]))
            #expect(await engine.check().items == 1)
        }
        let loose = AccessControl(accessibility: .whenUnlocked)
        let outcome = try await engine.update(
            query,
            groups: [.ours],
            changes: changes("new", loosens ? loose : nil),
            authorization: authorization
        )
        #expect(outcome == .updated(1))
        return engine
    }

    @Test(
        "both values are there for the same requirement, now and after a restart",
        arguments: Rule.allCases,
        [false, true]
    )
    func rules(_ rule: Rule, _ loosens: Bool) async throws {
        let keychain = TestKeychain()
        let control = try rule.control()
        var running: KeychainEngine? = try await Self.changed(keychain, rule, loosens)
        for isRestarted in [false, true] {
            if isRestarted { try await keychain.restart(&running) }
            let engine = try #require(running)
            let proofs = try Self.proofs(of: rule, key: await engine.key(TestKeychain.passcode))
            let authorization = ItemAuthorization(proofs: proofs, applicationPassword: rule.word)
            #expect(try await Self.values(engine, [:], authorization) == ["ann": "new", "1 ann": "old"])
            let former = try #require(
                try await engine.all(Self.kept, returns: [.attributes, .persistentRef]).first?.attributes
            )
            #expect(former[.comment] == .string("c") && former[.label] == .string("ann"))
            if !control.flags.isEmpty { #expect(former[.accessControl] == .data(control.encoded)) }
            let report = await engine.check()
            #expect(report.isWell && report.items == 2, "\(report)")
            if rule != .nothing {
                // Without what the item required, the former value stays closed, whatever the item requires now.
                await #expect(throws: (any Error).self) { _ = try await engine.all(Self.kept) }
            }
        }
    }

    @Test("a name that is taken, a full keychain, too many attributes, and a key's item: nothing is changed")
    func refusals() async throws {
        let keychain = TestKeychain(mostItems: 3)
        let (engine, _) = try await keychain.setUp()
        try await engine.add("ann", "old")
        try await engine.add("1 ann", "other", attributes: [.service: .string("former")])
        func change(_ former: ItemAttributes) async throws {
            _ = try await engine.update(
                Self.query,
                groups: [.ours],
                changes: Self.changes("new", former: former),
                authorization: ItemAuthorization()
            )
        }
        await #expect(throws: KeychainError(.duplicateItem)) { try await change(Self.kept) }
        await #expect(throws: KeychainError(.duplicateItem)) { try await change([:]) }
        try await engine.add("third")
        let full = await #expect(throws: KeychainError.self) {
            try await change([.account: .string("2 ann")])
        }
        #expect(full?.cause?.known == .storeFull)
        let many = Dictionary(
            uniqueKeysWithValues: (0...ItemLimits.mostAttributes).map {
                (AttributeKey(rawValue: "x\($0)"), AttributeValue.integer(1))
            }
        )
        var attributes = ItemAttributes()
        for (key, value) in many { attributes[key] = value }
        await #expect(throws: KeychainError.self) { try await change(attributes) }
        #expect(
            try await Self.values(engine) == ["ann": "old", "1 ann": "other", "third": "secret"]
        )
        #expect(try await engine.delete("third") == 1)
        let key = try await engine.makeKey(.privateKeyUsage)
        try await engine.add("holder", "record", attributes: [.namedKeys: .keys([key.representation])])
        await #expect(throws: KeychainError(.param)) {
            _ = try await engine.update(
                ItemQuery(itemClass: .genericPassword, attributes: [.account: .string("holder")]),
                groups: [.ours],
                changes: Self.changes("new"),
                authorization: ItemAuthorization()
            )
        }
        #expect(try await engine.secret("holder") == "record")
        #expect(await engine.check().isWell)
    }

    @Test(
        "what is kept under other attributes can be found by them, and the item keeps its reference and creation date"
    )
    func identity() async throws {
        let keychain = TestKeychain()
        let reference = try await Self.filled(keychain) { engine in try await engine.add("ann", "old") }
        let later = try keychain.start(time: 1_800_000_000_000_000)
        _ = try await later.key(TestKeychain.passcode)
        _ = try await later.update(
            Self.query,
            groups: [.ours],
            changes: Self.changes("new", attributes: [.label: .string("renewed")]),
            authorization: ItemAuthorization()
        )
        let item = try #require(try await later.all([.label: .string("renewed")]).first)
        #expect(item.reference == reference && item.text == "new")
        #expect(item.attributes?[.creationDate] == .date(1_700_000_000_000_000))
        #expect(item.attributes?[.modificationDate] == .date(1_800_000_000_000_000))
        let former = try #require(try await later.all([.label: .string("ann")]).first)
        #expect(former.reference != reference && former.text == "old")
        // When that value was stored.
        #expect(former.attributes?[.modificationDate] == .date(1_700_000_000_000_000))
        #expect(former.attributes?[.creationDate] == .date(1_700_000_000_000_000))
    }

    // MARK: Ends

    private static let day: Int64 = 86_400_000_000
    private static let start: Int64 = 1_700_000_000_000_000

    /// Sets a keychain up and closes it.
    private static func filled<R: Sendable>(
        _ keychain: TestKeychain,
        _ body: (KeychainEngine) async throws -> R
    ) async throws -> R {
        let (engine, _) = try await keychain.setUp()
        let result = try await body(engine)
        await engine.close()
        return result
    }

    /// Waits until the items are these, with a deadline that suits the slowest machine.
    private static func waits(_ engine: KeychainEngine, for names: Set<String>) async throws -> Bool {
        let found = try? await Deadline.wait(for: "\(names)") {
            Set(try await values(engine).keys) == names ? true : nil
        }
        return found == true
    }

    @Test(
        "an item is deleted once its end has come: after a restart, in a running daemon, and not while it is locked"
    )
    func ends() async throws {
        let keychain = TestKeychain(sweepDelay: .milliseconds(10))
        try await Self.filled(keychain) { engine in
            try await engine.add("stays")
            for day in 1...3 {
                try await engine.add(
                    "day \(day)",
                    attributes: [.ends: .date(Self.start + Int64(day) * Self.day)]
                )
            }
            // More than are read at once, of another group.
            for number in 0..<300 {
                try await engine.add(
                    "\(number)",
                    attributes: [.ends: .date(Self.start + Self.day)],
                    group: .theirs
                )
            }
            #expect(await engine.check().items == 304)
        }

        let now = Guarded(Self.start + Self.day)
        let running = try keychain.start(clock: { now.withLock { $0 } })
        // Locked: nothing can be opened, so nothing is deleted.
        #expect(await running.state() == .locked)
        _ = try await running.key(TestKeychain.passcode)
        #expect(try await Self.waits(running, for: ["stays", "day 2", "day 3"]))
        let isGone = try? await Deadline.wait(for: "the other group") {
            await running.check().items == 3 ? true : nil
        }
        #expect(isGone == true)
        now.withLock { $0 += Self.day }
        await running.lock()
        _ = try await running.key(TestKeychain.passcode)
        #expect(try await Self.waits(running, for: ["stays", "day 3"]))
        let report = await running.check()
        #expect(report.isWell && report.items == 2, "\(report)")
    }

    @Test(
        "an end that an add or a change sets is noticed, one that a change moves counts no more"
    )
    func changes() async throws {
        let keychain = TestKeychain(sweepDelay: .milliseconds(10))
        try await Self.filled(keychain) { first in
            try await first.add("moved", attributes: [.ends: .date(Self.start + Self.day)])
            #expect(
                try await first.update("moved", attributes: [.ends: .date(Self.start + 3 * Self.day)])
                    == .updated(1)
            )
        }
        let engine = try keychain.start(time: Self.start + 2 * Self.day)
        _ = try await engine.key(TestKeychain.passcode)
        try await engine.add("ended", attributes: [.ends: .date(Self.start)])
        #expect(try await Self.waits(engine, for: ["moved"]))
        try await engine.add("by change")
        #expect(
            try await engine.update("by change", attributes: [.ends: .date(Self.start)]) == .updated(1)
        )
        #expect(try await Self.waits(engine, for: ["moved"]))
        #expect(await engine.check().isWell)
    }
}
