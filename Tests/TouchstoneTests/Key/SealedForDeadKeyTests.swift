import Foundation
import Glibc
import Testing
import TouchstoneTesting

@testable import Touchstone

@Suite("Nothing is sealed for a key that cannot open it", .timeLimit(.minutes(20)))
struct SealedForDeadKeyTests {
    private let note = Data("dear diary".utf8)

    @Test("a key whose fingers have changed is invalidated, before anything is sealed and without a prompt")
    func invalidated() async throws {
        let world = try await World.withFinger()
        try await world.use {
            let bound = try await DeviceSealingKey.create("bound")
            let free = try await DeviceSealingKey.create("free", rule: .passcode)
            let record = try await bound.seal(note)
            try world.touches()
            #expect(try await bound.open(record) == note)
            let prompts = world.prompts
            try await world.enrol(["right-index-finger", "left-thumb"])
            await #expect(throws: TouchstoneError(.invalidated)) { try await bound.seal(note) }
            _ = try await free.seal(note)
            #expect(world.prompts == prompts)
        }
    }

    @Test("nothing is sealed for a deleted key, also when another has its name; a waiting successor seals")
    func deleted() async throws {
        let world = try await World()
        try await world.use {
            let old = try await DeviceSealingKey.create("notes", rule: .whenUnlocked)
            let new = try await old.makeSuccessor()
            #expect(try await old.open(try await old.seal(note)) == note)
            #expect(try await new.open(try await new.seal(note)) == note)
            #expect(try await old.delete() == .deleted)
            await #expect(throws: TouchstoneError(.deleted)) { try await old.seal(note) }
            #expect(try await new.open(try await new.seal(note)) == note)
            #expect(try await DeviceSealingKey.delete("notes") == .deleted)
            await #expect(throws: TouchstoneError(.deleted)) { try await new.seal(note) }
            _ = try await DeviceSealingKey.create("notes", rule: .whenUnlocked)
            await #expect(throws: TouchstoneError(.deleted)) { try await new.seal(note) }
        }
    }

    @Test("before the first unlock nothing is sealed; after a later lock it is")
    func locked() async throws {
        let world = try await World()
        try await world.use {
            let key = try await DeviceSealingKey.create("notes", rule: .passcode)
            try world.lock()
            let record = try await key.seal(note)
            world.keychain.stop(with: SIGTERM)
            try await world.keychain.start()
            let prompts = world.prompts
            await #expect(throws: TouchstoneError(.locked)) { try await key.seal(note) }
            #expect(world.prompts == prompts)
            try world.keychain.unlock()
            #expect(try await key.open(record) == note)
            #expect(try await key.open(try await key.seal(note)) == note)
        }
    }
}
