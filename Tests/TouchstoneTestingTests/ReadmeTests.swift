import Foundation
import LocalAuthentication
import Security
import Testing
import TouchstoneTesting

/// Stores the app's token, protected by a finger.
private func save(_ token: String) -> OSStatus { NoteStore.add(token) }

/// Reads the token.
private func load() -> (status: OSStatus, value: String?) { NoteStore.read("Load the token") }

@Suite("Tests in the README", .timeLimit(.minutes(10)))
struct ReadmeTests {
    // BEGIN
    @Test func aTokenComesBack() async throws {
        let keychain = try await TemporaryKeychain()
        await keychain.use { #expect(save("s3cret") == errSecSuccess) }
        await keychain.use { #expect(load() == (errSecSuccess, "s3cret")) }
    }
    @Test func aNewFingerEndsTheToken() async throws {
        let keychain = try await TemporaryKeychain(reader: .image, enrolled: [.first], chip: .prepared())
        try await keychain.use {
            #expect(save("s3cret") == errSecSuccess)
            keychain.person(.cancels)
            #expect(load().status == errSecUserCanceled)
            #expect(keychain.prompts.count == 1)
            try await keychain.enrol(.second)
            #expect(load().status == errSecItemNotFound)
        }
    }
    // END

    @Test("README.md contains these tests, line by line")
    func sameLines() throws {
        func lines(_ text: String) -> [Substring] {
            text.split(separator: "\n").map { $0.drop { $0 == " " } }.filter { !$0.isEmpty }
        }
        let here = try String(contentsOfFile: #filePath, encoding: .utf8)
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let readme = lines(try String(contentsOf: root.appending(path: "README.md"), encoding: .utf8))
        let tests = lines(here).drop { $0 != "// BEGIN" }.dropFirst().prefix { $0 != "// END" }
        #expect(tests.count == 16)
        let starts = tests.indices.filter { tests[$0].hasPrefix("@Test") }
        for (start, end) in zip(starts, starts.dropFirst() + [tests.endIndex]) {
            let test = Array(tests[start..<end])
            let isThere = readme.indices.contains { readme[$0...].starts(with: test) }
            #expect(isThere, "\(test[0])")
        }
    }
}
