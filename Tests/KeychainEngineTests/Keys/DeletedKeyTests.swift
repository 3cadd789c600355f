import Foundation
import GRDB
import KeychainEngine
import KeychainModel
import SecretMemory
import Testing

@Suite("A private key that was deleted")
struct DeletedKeyTests {
    let keychain = TestKeychain()

    /// An item that a key is deleted with.
    enum Holder: String, CaseIterable, Sendable {
        /// A permanent key of `Security`: the item's data is the representation.
        case key
        /// A password that names the key, as `Touchstone` and rights store it.
        case password

        var itemClass: ItemClass { self == .key ? .key : .genericPassword }

        func attributes(_ name: String, of key: EnclaveKey) -> ItemAttributes {
            switch self {
            case .key:
                [AttributeKey(rawValue: "atag"): .string(name), .tokenID: .string("com.apple.setoken")]
            case .password: [.account: .string(name), .namedKeys: .keys([key.representation])]
            }
        }

        func query(_ name: String) -> ItemQuery {
            let attribute: AttributeKey = self == .key ? AttributeKey(rawValue: "atag") : .account
            return ItemQuery(itemClass: itemClass, attributes: [attribute: .string(name)])
        }
    }

    private func item(_ holder: Holder, _ name: String, _ key: EnclaveKey) throws -> NewItem {
        NewItem(
            itemClass: holder.itemClass,
            attributes: holder.attributes(name, of: key),
            accessControl: holder == .key
                ? try AccessControl(accessibility: .whenUnlocked, flags: .privateKeyUsage)
                : AccessControl(accessibility: .afterFirstUnlockThisDeviceOnly),
            data: SecretBytes(copying: holder == .key ? key.representation : Array("a record".utf8))
        )
    }

    private func add(
        _ engine: KeychainEngine,
        _ holder: Holder,
        _ key: EnclaveKey,
        as name: String = "key",
        group: AccessGroup = .ours
    ) async throws {
        _ = try await engine.add(try item(holder, name, key), group: group)
    }

    private func change(
        _ engine: KeychainEngine,
        _ holder: Holder,
        _ attributes: ItemAttributes,
        data: [UInt8]? = nil,
        of name: String = "key"
    ) async throws -> UpdateOutcome {
        try await engine.update(
            holder.query(name),
            groups: [.ours, .theirs],
            changes: ItemChanges(
                attributes: attributes,
                accessControl: nil,
                data: data.map { SecretBytes(copying: $0) }
            ),
            authorization: ItemAuthorization()
        )
    }

    /// Expects that every question about the key and every use of it says that it was deleted.
    private func expectDeleted(
        _ key: EnclaveKey,
        _ engine: KeychainEngine,
        _ when: Comment,
        group: AccessGroup = .ours,
        proofs: [AuthenticationProof] = []
    ) async {
        let uses: [KeyUse] = [
            .sign(digest: Letter.digest), .agree(publicKey: key.publicKey),
            .decrypt(publicKey: key.publicKey),
        ]
        for use in uses {
            let error = await #expect(throws: KeychainError(.itemNotFound), when) {
                try await engine.result(key, use, group: group, proofs: proofs)
            }
            #expect(error?.cause == .deleted, when)
        }
        let read = await #expect(throws: KeychainError(.itemNotFound), when) {
            try await engine.key(key.representation, groups: [group])
        }
        #expect(read?.cause == .deleted, when)
        let attested = await #expect(throws: KeychainError(.itemNotFound), when) {
            _ = try await engine.attest(
                key.representation,
                qualifyingData: [1],
                groups: [group],
                authorization: ItemAuthorization(proofs: proofs)
            )
        }
        #expect(attested?.cause == .deleted, when)
    }

    /// A way to delete the item of a key.
    enum Way: CaseIterable, Sendable {
        case delete, deleteAll, replace, otherData, move
    }

    private func take(_ way: Way, _ engine: KeychainEngine, _ holder: Holder) async throws {
        switch way {
        case .delete: #expect(try await engine.delete(holder.query("key"), groups: [.ours]) == 1)
        case .deleteAll:
            let all = ItemQuery(itemClass: holder.itemClass, limit: .all)
            #expect(try await engine.delete(all, groups: [.ours]) == 1)
        case .replace:
            let other = try await engine.makeKey(.privateKeyUsage)
            let new = ReplacingItem(item: try item(holder, "key", other), mark: nil, keepsSame: false)
            #expect(try await engine.replace(holder.query("key"), with: new) == .replaced)
            #expect(try other.signed(try await engine.result(other)))
        case .otherData:
            let other = try await engine.makeKey(.privateKeyUsage)
            let named: ItemAttributes =
                holder == .password ? [.namedKeys: .keys([other.representation])] : [:]
            #expect(try await change(engine, holder, named, data: other.representation) == .updated(1))
            #expect(try other.signed(try await engine.result(other)))
        case .move:
            // Programs of the other group delete it.
            let group: ItemAttributes = [.accessGroup: .string(AccessGroup.theirs.name)]
            #expect(try await change(engine, holder, group) == .updated(1))
            #expect(try await engine.delete(holder.query("key"), groups: [.theirs]) == 1)
        }
    }

    @Test(
        "no copy of its representation is used after its item was deleted, replaced or got another key, nor after a restart",
        arguments: Holder.allCases,
        Way.allCases
    )
    func ended(_ holder: Holder, _ way: Way) async throws {
        var engine: KeychainEngine? = try await keychain.setUp().0
        let key = try await engine.required.makeKey(.privateKeyUsage)
        let other = try await engine.required.makeKey(.privateKeyUsage)
        try await add(engine.required, holder, key)
        #expect(try key.signed(try await engine.required.result(key)))
        try await take(way, engine.required, holder)
        await expectDeleted(key, engine.required, "\(way)")
        try await keychain.restart(&engine)
        await expectDeleted(key, engine.required, "\(way), restarted")
        #expect(try other.signed(try await engine.required.result(other)))
        await engine?.lock()
        await expectDeleted(key, engine.required, "\(way), locked")
        let report = await engine.required.check()
        #expect(report.isSetAuthentic && report.damaged == 0, "\(report)")
    }

    @Test("an item that is compared by its secret takes its key with it when it is erased")
    func erased() async throws {
        let (engine, _) = try await keychain.setUp()
        let key = try await engine.makeKey(.privateKeyUsage)
        let new = ReplacingItem(
            item: try item(.password, "key", key),
            mark: .text("a record"),
            keepsSame: false
        )
        #expect(try await engine.replace(Holder.password.query("key"), with: new) == .added)
        let query = Holder.password.query("key")
        #expect(try await engine.erase(query, secret: "another") == Erasure(different: 1))
        #expect(try key.signed(try await engine.result(key)))
        #expect(try await engine.erase(query, secret: "a record") == Erasure(deleted: 1))
        await expectDeleted(key, engine, "erased")
    }

    @Test("a proof that was given before opens it no more")
    func proven() async throws {
        let (engine, passcode) = try await keychain.setUp()
        let key = try await engine.makeKey([.devicePasscode, .privateKeyUsage])
        try await add(engine, .key, key)
        func proofs() -> [AuthenticationProof] {
            [Proofs.of(key.accessControl, [.passcode], key: passcode, operation: .useKeySign)]
        }
        #expect(try key.signed(try await engine.result(key, proofs: proofs())))
        #expect(try await engine.delete(Holder.key.query("key"), groups: [.ours]) == 1)
        await expectDeleted(key, engine, "with a proof", proofs: proofs())
    }

    @Test("what changes anything else of its item leaves the key", arguments: Holder.allCases)
    func changed(_ holder: Holder) async throws {
        let (engine, _) = try await keychain.setUp()
        let key = try await engine.makeKey(.privateKeyUsage)
        try await add(engine, holder, key)
        #expect(try await change(engine, holder, [.label: .string("a label")]) == .updated(1))
        let data = holder == .key ? key.representation : [1]
        #expect(try await change(engine, holder, [.label: .string("another")], data: data) == .updated(1))
        let same = ReplacingItem(item: try item(holder, "key", key), mark: nil, keepsSame: false)
        #expect(try await engine.replace(holder.query("key"), with: same) == .replaced)
        #expect(try key.signed(try await engine.result(key)))
        // Deleting nothing deletes no key.
        await #expect(throws: KeychainError(.itemNotFound)) {
            try await engine.delete(holder.query("other"), groups: [.ours])
        }
        await #expect(throws: KeychainError(.itemNotFound)) {
            try await engine.delete(holder.query("key"), groups: [.theirs])
        }
        #expect(try key.signed(try await engine.result(key)))
        #expect(try await engine.delete(holder.query("key"), groups: [.ours]) == 1)
        await expectDeleted(key, engine, "still named after the changes")
    }

    @Test("the first of two items ends it, and it cannot be stored again", arguments: Holder.allCases)
    func storedAgain(_ holder: Holder) async throws {
        let (engine, _) = try await keychain.setUp()
        let key = try await engine.makeKey(.privateKeyUsage)
        try await add(engine, holder, key, as: "one")
        try await add(engine, holder, key, as: "two")
        #expect(try await engine.delete(holder.query("one"), groups: [.ours]) == 1)
        await expectDeleted(key, engine, "the first of two")
        func refused(_ body: () async throws -> Void) async {
            let error = await #expect(throws: KeychainError(.itemNotFound)) { try await body() }
            #expect(error?.cause == .deleted)
        }
        await refused { try await add(engine, holder, key, as: "one") }
        await refused {
            let new = ReplacingItem(item: try item(holder, "three", key), mark: nil, keepsSame: false)
            _ = try await engine.replace(holder.query("three"), with: new)
        }
        let other = try await engine.makeKey(.privateKeyUsage)
        try await add(engine, holder, other, as: "four")
        await refused {
            let named: ItemAttributes = holder == .key ? [:] : [.namedKeys: .keys([key.representation])]
            _ = try await change(engine, holder, named, data: key.representation, of: "four")
        }
        #expect(try other.signed(try await engine.result(other)))
        // The second item is deleted like any other.
        #expect(try await change(engine, holder, [.label: .string("l")], of: "two") == .updated(1))
        #expect(try await engine.delete(holder.query("two"), groups: [.ours]) == 1)
        #expect(try await engine.delete(holder.query("four"), groups: [.ours]) == 1)
        await expectDeleted(other, engine, "the other")
        let report = await engine.check()
        #expect(report.isSetAuthentic && report.damaged == 0 && report.items == 0, "\(report)")
    }

    @Test("a program cannot end a key of a group that it does not belong to")
    func foreign() async throws {
        let (engine, _) = try await keychain.setUp()
        let victim = try await engine.makeKey(.privateKeyUsage, group: .theirs)
        await #expect(throws: KeychainError(.decode)) { try await add(engine, .password, victim) }
        for value in [AttributeValue.string("x"), .data([1]), .keys(Array(repeating: [1], count: 4))] {
            let item = NewItem(
                itemClass: .genericPassword,
                attributes: [.account: .string("key"), .namedKeys: value],
                accessControl: AccessControl(accessibility: .whenUnlocked),
                data: .text("x")
            )
            await #expect(throws: KeychainError(.param)) { _ = try await engine.add(item, group: .ours) }
        }
        // Its ids are public keys' digests, which a program may know; the store makes them itself.
        try await add(engine, .key, victim)
        let own = try await engine.makeKey(.privateKeyUsage)
        try await add(engine, .password, own)
        let found = try await engine.all([.account: .string("key")], returns: .attributes)
        guard case .data(let ids)? = found.first?.attributes?[.heldKeys] else {
            Issue.record("no keys are held")
            return
        }
        #expect(ids.count == 16)
        try await engine.add("forged", attributes: [.heldKeys: .data(ids)])
        for name in ["forged"] { #expect(try await engine.delete(name) == 1) }
        #expect(try await engine.delete(Holder.key.query("key"), groups: [.ours]) == 1)
        #expect(try victim.signed(try await engine.result(victim, group: .theirs)))
        #expect(try own.signed(try await engine.result(own)))
    }

    /// An item of an earlier version does not say which key its data are; here, one that came with its key from elsewhere.
    @Test("an item that does not name its key takes it along, for which the keychain has to be unlocked")
    func unnamed() async throws {
        let (engine, _) = try await keychain.setUp()
        let key = try await engine.makeKey(.privateKeyUsage, group: .theirs)
        try await add(engine, .key, key)
        let group: ItemAttributes = [.accessGroup: .string(AccessGroup.theirs.name)]
        #expect(try await change(engine, .key, group) == .updated(1))
        await engine.lock()
        let locked = await #expect(throws: KeychainError(.interactionNotAllowed)) {
            try await engine.delete(Holder.key.query("key"), groups: [.theirs])
        }
        #expect(locked?.cause == .locked)
        _ = try await engine.key(TestKeychain.passcode)
        #expect(try key.signed(try await engine.result(key, group: .theirs)))
        #expect(try await engine.delete(Holder.key.query("key"), groups: [.theirs]) == 1)
        await expectDeleted(key, engine, "unnamed", group: .theirs)
    }

    @Test("a locked keychain deletes it too", arguments: Holder.allCases)
    func locked(_ holder: Holder) async throws {
        let (engine, _) = try await keychain.setUp()
        let key = try await engine.makeKey(.privateKeyUsage)
        try await add(engine, holder, key)
        await engine.lock()
        #expect(try await engine.delete(holder.query("key"), groups: [.ours]) == 1)
        await expectDeleted(key, engine, "locked")
    }

    @Test("its row is not exported")
    func exported() async throws {
        let old = try await OldKeychain()
        let key = try await old.engine.makeKey(.privateKeyUsage)
        try await add(old.engine, .key, key)
        try await old.engine.add("kept")
        #expect(try await old.engine.delete(Holder.key.query("key"), groups: [.ours]) == 1)
        let report = try await old.export().report
        #expect(report.items == 1 && report.leftOut.isEmpty && report.isSetAuthentic, "\(report)")
    }

    @Test("its row is found by nobody and counts as no item, also after a repair")
    func hidden() async throws {
        var engine: KeychainEngine? = try await keychain.setUp().0
        let key = try await engine.required.makeKey(.privateKeyUsage)
        try await add(engine.required, .key, key)
        try await engine.required.add("kept")
        #expect(try await engine.required.delete(Holder.key.query("key"), groups: [.ours]) == 1)
        try await keychain.restart(&engine)
        let report = await engine.required.check()
        #expect(report.items == 1 && report.isSetAuthentic && report.damaged == 0, "\(report)")
        #expect(try await engine.required.owners().map(\.group) == [.ours])
        for itemClass in ItemClass.allCases where itemClass != .genericPassword {
            let query = ItemQuery(itemClass: itemClass, limit: .all)
            await #expect(throws: KeychainError(.itemNotFound)) {
                try await engine.required.delete(query, groups: [.ours, .theirs])
            }
        }
        await engine?.close()
        engine = nil
        // One damaged item, so that the repair writes a new file.
        try edit("UPDATE items SET data = zeroblob(length(data)) WHERE data IS NOT NULL")
        let damaged = try await keychain.restart()
        let repair = try await damaged.repair(proof: try await damaged.passcodeProof(), accepting: true)
        #expect(repair.kept == 0 && repair.keptAside != nil, "\(repair)")
        await expectDeleted(key, damaged, "repaired")
        await damaged.close()
    }

    private func edit(_ statement: String) throws {
        let queue = try DatabaseQueue(path: keychain.file("items.sqlite"))
        try queue.writeWithoutTransaction { database in
            try database.execute(sql: statement)
            try database.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)")
        }
        try queue.close()
        unsafe chmod(keychain.file("items.sqlite"), 0o600)
    }

    @Test("a full keychain deletes it, and its row counts towards the limit")
    func full() async throws {
        let keychain = TestKeychain(mostItems: 2)
        let (engine, _) = try await keychain.setUp()
        let key = try await engine.makeKey(.privateKeyUsage)
        try await add(engine, .password, key)
        try await engine.add("other")
        #expect(try await engine.delete(Holder.password.query("key"), groups: [.ours]) == 1)
        await expectDeleted(key, engine, "full")
        let error = await #expect(throws: KeychainError(.diskFull)) { try await engine.add("more") }
        #expect(error?.cause == DriverCause(.storeFull, detail: "2"))
        #expect(try await engine.delete("other") == 1)
        try await engine.add("more")
    }

    @Test("the first question after a start reads what it needs of a large keychain")
    func sections() async throws {
        let keychain = TestKeychain(groupsInSection: 1)
        var engine: KeychainEngine? = try await keychain.setUp().0
        let key = try await engine.required.makeKey(.privateKeyUsage)
        try await add(engine.required, .key, key)
        #expect(try await engine.required.delete(Holder.key.query("key"), groups: [.ours]) == 1)
        for number in 0..<40 { try await engine.required.add("\(number)") }
        try await keychain.restart(&engine)
        await expectDeleted(key, engine.required, "the first question")
    }

    @Test("removing its row behind the daemon's back does not bring the key back", arguments: [false, true])
    func removed(_ hasTags: Bool) async throws {
        var engine: KeychainEngine? = try await keychain.setUp().0
        let key = try await engine.required.makeKey(.privateKeyUsage)
        try await add(engine.required, .key, key)
        #expect(try await engine.required.delete(Holder.key.query("key"), groups: [.ours]) == 1)
        await engine?.close()
        engine = nil
        try edit("DELETE FROM items")
        if !hasTags { try edit("DELETE FROM item_set WHERE id < 1000") }
        let later = try await keychain.restart()
        await #expect(throws: KeychainError.self) { try await later.result(key) }
        let report = await later.check()
        #expect(!report.isSetAuthentic)
    }
}
