import Foundation
import KeychainEngine
import KeychainModel
import SecretMemory
import Testing

@Suite("A keychain at its item limit")
struct FullKeychainTests {
    private static let most = 3
    private let keychain = TestKeychain(mostItems: FullKeychainTests.most)

    private static func isFull(_ error: KeychainError?) -> Bool {
        error?.status == .diskFull && error?.cause == DriverCause(.storeFull, detail: "\(most)")
    }

    /// Creates a keychain that is full.
    private func filled() async throws -> KeychainEngine {
        let (engine, _) = try await keychain.setUp()
        for index in 0..<Self.most { try await engine.add("\(index)") }
        return engine
    }

    @Test("the limit is 524,288 items")
    func figure() { #expect(ItemLimits.mostItems == 524_288) }

    @Test(
        "an add above the limit is refused with its own cause; updates work, and a deletion makes room"
    )
    func full() async throws {
        try await refused()
        let engine = try await keychain.restart()
        #expect(try await Set(engine.all().map(\.text)) == ["changed", "secret"])
        #expect(await engine.check().items == Self.most)
        let still = await #expect(throws: KeychainError.self) { try await engine.add("more") }
        #expect(Self.isFull(still))
        #expect(try await engine.delete("2") == 1)
        try await engine.add("more")
        let again = await #expect(throws: KeychainError.self) { try await engine.add("2") }
        #expect(Self.isFull(again))
        let report = await engine.check()
        #expect(report.items == Self.most && report.isSetAuthentic && report.damaged == 0, "\(report)")
    }

    /// The engine is released on return.
    private func refused() async throws {
        let engine = try await filled()
        for _ in 0..<2 {
            let error = await #expect(throws: KeychainError.self) { try await engine.add("more") }
            #expect(Self.isFull(error))
        }
        await #expect(throws: KeychainError(.duplicateItem)) { try await engine.add("0") }
        await #expect(throws: KeychainError(.itemNotFound)) { try await engine.secret("more") }
        #expect(try await engine.update("0", secret: "changed") == .updated(1))
        #expect(try await engine.update("1", attributes: [.account: .string("renamed")]) == .updated(1))
        await engine.close()
    }

    @Test("an add that replaces an invalidated item does not count towards the limit")
    func replaced() async throws {
        let (engine, _) = try await keychain.setUp()
        _ = try await engine.observe(TestKeychain.enrolled)
        for index in 1..<Self.most { try await engine.add("\(index)") }
        let control = try AccessControl(accessibility: .whenUnlocked, flags: .biometryCurrentSet)
        try await engine.add("0", "old", control)
        let more = Enrolment(
            device: "sensor",
            fingers: ["left-index", "right-index"],
            templateDigest: nil,
            completions: 0
        )
        #expect(try await engine.observe(more).changed)
        try await engine.add("0", "new")
        #expect(try await engine.secret("0") == "new")
        let error = await #expect(throws: KeychainError.self) { try await engine.add("more") }
        #expect(Self.isFull(error))
    }

    @Test("a keychain above the limit opens, lists and deletes, and accepts adds once it is below")
    func overfull() async throws {
        var first: KeychainEngine? = try await filled()
        await first?.close()
        first = nil
        let engine = try keychain.start(mostItems: 2)
        _ = try await engine.key(TestKeychain.passcode)
        #expect(try await engine.all().count == 3)
        for account in ["0", "1"] {
            await #expect(throws: KeychainError(.diskFull)) { try await engine.add("more") }
            try await engine.delete(account)
        }
        try await engine.add("more")
        #expect(try await engine.all().count == 2)
    }

    @Test("concurrent adds fill the keychain to the limit and not beyond")
    func together() async throws {
        let keychain = TestKeychain(mostItems: 20)
        let (engine, _) = try await keychain.setUp()
        let stored = await withTaskGroup(of: Bool.self) { group in
            for index in 0..<64 {
                group.addTask {
                    do {
                        try await engine.add("\(index)")
                        return true
                    } catch {
                        #expect((error as? KeychainError)?.cause?.known == .storeFull, "\(error)")
                        return false
                    }
                }
            }
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(stored == 20)
        let report = await engine.check()
        #expect(report.items == 20 && report.isSetAuthentic && report.faults == [], "\(report)")
    }

    @Test("an import above the limit is refused as a whole, before a passcode is chosen and at the end")
    func imported() async throws {
        let old = try await OldKeychain()
        for index in 0...Self.most { try await old.engine.add("\(index)") }
        let octets = try await old.export().octets()
        var engine: KeychainEngine? = try keychain.start()
        let early = await #expect(throws: KeychainError.self) {
            _ = try await engine?.accepts(recoveryCode: .text(old.code), of: MemoryExport(octets))
        }
        #expect(Self.isFull(early))
        let late = await #expect(throws: KeychainError.self) {
            try await engine?.setUp(from: octets, code: old.code)
        }
        #expect(Self.isFull(late))
        #expect(await engine?.state() == .notSetUp)
        engine = nil
        let files = Set(try FileManager.default.contentsOfDirectory(atPath: keychain.path))
        #expect(files.isDisjoint(with: ["keybag", "items.sqlite", "import"]), "\(files)")
        // The exported keychain is unchanged and can be imported where there is room.
        #expect(try await old.engine.all().count == 4)
        let roomy = try keychain.start(mostItems: 4)
        #expect(try await roomy.setUp(from: octets, code: old.code) == 4)
    }
}
