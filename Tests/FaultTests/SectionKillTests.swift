import Glibc
import KeychainClient
import KeychainModel
import Testing
import TouchstoneTesting

@testable import KeychainEngine

@Suite(
    "A crash or power loss while the item set is divided into sections and rejoined",
    .serialized,
    .enabled(if: Strace.isThere, "needs root and strace"),
    .timeLimit(.minutes(CaseSize.of(20, full: 90)))
)
struct SectionKillTests {
    /// One section per 16 rows: the first one ends with row 15.
    private static let settings = ["test.groups-in-section = 1"] + PrivateKeychain.keepsLog

    /// Rows 1 to 15.
    private static let former = (0..<15).map {
        Change(kind: .add, account: "former \($0)", value: "old \($0)")
    }

    /// Above the limit and back, twice; the first time, the file gets format 3.
    private static let script = [
        Change(kind: .add, account: "item 0", value: "first 0"),
        Change(kind: .delete, account: "item 0", value: nil),
        Change(kind: .add, account: "item 1", value: "first 1"),
        Change(kind: .delete, account: "former 3", value: nil),
        Change(kind: .add, account: "item 2", value: "first 2"),
        Change(kind: .delete, account: "item 1", value: nil),
        Change(kind: .delete, account: "item 2", value: nil),
    ]

    /// The number of sections before the script and after each of its changes.
    private static let sections = [1, 2, 1, 2, 2, 2, 2, 1]

    private static func model(afterAnswers count: Int) -> Model {
        Change.model(former: former, script: script, afterAnswers: count)
    }

    /// What was found in the files.
    private struct Found {
        var faults: [String] = []
        var sections = 0
        var format = 0
    }

    private func found(in image: FileImage, afterAnswers count: Int) async -> Found {
        do {
            return try await opened(image, afterAnswers: count)
        } catch {
            return Found(faults: ["\(error)"])
        }
    }

    private func opened(_ image: FileImage, afterAnswers count: Int) async throws -> Found {
        try await OpenedStore.opening(image) { opened in
            var found = Found()
            let items = try await OpenedImage.items(of: opened.engine)
            found.faults = Self.model(afterAnswers: count).faults(in: items)
            let report = opened.engine.items.check()
            if !report.isSetAuthentic || report.damaged > 0 || !report.faults.isEmpty {
                found.faults.append("\(report)")
            }
            (found.sections, found.format) = opened.engine.division
            // As before or after the change in progress.
            let allowed = Set(Self.sections[count...].prefix(2))
            if !allowed.contains(found.sections) { found.faults.append("\(found.sections) sections") }
            if found.format != ItemSchema.version { found.faults.append("format \(found.format)") }
            return found
        }
    }

    private func prepared() async throws -> (PrivateKeychain, FileImage) {
        let keychain = try await PrivateKeychain.ready(settings: Self.settings)
        for change in Self.former { try keychain.apply(change) }
        keychain.stop(with: SIGKILL)
        return (keychain, try FileImage(of: keychain.layout.dataDirectory))
    }

    // Catches the sections' version number without sections, and section tags unknown to the digest.
    @Test("after a kill at any write the store is as before or after the change, and works")
    func kills() async throws {
        let (keychain, former) = try await prepared()
        var killed: [String: Int] = [:]
        var seen: (sections: Set<Int>, formats: Set<Int>) = ([], [])
        for call in Strace.writes {
            for number in stride(from: 1, to: 2000, by: CaseSize.of(5, full: 1)) {
                try former.write(to: keychain.layout.dataDirectory)
                try await keychain.start()
                try keychain.unlock()
                let strace = try await Strace.attach(
                    to: keychain.processID,
                    Strace.killing(at: number, of: call)
                )
                var count = 0
                var wasKilled = false
                do {
                    for change in Self.script {
                        try keychain.apply(change)
                        count += 1
                    }
                    // Empties the log: its content is checkpointed into the file.
                    try keychain.client.lock()
                } catch {
                    wasKilled = true
                }
                keychain.stop(with: SIGKILL)
                strace.detach()
                let image = try FileImage(of: keychain.layout.dataDirectory)
                let found = await found(in: image, afterAnswers: count)
                #expect(found.faults == [], "killed at \(call) \(number) after \(count) answers")
                seen.sections.insert(found.sections)
                seen.formats.insert(found.format)
                guard wasKilled else { break }
                killed[call, default: 0] += 1
                guard killed.values.reduce(0, +) % CaseSize.of(4, full: 8) == 1 else { continue }
                // The daemon itself, above the limit and back.
                try await keychain.start()
                try keychain.unlock()
                for number in 0..<20 { try keychain.add("more \(number)", "more") }
                for number in 0..<20 { try keychain.delete("more \(number)") }
                #expect(
                    Self.model(afterAnswers: count).faults(in: try keychain.all()) == [],
                    "\(call) \(number)"
                )
                keychain.stop(with: SIGKILL)
            }
        }
        #expect(killed.values.reduce(0, +) >= CaseSize.of(6, full: 30), "\(killed)")
        #expect(seen == ([1, 2], [ItemSchema.version]), "\(seen)")
    }

    @Test("after lost or torn unsynced writes the store is as before or after the change")
    func powerLoss() async throws {
        let (keychain, _) = try await prepared()
        try await keychain.start()
        try keychain.unlock()
        let recording = try await Recording(of: keychain) {
            for change in Self.script { try keychain.apply(change) }
            try keychain.client.lock()
        }
        keychain.stop(with: SIGKILL)
        #expect(recording.gaps == [])
        #expect(recording.events.count { $0 == .reply } == Self.script.count + 1)
        var sections: Set<Int> = []
        for moment in recording.moments(count: CaseSize.of(60, full: 5000)) {
            let answers = min(moment.answers, Self.script.count)
            let found = await found(in: moment.image, afterAnswers: answers)
            #expect(found.faults == [], "\(moment.name)")
            sections.insert(found.sections)
        }
        #expect(sections == [1, 2], "both sides were seen")
    }
}

extension KeychainEngine {
    /// The number of sections of the item set, and the file's format.
    fileprivate var division: (sections: Int, format: Int) {
        items.withState { ($0.store?.itemSet.digest?.sections.count ?? 0, $0.store?.database.version ?? 0) }
    }
}
