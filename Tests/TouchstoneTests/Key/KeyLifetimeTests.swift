import Foundation
import Testing
import TouchstoneTesting

@testable import Touchstone

@Suite("When a key may be used, how often, and making it once", .timeLimit(.minutes(10)))
struct KeyLifetimeTests {
    private let message = Data("challenge".utf8)

    @Test(
        "a key that is there is found, one that is not is made, and one that cannot be used is not replaced"
    )
    func findOrCreate() async throws {
        let world = try await World()
        try await world.use {
            let made = try await DeviceSigningKey.findOrCreate("key", rule: .passcode)
            let found = try await DeviceSigningKey.findOrCreate("key", rule: .passcode, expires: Date() + 60)
            #expect(found.publicKey == made.publicKey && found.expires == nil)
            let error = await #expect(throws: TouchstoneError(.ruleMismatch)) {
                try await DeviceSigningKey.findOrCreate("key", rule: .whenUnlocked)
            }
            #expect(error?.details == ["made with: passcode", "asked for: whenUnlocked"])
            #expect(try await DeviceSigningKey.find("key").publicKey == made.publicKey)
            #expect(world.prompts == 0)

            let end = Date(timeIntervalSinceNow: 1)
            _ = try await DeviceSigningKey.create("short", rule: .whenUnlocked, expires: end)
            try await Task.sleep(for: .seconds(max(0, end.timeIntervalSinceNow) + 0.01))
            await #expect(throws: TouchstoneError(.expired)) {
                try await DeviceSigningKey.findOrCreate("short", rule: .whenUnlocked)
            }
            await #expect(throws: TouchstoneError(.limitExceeded)) {
                try await DeviceSigningKey.findOrCreate("")
            }
        }
    }

    @Test("several that make one key at once get the same one")
    func race() async throws {
        let world = try await World()
        try await world.use {
            let keys = try await withThrowingTaskGroup(of: DevicePublicKey.self) { group in
                for _ in 0..<6 {
                    group.addTask {
                        try await DeviceSigningKey.findOrCreate("key", rule: .passcode).publicKey
                    }
                }
                return try await group.reduce(into: Set()) { $0.insert($1) }
            }
            #expect(keys.count == 1)
            #expect(try await DeviceSigningKey.find("key").publicKey == keys.first)
        }
    }

    @Test("a changed set of fingers is an error, not a new key")
    func invalidated() async throws {
        let world = try await World.withFinger()
        try await world.use {
            let key = try await DeviceSigningKey.findOrCreate("bank")
            #expect(try await DeviceSigningKey.findOrCreate("bank").publicKey == key.publicKey)
            try await world.enrol(["right-index-finger", "left-thumb"])
            await #expect(throws: TouchstoneError(.invalidated)) {
                try await DeviceSigningKey.findOrCreate("bank")
            }
            #expect(try await DeviceSigningKey.delete("bank") == .deleted)
            #expect(try await DeviceSigningKey.findOrCreate("bank").publicKey != key.publicKey)
        }
    }

    @Test("a key is known before its start, and may be used from then on")
    func start() async throws {
        let world = try await World()
        try await world.use {
            let start = Date(timeIntervalSinceNow: 3600)
            let key = try await DeviceSealingKey.create("later", rule: .whenUnlocked, starts: start)
            let record = try await key.seal(message)
            await #expect(throws: TouchstoneError(.notYetValid)) { try await key.open(record) }
            let stored = try #require(try await DeviceSealingKey.find("later").starts)
            #expect(abs(stored.timeIntervalSince(start)) < 0.001)

            let soon = Date(timeIntervalSinceNow: 0.5)
            let next = try await DeviceSealingKey.create("soon", rule: .whenUnlocked, starts: soon)
            let sealed = try await next.seal(message)
            try await Task.sleep(for: .seconds(max(0, soon.timeIntervalSinceNow) + 0.01))
            #expect(try await DeviceSealingKey.find("soon").open(sealed) == message)

            for (starts, expires) in [(60.0, 60.0), (61, 60)] {
                await #expect(throws: TouchstoneError(.limitExceeded)) {
                    let now = Date()
                    return try await DeviceSigningKey.create(
                        "x",
                        starts: now + starts,
                        expires: now + expires
                    )
                }
            }
            await #expect(throws: TouchstoneError(.notFound)) { try await DeviceSigningKey.find("x") }
        }
    }
}
