import Foundation
import KeychainModel
import Testing
import TouchstoneTesting

@testable import KeychainEngine

@Suite("Space of deleted items is returned to the file system")
struct ShrinkTests {
    let keychain = TestKeychain()
    private static let large = 900_000

    /// A keychain with a few small items, after `count` large ones were deleted.
    private func deleted(_ count: Int, in keychain: TestKeychain? = nil) async throws -> KeychainEngine {
        let (engine, _) = try await (keychain ?? self.keychain).setUp()
        for index in 0..<20 { try await engine.add("account \(index)", "secret \(index)") }
        for index in 0..<count {
            try await engine.add("large \(index)", String(repeating: "x", count: Self.large))
        }
        for index in 0..<count { try await engine.delete("large \(index)") }
        return engine
    }

    @Test("the remaining items are unchanged, before and after a restart")
    func shrinks() async throws {
        let count = CaseSize.of(12, full: 1000)
        var engine: KeychainEngine? = try await deleted(count)
        _ = try await engine?.shrinkNow(isAwaited: false)
        let length = try keychain.byteCount("items.sqlite")
        #expect(length < 100_000, "\(length)")
        for round in 0..<2 {
            if round == 1 {
                await engine?.close()
                engine = nil
                engine = try await keychain.restart()
            }
            for index in 0..<20 { #expect(try await engine?.secret("account \(index)") == "secret \(index)") }
            try await engine?.add("new \(round)")
            let report = await engine?.check()
            #expect(report?.isSetAuthentic == true && report?.damaged == 0 && report?.faults == [])
        }
        let names = try FileManager.default.contentsOfDirectory(atPath: keychain.path)
        #expect(!names.contains { $0.contains(".new") })
    }

    @Test("the file is shrunk automatically after a period without changes")
    func byItself() async throws {
        let keychain = TestKeychain(idleDelay: .seconds(1))
        let engine = try await deleted(3, in: keychain)
        let isSmall = try? await Deadline.wait(for: "a small file") {
            try keychain.byteCount("items.sqlite") < 100_000 ? true : nil
        }
        #expect(isSmall == true)
        #expect(try await engine.secret("account 3") == "secret 3")
    }

    @Test("shrinking is interrupted by a waiting request and leaves the file unchanged")
    func awaited() async throws {
        let engine = try await deleted(2)
        for index in 0..<400 { try await engine.add("more \(index)") }
        #expect(try await engine.shrinkNow(isAwaited: true) == false)
        #expect(try keychain.byteCount("items.sqlite") > 2 * Self.large)
        #expect(try await engine.secret("account 3") == "secret 3")
        #expect(try await engine.shrinkNow(isAwaited: false))
    }

    @Test("the shrunk file contains no free page")
    func nothingLeft() async throws {
        let engine = try await deleted(2)
        #expect(try await engine.shrinkNow(isAwaited: false))
        await engine.close()
        let free = try keychain.octets("items.sqlite")[36..<40]
        #expect(free.allSatisfy { $0 == 0 }, "no page is free")
    }

    @Test("an unfinished new file is removed at the next start")
    func leftover() async throws {
        try await deleted(1).close()
        let half = keychain.file("items.sqlite.new")
        try Data(repeating: 3, count: 5000).write(to: URL(fileURLWithPath: half))
        unsafe chmod(half, 0o600)
        #expect(try await keychain.restart().secret("account 3") == "secret 3")
        #expect(!FileManager.default.fileExists(atPath: half))
    }
}

extension KeychainEngine {
    /// - Returns: false if it was interrupted.
    fileprivate func shrinkNow(isAwaited: Bool) async throws -> Bool {
        try items.withState { (state) throws(KeychainError) in
            let context = try items.keys.context()
            let store = try items.usableStore(&state, context)
            do throws(KeychainError) {
                try store.shrink(context) { isAwaited }
                return true
            } catch {
                guard error.cause == .interrupted else { throw error }
                return false
            }
        }
    }
}
