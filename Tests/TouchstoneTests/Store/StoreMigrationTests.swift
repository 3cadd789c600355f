import Foundation
import Glibc
import SecretMemory
import Testing
import TouchstoneTesting

@testable import Touchstone

@Suite("Another rule, name or type for a store", .timeLimit(.minutes(20)))
struct StoreMigrationTests {
    private static func store(_ rule: AccessRule, _ name: String = "moving") -> SecretStore {
        SecretStore(name, rule: rule)
    }

    /// Stores three values.
    private static func fill(_ store: SecretStore) async throws {
        for key in ["a", "b", "ü c"] { try await store.write("value of \(key)", for: key) }
    }

    private static let values = ["a": "value of a", "b": "value of b", "ü c": "value of ü c"]

    @Test(
        "all values get the new rule with one prompt under the rule they had, whichever is stronger",
        arguments: [
            (AccessRule.passcode, AccessRule.whenUnlocked, 1), (.passcode, .afterFirstUnlock, 1),
            (.whenUnlocked, .passcode, 0), (.afterFirstUnlock, .whenUnlocked, 0),
            (.passcode, .passcode.acceptingBackups(), 1),
            (.whenUnlocked.acceptingBackups(), .passcode.reusable(for: .seconds(60)), 0),
        ]
    )
    func rules(former: AccessRule, later: AccessRule, prompts: Int) async throws {
        let world = try await World()
        let (old, new) = (Self.store(former), Self.store(later))
        try await world.use {
            try await Self.fill(old)
            await #expect(throws: TouchstoneError.ruleMismatch) { try await new.read("a", as: String.self) }
            if prompts > 0 {
                await #expect(throws: TouchstoneError.interactionNeeded) {
                    try await new.migrate(from: old, with: .silent)
                }
                try world.cancels()
                await #expect(throws: TouchstoneError.userCancelled) { try await new.migrate(from: old) }
                try world.answers()
                #expect(
                    try await old.readAll(as: String.self) == Self.values,
                    "cancelled: nothing is changed"
                )
            }
            var before = world.prompts
            try await new.migrate(from: old, with: "Protect your notes better")
            #expect(world.prompts == before + prompts)
            before = world.prompts
            #expect(try await new.readAll(as: String.self) == Self.values)
            #expect(world.prompts == before + (later.asks ? 1 : 0), "the new rule holds")
            await #expect(throws: TouchstoneError.ruleMismatch) { try await old.status() }
            await #expect(throws: TouchstoneError.ruleMismatch) { try await old.read("a", as: String.self) }
            await #expect(throws: TouchstoneError.ruleMismatch) { try await old.write("x", for: "a") }
            before = world.prompts
            try await new.migrate(from: old)
            #expect(world.prompts == before, "nothing is left to move")
            try await new.write("new", for: "d")
            #expect(try await new.keys() == ["a", "b", "d", "ü c"])
        }
    }

    @Test("a weaker rule costs a prompt under the old one: the enrolled finger, not the passcode")
    func finger() async throws {
        let world = try await World.withFinger()
        let (old, new) = (Self.store(.biometry), Self.store(.whenUnlocked))
        try await world.use {
            try await Self.fill(old)
            // The passcode of before is no finger.
            let proof = try await Keychain.current.authenticate("a test", using: .passcode)
            await #expect(throws: TouchstoneError.interactionNeeded) {
                try await new.migrate(from: old, with: .proof(proof))
            }
            try world.touches()
            let finger = try await Keychain.current.authenticate("a test")
            let before = world.prompts
            try await new.migrate(from: old, with: .proof(finger))
            #expect(try await new.readAll(as: String.self) == Self.values)
            #expect(world.prompts == before)
            // Back again, to the finger that is enrolled now.
            try await old.migrate(from: new)
            try world.touches()
            #expect(try await old.readAll(as: String.self) == Self.values)
            #expect(world.prompts == before + 1)
        }
    }

    @Test("what the enrolled fingers invalidated stays invalidated under any rule")
    func invalidated() async throws {
        let world = try await World.withFinger()
        let (old, new) = (Self.store(.biometry), Self.store(.whenUnlocked))
        try await world.use {
            try await Self.fill(old)
            try await world.enrol(["left-thumb"])
            try await new.migrate(from: old)
            #expect(try await new.keys().isEmpty)
            #expect(try await new.status().count == 3)
            await #expect(throws: TouchstoneError.invalidated) { try await new.write("x", for: "a") }
            #expect(try await new.delete("a") == .deleted)
            try await new.write("x", for: "a")
            #expect(try await new.read("a") == "x")
        }
    }

    @Test("a store that was never written, an empty one, one of a third rule, a locked and a restarted one")
    func states() async throws {
        let world = try await World()
        let (old, new) = (Self.store(.passcode), Self.store(.whenUnlocked))
        try await world.use {
            try await new.migrate(from: old)
            #expect(try await Keychain.current.stores().isEmpty, "nothing was made")
            try await old.write("x", for: "a")
            try await old.delete("a")
            try await new.migrate(from: old)
            try await new.write("y", for: "a")
            #expect(world.prompts == 0, "an empty store has nothing to open")
            let third = Self.store(.afterFirstUnlock)
            let error = await failure { () throws(TouchstoneError) in try await third.migrate(from: old) }
            #expect(error == .ruleMismatch)
            #expect(error?.details == ["made with: whenUnlocked", "asked for: passcode"])
            #expect(try await new.read("a") == "y")

            try world.lock()
            await #expect(throws: TouchstoneError.locked) {
                try await Self.store(.passcode).migrate(from: new, with: .silent)
            }
            world.keychain.stop(with: SIGTERM)
            try await world.keychain.start()
            await #expect(throws: TouchstoneError.locked) {
                try await Self.store(.passcode).migrate(from: new, with: .silent)
            }
            let before = world.prompts
            try await Self.store(.passcode).migrate(from: new)
            #expect(world.prompts == before + 1, "the prompt that unlocks")
            #expect(try await old.read("a") == "y")
        }
    }

    @Test("half moved, each value is under one rule, tells so, and the next call moves the rest")
    func resumed() async throws {
        let world = try await World()
        let (old, new) = (Self.store(.passcode), Self.store(.whenUnlocked))
        try await world.use {
            try await Self.fill(old)
            // As a process does that is killed between two values, or between the values and the marker.
            let migration = try StoreMigration(of: old, to: new, .standard)
            world.otherProgram(old) { calls throws(TouchstoneError) in
                #expect(try migration.keys(calls.calls) == ["a", "b", "ü c"])
                #expect(try migration.move("a", version: nil, to: nil, calls.calls))
                #expect(try !migration.move("none", version: nil, to: nil, calls.calls))
            }
            #expect(try await new.read("a") == "value of a")
            #expect(try await old.read("b") == "value of b")
            for (store, key) in [(old, "a"), (new, "b")] {
                await #expect(throws: TouchstoneError.ruleMismatch) {
                    try await store.read(key, as: String.self)
                }
                await #expect(throws: TouchstoneError.ruleMismatch) { try await store.write("x", for: key) }
                await #expect(throws: TouchstoneError.ruleMismatch) {
                    try await store.update(key, as: String.self) { $0 = "x" }
                }
            }
            var before = world.prompts
            try await new.migrate(from: old)
            #expect(world.prompts == before + 1)
            #expect(try await new.readAll(as: String.self) == Self.values)

            // A program that does not know of the move writes between the last value and the marker.
            let back = try StoreMigration(of: new, to: old, .standard)
            world.otherProgram(new) { calls throws(TouchstoneError) in
                try back.move(try back.keys(calls.calls), calls.calls)
                #expect(try calls.add(Data("late".utf8), "late"))
                #expect(try back.finish(calls.calls))
                #expect(try back.keys(calls.calls) == ["late"])
            }
            before = world.prompts
            try await old.migrate(from: new)
            #expect(world.prompts == before)
            #expect(try await old.readAll(as: String.self) == Self.values.merging(["late": "late"]) { $1 })
        }
    }

    @Test("under another name each value moves; a key that both have stays, and an empty store is gone")
    func names() async throws {
        let world = try await World()
        let (old, new) = (Self.store(.passcode, "former"), Self.store(.whenUnlocked, "later"))
        try await world.use {
            try await Self.fill(old)
            try await new.write("newer", for: "b")
            try await new.migrate(from: old, with: "Move your notes")
            #expect(world.prompts == 1)
            #expect(
                try await new.readAll(as: String.self)
                    == Self.values.merging(["b": "newer"]) { $1 }
            )
            #expect(try await old.keys() == ["b"])
            #expect(try await old.read("b") == "value of b")
            #expect(try await Keychain.current.stores() == ["former", "later"])
            let before = world.prompts
            try await new.migrate(from: old)
            #expect(world.prompts == before)
            try await new.delete("b")
            try await new.migrate(from: old)
            #expect(try await new.read("b") == "value of b")
            #expect(try await Keychain.current.stores() == ["later"])
            // The name is free for any rule.
            try await Self.store(.afterFirstUnlock, "former").write("x", for: "a")
            let third = await failure { () throws(TouchstoneError) in
                try await Self.store(.passcode, "later").migrate(
                    from: Self.store(.afterFirstUnlock, "former")
                )
            }
            #expect(third == .ruleMismatch)
        }
    }

    @Test(
        "a store of another keychain, a group that values would leave, and no way to know what is converted"
    )
    func refused() async throws {
        let world = try await World()
        await world.use {
            let store = Self.store(.whenUnlocked)
            let shared = SecretStore("moving", rule: .whenUnlocked, group: "team")
            await #expect(throws: TouchstoneError.unsupported) { try await store.migrate(from: shared) }
            await #expect(throws: TouchstoneError.unsupported) {
                try await store.migrate(from: Self.store(.whenUnlocked)) { (text: String) in text }
            }
            await #expect(throws: TouchstoneError.limitExceeded) {
                try await store.migrate(from: Self.store(.whenUnlocked, ""))
            }
            await #expect(throws: TouchstoneError.hardwareTooWeak) {
                try await Self.store(.whenUnlocked).write("x", for: "a")
                try await Self.store(.whenUnlocked.requiring(.hardware)).migrate(from: store)
            }
        }
    }

    /// A value of an earlier version of an app, and of the present one.
    private struct Former: Codable { var text: String }
    private struct Note: Codable, Equatable { var title, body: String }

    private static func note(_ former: Former) -> Note {
        Note(title: String(former.text.prefix(3)), body: former.text)
    }

    @Test("values of another type are converted, with one prompt, each in one step")
    func types() async throws {
        let world = try await World()
        let (old, new) = (Self.store(.passcode, "notes"), Self.store(.passcode, "notes 2"))
        try await world.use {
            for key in ["a", "b", "c"] { try await old.write(Former(text: "text \(key)"), for: key) }
            var seen: [String] = []
            try await new.migrate(from: old) { (former: Former) in
                seen.append(former.text)
                // A program of the earlier version, with its own prompt.
                if seen.count == 1 {
                    world.otherProgram(old) { calls throws(TouchstoneError) in
                        try calls.replace(Data(#"{"text":"later a"}"#.utf8), "a", version: nil)
                        #expect(try calls.delete("b", version: nil))
                    }
                }
                return Self.note(former)
            }
            #expect(seen == ["text a", "later a", "text c"])
            #expect(world.prompts == 2, "one of each program")
            #expect(
                try await new.readAll(as: Note.self) == [
                    "a": Note(title: "lat", body: "later a"), "c": Note(title: "tex", body: "text c"),
                ]
            )
            #expect(try await Keychain.current.stores() == ["notes 2"])
        }
    }

    @Test("a value that cannot be converted ends the migration; those before it are moved, the others not")
    func mistyped() async throws {
        let world = try await World()
        let (old, new) = (Self.store(.afterFirstUnlock), Self.store(.whenUnlocked))
        try await world.use {
            try await old.write(Former(text: "text a"), for: "a")
            try await old.write("no note", for: "b")
            try await old.write(Former(text: "text c"), for: "c")
            await #expect(throws: TouchstoneError.typeMismatch) {
                try await new.migrate(from: old, as: Former.self, Self.note)
            }
            #expect(try await new.read("a") == Self.note(Former(text: "text a")))
            #expect(try await old.read("b") == "no note")
            #expect(try await old.read("c", as: Former.self).text == "text c")
            try await old.delete("b")
            try await new.migrate(from: old, as: Former.self, Self.note)
            #expect(try await new.readAll(as: Note.self).count == 2)
        }
    }
}
