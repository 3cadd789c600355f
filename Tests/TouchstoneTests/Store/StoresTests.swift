import Foundation
import Glibc
import SecretMemory
import Testing
import TouchstoneTesting

@testable import Touchstone

@Suite("Several stores: names, accounts, backups", .timeLimit(.minutes(20)))
struct StoresTests {
    @Test("an app finds the stores of its accounts, and what is deleted in one stays in the others")
    func accounts() async throws {
        let world = try await World()
        try await world.use {
            #expect(try await Keychain.current.stores().isEmpty)
            // A name may begin with a character that joins the one before it.
            let accounts = ["ada", "\u{301}lan", "grace", "1:g:x"]
            for account in accounts {
                try await SecretStore(account, rule: .whenUnlocked).write(account, for: "token")
            }
            try await SecretStore("asking", rule: .passcode).write("x", for: "token")
            #expect(try await Keychain.current.stores() == (accounts + ["asking"]).sorted())
            try await SecretStore("ada", rule: .whenUnlocked).deleteAll()
            #expect(
                try await Keychain.current.stores() == ["\u{301}lan", "1:g:x", "asking", "grace"].sorted()
            )
            for account in accounts.dropFirst() {
                #expect(try await SecretStore(account, rule: .whenUnlocked).read("token") == account)
            }
            // Its values may all be deleted: the account is still there.
            try await SecretStore("grace", rule: .whenUnlocked).delete("token")
            #expect(try await Keychain.current.stores().contains("grace"))
            #expect(world.prompts == 0)
            await #expect(throws: TouchstoneError.denied) {
                try await Keychain.current.stores(in: "/usr/bin/other")
            }
            await #expect(throws: TouchstoneError.limitExceeded) { try await Keychain.current.stores(in: "") }
            try world.lock()
            #expect(try await Keychain.current.stores().count == 4)
            try await Keychain.current.deleteEverything()
            #expect(try await Keychain.current.stores().isEmpty)
        }
    }

    @Test("a rule with backups is named so, and refused where nothing could be restored")
    func rules() async throws {
        let world = try await World()
        try await world.use {
            #expect(AccessRule.passcode.acceptingBackups().description == "passcode.acceptingBackups()")
            let whole = AccessRule.biometry.acceptingLaterEnrolments().acceptingBackups().requiring(.test)
            #expect(
                whole.description == "biometry.acceptingLaterEnrolments().acceptingBackups().requiring(test)"
            )
            for rule in [AccessRule.biometry, .biometryOrPasscode, .biometryAndPasscode] {
                let store = SecretStore("refused", rule: rule.acceptingBackups())
                let error = await failure { () throws(TouchstoneError) in try await store.write("x", for: "a")
                }
                #expect(
                    error == .unsupported && error?.details.first?.hasPrefix("acceptingBackups: ") == true
                )
                await #expect(throws: TouchstoneError.unsupported) { try await store.status() }
            }
            await #expect(throws: TouchstoneError.unsupported) {
                try await DeviceSigningKey.create("key", rule: .passcode.acceptingBackups())
            }
            #expect(try await Keychain.current.stores().isEmpty)
            let store = SecretStore("kept", rule: .passcode.acceptingBackups())
            try await store.write("x", for: "a")
            await #expect(throws: TouchstoneError.ruleMismatch) {
                try await SecretStore("kept", rule: .passcode).read("a", as: String.self)
            }
            #expect(try await store.read("a") == "x")
            #expect(world.prompts == 1)
        }
    }

    /// What a stream delivered, as a task reads it.
    private final class Seen: Sendable {
        let all = Guarded<[Set<String>]>([])
        let task: Task<Void, Never>

        init(_ stream: AsyncStream<Set<String>>) {
            task = Task { [all] in
                for await keys in stream { all.withLock { $0.append(keys) } }
            }
        }

        /// Waits until these keys came after the first element, in any number of elements.
        func wait(for keys: Set<String>, after count: Int) async throws {
            try await Deadline.wait(for: "\(keys)") {
                all.withLock { all in
                    all.count > count && all.dropFirst(count).reduce(into: []) { $0.formUnion($1) } == keys
                } ? true : nil
            }
        }

        var count: Int { all.withLock(\.count) }
    }

    @Test(
        "changes of a store are told with their keys, and nothing of other stores, of reads, or after the end"
    )
    func changes() async throws {
        let world = try await World()
        let store = SecretStore("watched", rule: .passcode)
        try await world.use {
            try await store.write("1", for: "before")
            let seen = Seen(store.changes())
            try await seen.wait(for: ["before"], after: 0)
            let before = world.prompts
            try await store.write("2", for: "new")
            try await seen.wait(for: ["new"], after: 1)
            #expect(world.prompts == before, "looking shows no prompt")
            var count = seen.count
            _ = try await store.read("new", as: String.self)
            try await SecretStore("other", rule: .whenUnlocked).write("x", for: "other")
            try await store.write("3", for: "before")
            try await seen.wait(for: ["before"], after: count)
            count = seen.count
            try await store.delete("new")
            try await seen.wait(for: ["new"], after: count)
            if World.tellsOfOthers {
                count = seen.count
                world.otherProgram(store) { calls throws(TouchstoneError) in
                    #expect(try calls.add(Data("4".utf8), "theirs"))
                }
                try await seen.wait(for: ["theirs"], after: count)
            }
            // Another rule for the same values changes none of them.
            let later = SecretStore("watched", rule: .passcode.acceptingBackups())
            count = seen.count
            try await later.migrate(from: store)
            let second = Seen(later.changes())
            try await Deadline.wait(for: "the first look") { second.count > 0 ? true : nil }
            #expect(seen.count == count)
            seen.task.cancel()
            await seen.task.value
            try await later.write("5", for: "late")
            try await second.wait(for: ["late"], after: 1)
            #expect(seen.count == count)
            second.task.cancel()
            await second.task.value
        }
    }

    @Test("the stream of a locked keychain begins after the unlock, and that of a bad name ends at once")
    func lockedChanges() async throws {
        let world = try await World()
        let store = SecretStore("watched", rule: .whenUnlocked)
        try await world.use {
            for await _ in SecretStore("", rule: .whenUnlocked).changes() { Issue.record("a bad name") }
            try await store.write("1", for: "a")
            world.keychain.stop(with: SIGTERM)
            try await world.keychain.start()
            let seen = Seen(store.changes())
            try world.keychain.unlock()
            // A call of this process, of which both sides are told.
            try await store.write("2", for: "b")
            try await Deadline.wait(for: "both") {
                seen.all.withLock { $0.reduce(into: []) { $0.formUnion($1) } } == ["a", "b"] ? true : nil
            }
            seen.task.cancel()
            await seen.task.value
        }
    }
}
