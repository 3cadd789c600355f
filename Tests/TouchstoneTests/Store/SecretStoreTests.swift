import Foundation
import Glibc
import Testing
import TouchstoneTesting

@testable import Touchstone

@Suite("Secret stores", .timeLimit(.minutes(20)))
struct SecretStoreTests {
    struct Tokens: Codable, Equatable {
        var access: String
        var refresh: String?
    }

    @Test("data, text and values are stored unchanged, also across a restart")
    func values() async throws {
        let world = try await World()
        let store = SecretStore("values", rule: .whenUnlocked)
        let data = Data((0..<256).map { UInt8($0) })
        try await world.use {
            try await store.write(data, for: "data")
            try await store.write("şifre 密码", for: "text")
            try await store.write(Tokens(access: "a", refresh: nil), for: "value")
            try await store.write(Data(), for: "empty")
            try await store.write(42, for: "number")
            try await store.write(Data(repeating: 7, count: SecretStore.longestSecret), for: "long")
        }
        world.keychain.stop(with: SIGTERM)
        try await world.keychain.start()
        try world.keychain.unlock()
        try await world.use {
            #expect(try await store.read("data") == data)
            #expect(try await store.read("text") == "şifre 密码")
            #expect(try await store.read("value") == Tokens(access: "a", refresh: nil))
            #expect(try await store.read("empty") == Data())
            #expect(try await store.read("number") == 42)
            #expect(try await store.read("long", as: Data.self).count == 65_536)
            // A read as an optional type.
            #expect(try await store.read("text", as: String?.self) == "şifre 密码")
            #expect(try await store.read("data", as: Data?.self) == data)
            #expect(try await store.read("number", as: Int?.self) == 42)
            let sum = try await store.withBytes(of: "data") { bytes in
                bytes.withUnsafeBytes { $0.reduce(0) { $0 + Int($1) } }
            }
            #expect(sum == 255 * 128)
            for (key, other) in [("text", Tokens.self as any Decodable.Type), ("data", Int.self)] {
                await #expect(throws: TouchstoneError(.typeMismatch)) {
                    try await Self.read(store, key, as: other)
                }
            }
            await #expect(throws: TouchstoneError(.typeMismatch)) {
                try await store.read("data", as: String.self)
            }
            await #expect(throws: TouchstoneError(.typeMismatch)) {
                try await store.write(Double.nan, for: "nan")
            }
            await #expect(throws: TouchstoneError(.typeMismatch)) {
                try await store.write(String?.none, for: "nil")
            }
            try await store.write(String?.some("there"), for: "optional")
            #expect(try await store.read("optional") == "there")
        }
    }

    private static func read<Value: Decodable>(
        _ store: SecretStore,
        _ key: String,
        as type: Value.Type
    ) async throws(TouchstoneError) {
        _ = try await store.read(key, as: type)
    }

    @Test("adding and deleting need no prompt; reading, replacing and updating need one each")
    func prompts() async throws {
        let world = try await World()
        let store = SecretStore("prompts", rule: .passcode)
        try await world.use {
            try await store.write("one", for: "key")
            #expect(world.prompts == 0)
            #expect(try await store.read("key") == "one")
            #expect(world.prompts == 1)
            try await store.write("two", for: "key", with: "Replace it")
            #expect(world.prompts == 2)
            let before = try await store.update("key", as: String.self) { value in
                defer { value = value.map { $0 + "!" } }
                return value
            }
            #expect(before == "two" && world.prompts == 3)
            #expect(try await store.read("key") == "two!")
            #expect(world.prompts == 4)
            #expect(try await store.status() == ["key": .present])
            #expect(try await store.delete("key") == .deleted)
            #expect(try await store.delete("key") == .wasAbsent)
            await #expect(throws: TouchstoneError(.notFound)) { try await store.read("key", as: Data.self) }
            // An absent value is passed as nil, and needs no prompt either.
            let wasAbsent = try await store.update("key", as: String.self) { value in
                defer { value = "three" }
                return value == nil
            }
            #expect(wasAbsent && world.prompts == 4)
        }
    }

    @Test("absent, cancelled, silent, locked and not yet unlocked have different codes")
    func codes() async throws {
        let world = try await World()
        let (asking, free) = (
            SecretStore("asking", rule: .passcode), SecretStore("free", rule: .whenUnlocked)
        )
        let early = SecretStore("early", rule: .afterFirstUnlock)
        try await world.use {
            try await asking.write("a", for: "key")
            try await free.write("b", for: "key")
            try await early.write("c", for: "key")
            func code(_ store: SecretStore, _ key: String, _ permission: SecretStore.Permission) async
                -> TouchstoneError.Code?
            {
                await failure { () throws(TouchstoneError) in
                    try await store.read(key, as: String.self, with: permission)
                }?
                .code
            }
            #expect(await code(asking, "other", "a test") == .notFound)
            try world.cancels()
            #expect(await code(asking, "key", "a test") == .userCancelled)
            #expect(world.prompts == 1)
            #expect(await code(asking, "key", .silent) == .interactionNeeded)
            #expect(await code(free, "key", .silent) == nil)
            #expect(await code(asking, "key", .prompt(PromptText("x", timeout: .zero))) == .limitExceeded)
            // None of these errors removed anything.
            #expect(try await asking.read("key") == "a")

            try world.lock()
            #expect(await code(free, "key", .silent) == .locked)
            #expect(await code(asking, "key", .silent) == .interactionNeeded)
            #expect(await code(early, "key", .silent) == nil)
            #expect(try await free.status() == ["key": .locked])
            #expect(try await early.status() == ["key": .present])

            world.keychain.stop(with: SIGTERM)
            try await world.keychain.start()
            #expect(await code(early, "key", .silent) == .locked)
            await #expect(throws: TouchstoneError(.locked)) { try await free.status() }
            await #expect(throws: TouchstoneError(.locked)) { try await free.delete("key") }
            // A prompt also unlocks, with the same passcode that opens the item.
            let before = world.prompts
            #expect(try await asking.read("key", with: "a test") == "a")
            #expect(world.prompts == before + 1)
            world.keychain.stop(with: SIGTERM)
            #expect(await code(free, "key", .silent) == .serviceMissing)
        }
    }

    @Test("an enrolment change invalidates a secret, which is not replaced until the app deletes it")
    func invalidated() async throws {
        let world = try await World.withFinger()
        let store = SecretStore("fingers")
        let lenient = SecretStore("lenient", rule: .biometry.acceptingLaterEnrolments())
        try await world.use {
            let start = Date()
            try await store.write("s3cret", for: "octocat")
            try await lenient.write("s3cret", for: "octocat")
            try world.touches(2)
            #expect(try await store.read("octocat") == "s3cret")
            #expect(try await lenient.read("octocat") == "s3cret")
            #expect(world.prompts == 2)
            try await world.enrol(["right-index-finger", "left-thumb"])
            let read = await failure { () throws(TouchstoneError) in
                try await store.read("octocat", as: String.self)
            }
            #expect(read?.code == .invalidated && read?.nextStep == .setUpAgain)
            await #expect(throws: TouchstoneError(.invalidated)) {
                try await store.write("new", for: "octocat")
            }
            await #expect(throws: TouchstoneError(.invalidated)) {
                try await store.update("octocat", as: String.self) { $0 = "new" }
            }
            guard case .invalidated(let time?)? = try await store.status()["octocat"] else {
                Issue.record("not invalidated: \(try await store.status())")
                return
            }
            #expect(time >= start.addingTimeInterval(-1) && time <= Date().addingTimeInterval(1))
            #expect(try await lenient.status() == ["octocat": .present])
            #expect(world.prompts == 2, "nobody is asked for what is lost")
            #expect(try await store.delete("octocat") == .deleted)
            #expect(try await store.status().isEmpty)
            try await store.write("new", for: "octocat")
            #expect(try await store.status() == ["octocat": .present])
        }
    }

    @Test("the first write fixes the store's rule, and another rule is refused with both named")
    func ruleMismatch() async throws {
        let world = try await World.withFinger()
        let made = AccessRule.biometry.reusable(for: .seconds(60))
        let others: [AccessRule] = [
            .biometry, .whenUnlocked, .biometry.reusable(for: .seconds(61)),
            made.acceptingLaterEnrolments(), made.acceptingWeakBiometry(), made.requiring(.test),
        ]
        try await world.use {
            try await SecretStore("rules", rule: made).write("x", for: "key")
            try await SecretStore("rules", rule: made).delete("key")
            for other in others {
                let store = SecretStore("rules", rule: other)
                let error = await failure { () throws(TouchstoneError) in
                    try await store.write("y", for: "key")
                }
                #expect(error?.code == .ruleMismatch, "\(other)")
                #expect(error?.details == ["made with: \(made)", "asked for: \(other)"])
                await #expect(throws: TouchstoneError(.ruleMismatch)) {
                    try await store.read("key", as: Data.self)
                }
                await #expect(throws: TouchstoneError(.ruleMismatch)) { try await store.status() }
                await #expect(throws: TouchstoneError(.ruleMismatch)) {
                    try await store.update("key", as: String.self) { $0 = "y" }
                }
            }
            let free = SecretStore("rules", rule: .whenUnlocked)
            try await free.deleteAll()
            try await free.write("y", for: "key")
            #expect(try await free.read("key") == "y")
            #expect(made.description == "biometry.reusable(for: 60000 ms)")
        }
    }

    @Test("stores and keys with different names are separate")
    func names() async throws {
        let world = try await World()
        try await world.use {
            let names = ["a", "a:b", "", ":a", "A", "é", "e\u{301}"].filter { !$0.isEmpty }
            for (number, name) in names.enumerated() {
                try await SecretStore(name, rule: .whenUnlocked).write(number, for: name)
            }
            for (number, name) in names.enumerated() {
                let store = SecretStore(name, rule: .whenUnlocked)
                #expect(try await store.read(name) == number)
                #expect(try await store.status() == [name: .present])
            }
            try await SecretStore("a", rule: .whenUnlocked).deleteAll()
            try await SecretStore("a", rule: .whenUnlocked).deleteAll()
            #expect(try await SecretStore("A", rule: .whenUnlocked).status().count == 1)
        }
    }

    @Test("names, sizes and times beyond their limits are refused, and the limit is named")
    func limits() async throws {
        let world = try await World()
        let long = String(repeating: "n", count: SecretStore.longestName + 1)
        try await world.use {
            func limit<R>(_ body: () async throws(TouchstoneError) -> R) async -> String? {
                let error = await failure(body)
                return error?.code == .limitExceeded ? error?.details.first : "\(String(describing: error))"
            }
            for name in ["", long, "a\0b"] {
                let store = SecretStore(name, rule: .whenUnlocked)
                #expect(
                    await limit { () throws(TouchstoneError) in try await store.write("x", for: "k") }
                        == "name of a store: 1 to 255 bytes, none of them 0"
                )
                #expect(
                    await limit { () throws(TouchstoneError) in
                        try await SecretStore("s", rule: .whenUnlocked).read(name, as: Data.self)
                    } == "key: 1 to 255 bytes, none of them 0"
                )
            }
            #expect(
                await limit { () throws(TouchstoneError) in
                    try await SecretStore("s", rule: .whenUnlocked)
                        .write(Data(count: SecretStore.longestSecret + 1), for: "k")
                } == "secret: at most 65536 bytes"
            )
            for time in [Duration.seconds(301), .seconds(-1)] {
                #expect(
                    await limit { () throws(TouchstoneError) in
                        try await SecretStore("s", rule: .passcode.reusable(for: time)).write("x", for: "k")
                    } == "reusable: at most 300 s"
                )
            }
            #expect(try await SecretStore("s", rule: .whenUnlocked).status().isEmpty)
            let name = String(long.dropLast())
            try await SecretStore(name, rule: .whenUnlocked).write("x", for: name)
            #expect(try await SecretStore(name, rule: .whenUnlocked).read(name) == "x")
        }
    }

    @Test("a rule that requires more protection than available, and another program's group, are refused")
    func refused() async throws {
        let world = try await World()
        await world.use {
            let store = SecretStore("strict", rule: .whenUnlocked.requiring(.software))
            let error = await failure { () throws(TouchstoneError) in try await store.write("x", for: "key") }
            #expect(error?.code == .hardwareTooWeak)
            #expect(error?.details == ["demanded: software", "here: test"])
            await #expect(throws: TouchstoneError(.hardwareTooWeak)) {
                try await store.read("key", as: Data.self)
            }
            let foreign = SecretStore("x", rule: .whenUnlocked, group: "/usr/bin/other")
            await #expect(throws: TouchstoneError(.denied)) { try await foreign.write("x", for: "key") }
        }
    }

    @Test("a secret changed on disk is damaged, not absent")
    func damaged() async throws {
        let world = try await World()
        let store = SecretStore("disk", rule: .whenUnlocked)
        try await world.use {
            try await store.write(Data(repeating: 9, count: SecretStore.longestSecret), for: "key")
            world.keychain.stop(with: SIGTERM)
            let path = world.keychain.home.appending("data/items.sqlite")
            var file = try Data(contentsOf: URL(fileURLWithPath: path))
            // Most of the file is the one long secret.
            file[file.count / 2] ^= 1
            try file.write(to: URL(fileURLWithPath: path))
            try await world.keychain.start()
            try world.keychain.unlock()
            let error = await failure { () throws(TouchstoneError) in
                try await store.read("key", as: Data.self)
            }
            #expect(error?.code == .damaged && error?.nextStep == .recover, "\(String(describing: error))")
        }
    }
}
