import Foundation
import Testing
import TouchstoneTesting

@testable import Touchstone

@Suite("All values of a store", .timeLimit(.minutes(20)))
struct ManyValuesTests {
    @Test(
        "keys and contains need no prompt, readAll needs one; each in an empty, a filled, and a locked store"
    )
    func all() async throws {
        let world = try await World()
        let store = SecretStore("many", rule: .passcode)
        try await world.use {
            #expect(try await store.keys().isEmpty)
            #expect(try await store.contains("a") == false)
            #expect(try await store.readAll(as: String.self).isEmpty)
            #expect(world.prompts == 0)
            for key in ["b", "a", "ü c"] { try await store.write("value of \(key)", for: key) }
            #expect(try await store.keys() == ["a", "b", "ü c"])
            #expect(try await store.contains("ü c"))
            #expect(try await store.contains("ü") == false)
            await #expect(throws: TouchstoneError.limitExceeded) { try await store.contains("") }
            #expect(world.prompts == 0)
            let values: [String: String] = try await store.readAll(with: "Read all")
            #expect(values == ["a": "value of a", "b": "value of b", "ü c": "value of ü c"])
            #expect(world.prompts == 1)
            await #expect(throws: TouchstoneError.typeMismatch) { try await store.readAll(as: Int.self) }
            await #expect(throws: TouchstoneError.interactionNeeded) {
                try await store.readAll(as: String.self, with: .silent)
            }
            _ = try await store.delete("b")
            #expect(try await store.keys() == ["a", "ü c"])
        }
    }

    @Test("update takes the value's type from what is assigned, compared or returned")
    func inference() async throws {
        let world = try await World()
        let store = SecretStore("update", rule: .whenUnlocked)
        try await world.use {
            for _ in 0..<2 { try await store.update("count") { $0 = ($0 ?? 0) + 1 } }
            #expect(try await store.read("count") == 2)
            try await store.update("text") { $0 = "a" }
            let former: String? = try await store.update("text") { value in
                defer { value = "b" }
                return value
            }
            #expect(former == "a")
            // An optional in place of a value.
            let next: String? = "c"
            try await store.update("text") { $0 = next }
            #expect(try await store.read("text") == "c")
            let none: String? = nil
            try await store.update("text") { $0 = none }
            #expect(try await store.contains("text") == false)
        }
    }

    @Test("nil is refused with the way to delete, and dates are ISO 8601, the same when they are read")
    func forms() async throws {
        struct Note: Codable, Equatable {
            var date: Date
            var text: String
        }
        let world = try await World()
        let store = SecretStore("forms", rule: .whenUnlocked)
        try await world.use {
            let refused = await failure { () async throws(TouchstoneError) in
                try await store.write(Int?.none, for: "nil")
            }
            #expect(refused == .typeMismatch && refused?.details.last?.contains("delete(_:)") == true)
            let dates = [
                Date(), Date(timeIntervalSince1970: 0), Date(timeIntervalSince1970: -1.25), Date.distantPast,
                Date(timeIntervalSince1970: 1e13),
                Date(timeIntervalSinceReferenceDate: 0.1), Date(timeIntervalSince1970: 1_700_000_000.123_456),
                Date(timeIntervalSince1970: 253_402_300_799),
            ]
            for date in dates {
                let note = Note(date: date, text: "t")
                try await store.write(note, for: "note")
                #expect(try await store.read("note") == note, "\(date.timeIntervalSince1970)")
            }
            try await store.write(Note(date: Date(timeIntervalSince1970: 1.5), text: "t"), for: "note")
            let text = try await store.read("note", as: String.self)
            #expect(text.contains("\"1970-01-01T00:00:01.500000000Z\""), "\(text)")
            // Written by other programs, and by earlier versions.
            for (form, time) in [
                ("\"2001-01-01T00:00:00Z\"", 0.0), ("\"2001-01-01T02:00:00.5+02:00\"", 0.5), ("1.5", 1.5),
                ("-2", -2),
            ] {
                try await store.write("{\"date\":\(form),\"text\":\"t\"}", for: "note")
                let note: Note = try await store.read("note")
                #expect(note.date.timeIntervalSinceReferenceDate == time, "\(form)")
            }
            for form in ["\"yesterday\"", "\"2001-01-01T00:00:00.Z\"", "\"2001-01-01\"", "null", "\"\""] {
                try await store.write("{\"date\":\(form),\"text\":\"t\"}", for: "note")
                await #expect(throws: TouchstoneError.typeMismatch) {
                    try await store.read("note", as: Note.self)
                }
            }
            await #expect(throws: TouchstoneError.typeMismatch) {
                try await store.write(
                    Note(date: Date(timeIntervalSince1970: .infinity), text: "t"),
                    for: "note"
                )
            }
        }
    }
}
