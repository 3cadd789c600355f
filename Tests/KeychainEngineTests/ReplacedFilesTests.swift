import Foundation
import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting

@testable import KeychainEngine

@Suite("A change is acknowledged only while the names lead to the open files")
struct ReplacedFilesTests {
    /// What another program does with the files of a running daemon.
    enum Replacement: String, CaseIterable {
        case itemsByCopy, itemsByOlder, itemsGone, logByCopy, logGone, bothByCopy
        case directoryGone, directoryByCopy, directoryByEmpty, directoryByLink

        /// Does it, with an older copy of the directory at hand.
        func run(on keychain: TestKeychain, older: String) throws {
            let files = FileManager.default
            func replace(_ name: String, by source: String) throws {
                try files.copyItem(atPath: source, toPath: keychain.file("copy"))
                guard unsafe rename(keychain.file("copy"), keychain.file(name)) == 0 else { throw Failure() }
            }
            let (items, log) = ("items.sqlite", "items.sqlite-wal")
            switch self {
            case .itemsByCopy: try replace(items, by: keychain.file(items))
            case .itemsByOlder: try replace(items, by: older + "/" + items)
            case .itemsGone: try files.removeItem(atPath: keychain.file(items))
            case .logByCopy: try replace(log, by: keychain.file(log))
            case .logGone: try files.removeItem(atPath: keychain.file(log))
            case .bothByCopy:
                try replace(log, by: keychain.file(log))
                try replace(items, by: keychain.file(items))
            case .directoryGone: try files.moveItem(atPath: keychain.path, toPath: Self.aside(keychain))
            case .directoryByCopy:
                try files.moveItem(atPath: keychain.path, toPath: Self.aside(keychain))
                try files.copyItem(atPath: Self.aside(keychain), toPath: keychain.path)
            case .directoryByEmpty:
                try files.moveItem(atPath: keychain.path, toPath: Self.aside(keychain))
                unsafe mkdir(keychain.path, 0o700)
            case .directoryByLink:
                try files.moveItem(atPath: keychain.path, toPath: Self.aside(keychain))
                try files.createSymbolicLink(atPath: keychain.path, withDestinationPath: older)
            }
        }

        /// Where the directory was moved.
        static func aside(_ keychain: TestKeychain) -> String { keychain.path + "-aside" }
    }

    enum Change: String, CaseIterable {
        case add, update, delete, deleteAll

        func run(on engine: KeychainEngine) async throws {
            switch self {
            case .add: try await engine.add("new", "new")
            case .update: _ = try await engine.update("ann", secret: "changed")
            case .delete: try await engine.delete("ann")
            case .deleteAll:
                _ = try await engine.delete(ItemQuery(itemClass: .genericPassword), groups: [.ours])
            }
        }
    }

    struct Failure: Error {}

    /// The replacements after which the names lead to no whole files of this keychain, or in another directory.
    private static let refusing: [Replacement] = [
        .itemsGone, .logGone, .directoryGone, .directoryByCopy, .directoryByEmpty, .directoryByLink,
    ]

    @Test(
        "a change is refused after files were removed or moved, with a cause, an event and a status",
        arguments: refusing,
        Change.allCases
    )
    func refused(_ replacement: Replacement, _ change: Change) async throws {
        let keychain = TestKeychain()
        defer { try? FileManager.default.removeItem(atPath: Replacement.aside(keychain)) }
        let (engine, _) = try await keychain.setUp()
        let older = try keychain.copy()
        for account in ["ann", "bob"] { try await engine.add(account, account) }
        try replacement.run(on: keychain, older: older.path)

        let error = await #expect(throws: KeychainError.self) { try await change.run(on: engine) }
        #expect(error?.status == .notAvailable)
        #expect(error?.cause?.known == .filesReplaced)
        #expect(keychain.audit.kinds.count { $0 == .tamperDetected } == 1)
        #expect(engine.items.itemsFault()?.known == .filesReplaced)
        #expect(engine.items.storeFaults() != [])
        // What is open stays readable, as it was.
        for account in ["ann", "bob"] { #expect(try await engine.secret(account) == account) }
        await #expect(throws: KeychainError(.itemNotFound)) { try await engine.secret("new") }
        await engine.close()
    }

    @Test(
        "files that hold the same are gone on with, and no change is lost",
        arguments: Replacement.allCases.filter { $0 == .directoryByCopy || !refusing.contains($0) },
        Change.allCases
    )
    func followed(_ replacement: Replacement, _ change: Change) async throws {
        let keychain = TestKeychain()
        defer { try? FileManager.default.removeItem(atPath: Replacement.aside(keychain)) }
        let (engine, _) = try await keychain.setUp()
        let older = try keychain.copy()
        for account in ["ann", "bob"] { try await engine.add(account, account) }
        for round in 0..<2 {
            try replacement.run(on: keychain, older: round == 0 ? older.path : keychain.path)
            if replacement == .directoryByCopy {
                try? FileManager.default.removeItem(atPath: Replacement.aside(keychain))
                // Any use of the keybag follows the directory.
                #expect(await engine.state() == .unlocked)
            }
            if round == 0 { try await change.run(on: engine) } else { try await engine.add("last", "last") }
            #expect(engine.items.storeFaults() == [])
            #expect(keychain.audit.kinds.count { $0 == .tamperDetected } > round)
        }
        let killed = try keychain.copy()
        let next = try await killed.restart()
        #expect(try await next.secret("last") == "last")
        #expect(await next.check().isWell)
        await next.close()
        await engine.close()
        let ended = try await keychain.copy().restart()
        #expect(await ended.check().isWell)
        let expected: Set<String> =
            switch change {
            case .add: ["ann", "bob", "new", "last"]
            case .update: ["ann", "bob", "last"]
            case .delete: ["bob", "last"]
            case .deleteAll: ["last"]
            }
        let found = try await ended.all().map { item -> String in
            if case .string(let name)? = item.attributes?[.account] { name } else { "" }
        }
        #expect(Set(found) == expected)
        if change == .update { #expect(try await ended.secret("ann") == "changed") }
    }

    @Test("an older state is used only after a lock and an unlock, and what was open is kept in a file")
    func older() async throws {
        for isClosed in [false, true] {
            let keychain = TestKeychain()
            let (engine, _) = try await keychain.setUp()
            try await engine.add("ann", "ann")
            if isClosed { engine.items.withState { $0.store?.settleLog() } }
            let older = try keychain.copy()
            try await engine.add("bob", "bob")
            for name in ["items.sqlite", "items.sqlite-wal", "items.sqlite-mark"] {
                try keychain.put(try older.octets(name), as: "copy")
                unsafe rename(keychain.file("copy"), keychain.file(name))
            }
            for _ in 0..<2 {
                let error = await #expect(throws: KeychainError.self) { try await engine.add("eve", "eve") }
                #expect(error?.cause?.known == .filesReplaced)
                #expect(engine.items.itemsFault()?.known == .filesReplaced)
                #expect(try await engine.secret("bob") == "bob")
                // A passcode that is typed meanwhile decides nothing.
                _ = try await engine.key(TestKeychain.passcode)
            }
            await engine.lock()
            #expect(try await engine.opens("another passcode") == false)
            #expect(engine.items.itemsFault()?.known == .filesReplaced)
            _ = try await engine.key(TestKeychain.passcode)
            #expect(engine.items.itemsFault() == nil)
            #expect(try await engine.secret("ann") == "ann")
            await #expect(throws: KeychainError(.itemNotFound)) { try await engine.secret("bob") }
            try await engine.add("eve", "eve")
            await engine.close()
            let next = try await keychain.copy().restart()
            #expect(try await next.secret("eve") == "eve")
            #expect(await next.check().isWell)

            let former = try keychain.copy()
            for name in ["items.sqlite-wal", "items.sqlite-mark"] { unsafe unlink(former.file(name)) }
            unsafe rename(former.file("items.sqlite.damaged-1"), former.file("items.sqlite"))
            let saved = try await former.restart()
            #expect(try await saved.secret("bob") == "bob")
            #expect(await saved.check().isWell)
        }
    }

    @Test("items that were damaged at the start, and were put back, are used after the next unlock")
    func mended() async throws {
        let keychain = TestKeychain()
        var engine: KeychainEngine? = try await keychain.setUp().0
        try await engine?.add("ann", "ann")
        await engine?.close()
        engine = nil
        let whole = try keychain.octets("items.sqlite")
        try keychain.write([UInt8](repeating: 0, count: 100) + whole.dropFirst(100), to: "items.sqlite")
        let next = try await keychain.restart()
        await #expect(throws: KeychainError.self) { try await next.secret("ann") }
        try keychain.write(whole, to: "items.sqlite")
        await next.lock()
        _ = try await next.key(TestKeychain.passcode)
        #expect(try await next.secret("ann") == "ann")
        #expect(next.items.storeFaults() == [])
    }

    @Test("with the files back in their place, changes go on, and none that was acknowledged is lost")
    func putBack() async throws {
        let keychain = TestKeychain()
        let aside = Replacement.aside(keychain)
        let (engine, _) = try await keychain.setUp()
        var expected: Set<String> = []
        for round in 0..<3 {
            try await engine.add("before \(round)", "value")
            expected.insert("before \(round)")
            unsafe rename(keychain.path, aside)
            await #expect(throws: KeychainError.self) { try await engine.add("meanwhile \(round)", "value") }
            unsafe rename(aside, keychain.path)
            #expect(engine.items.storeFaults() == [])
        }
        let killed = try keychain.copy()
        let next = try await killed.restart()
        let accounts = try await next.all().compactMap { item -> String? in
            if case .string(let name)? = item.attributes?[.account] { name } else { nil }
        }
        #expect(Set(accounts) == expected)
        #expect(await next.check().isWell)
    }

    @Test("the daemon's end neither removes nor fills the files that took the place of its own")
    func orderlyEnd() async throws {
        for replacement in [Replacement.itemsByOlder, .bothByCopy, .directoryByCopy] {
            let keychain = TestKeychain()
            let (engine, _) = try await keychain.setUp()
            let older = try keychain.copy()
            try await engine.add("ann")
            try replacement.run(on: keychain, older: older.path)
            let before = try keychain.octets("items.sqlite")
            let log = try keychain.octets("items.sqlite-wal")
            await engine.close()
            #expect(try keychain.octets("items.sqlite") == before, "\(replacement)")
            #expect(try keychain.octets("items.sqlite-wal") == log, "\(replacement)")
            try? FileManager.default.removeItem(atPath: Replacement.aside(keychain))
        }
    }

    @Test(
        "a directory that is moved away or replaced while a change is written: the change is refused, and none is lost",
        arguments: [Replacement.directoryGone, .directoryByCopy, .directoryByEmpty]
    )
    func movedInFlight(_ replacement: Replacement) async throws {
        let keychain = TestKeychain()
        let aside = Replacement.aside(keychain)
        defer { try? FileManager.default.removeItem(atPath: aside) }
        let (engine, _) = try await keychain.setUp()
        for account in ["ann", "bob"] { try await engine.add(account, account) }
        let context = try engine.items.keys.context()
        let search = try ItemSearch(
            ItemQuery(itemClass: .genericPassword, attributes: [.account: .string("ann")]),
            groups: [.ours],
            in: context
        )
        let error = #expect(throws: KeychainError.self) {
            try engine.items.withState { (state) throws in
                let store = try #require(state.store)
                try store.changeSet(context) {
                    for row in try store.find(search, authorization: nil, context).valid {
                        try store.remove(row, context)
                    }
                    try replacement.run(on: keychain, older: keychain.path)
                    return true
                }
            }
        }
        #expect(error?.cause?.known == .filesReplaced)
        if replacement != .directoryByCopy {
            // Put back, it holds the change, which nobody was told to be made: either state is right, and it is told.
            #expect(engine.items.itemsFault()?.known == .filesReplaced)
            try? FileManager.default.removeItem(atPath: keychain.path)
            unsafe rename(aside, keychain.path)
        }
        #expect(await engine.state() == .unlocked)
        #expect(engine.items.storeFaults() == [])
        try await engine.add("eve", "eve")
        #expect(try await engine.secret("bob") == "bob")
        let next = try await keychain.copy().restart()
        for account in ["bob", "eve"] { #expect(try await next.secret(account) == account) }
        // The copy was made before the change.
        if replacement == .directoryByCopy { #expect(try await next.secret("ann") == "ann") }
        #expect(await next.check().isWell)
    }

    @Test("a passcode is not changed in a directory that was moved away")
    func movedKeybag() async throws {
        let keychain = TestKeychain()
        let aside = Replacement.aside(keychain)
        let (engine, key) = try await keychain.setUp()
        unsafe rename(keychain.path, aside)
        let proof = Proofs.of(AccessControl(accessibility: .whenUnlocked), [.passcode], key: key)
        let error = await #expect(throws: KeychainError.self) {
            try await engine.changePasscode(to: .text("another long passcode"), proof: proof)
        }
        #expect(error?.cause?.known == .filesReplaced)
        unsafe rename(aside, keychain.path)
        #expect(try await engine.opens(TestKeychain.passcode))
    }
}
