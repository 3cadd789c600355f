import Foundation
import KeychainModel
import Testing

@testable import KeychainEngine

@Suite("The write-ahead log")
struct LogTests {
    private let keychain = TestKeychain()

    private func length() throws -> Int { try keychain.octets("items.sqlite-wal").count }

    @Test("the log is preallocated, and its unused part is read as its end")
    func growsAhead() async throws {
        var (engine, _): (KeychainEngine?, PasscodeKey?) = try await keychain.setUp()
        var lengths: [Int] = []
        for number in 0..<40 {
            try await engine?.add("account \(number)", "secret")
            lengths.append(try length())
        }
        // It doubles each time; without preallocation it would grow with each of the 40 changes.
        #expect(Set(lengths).count <= 8)
        #expect(lengths == lengths.sorted())
        #expect(lengths[39] <= ItemDatabase.longestLog)
        // As after a crash: the last changes are only in the log.
        let copy = TestKeychain()
        try FileManager.default.copyItem(atPath: keychain.path, toPath: copy.path)
        let next = try await copy.restart()
        for number in 0..<40 { #expect(try await next.secret("account \(number)") == "secret") }
        #expect(await next.check().isSetAuthentic)
        await next.close()
        await engine?.close()
        engine = nil
    }

    @Test("the log is emptied when deleted records are purged from it")
    func emptied() async throws {
        let (engine, _) = try await keychain.setUp()
        for number in 0..<20 { try await engine.add("account \(number)", "secret") }
        let former = try length()
        #expect(try await engine.delete("account 3") == 1)
        await engine.lock()
        #expect(try length() == 0)
        _ = try await engine.key(TestKeychain.passcode)
        try await engine.add("another", "secret")
        #expect(try length() < former)
        #expect(try await engine.secret("another") == "secret")
        await engine.close()
    }
}
