import Foundation
import KeychainEngine
import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting

@Suite("An import creates the whole keychain or nothing")
struct ImportTests {
    /// More items than one commit holds.
    private static let items = 600

    private static func export() async throws -> (octets: [UInt8], code: String) {
        let old = try await OldKeychain()
        for index in 0..<items { try await old.engine.add("account \(index)", "secret \(index)") }
        return (try await old.export().octets(), old.code)
    }

    @Test("an import into an existing keychain is refused and leaves it unchanged")
    func existing() async throws {
        let old = try await OldKeychain()
        try await old.engine.add("moves", "elsewhere")
        let octets = try await old.export().octets()
        let there = TestKeychain()
        let (engine, _) = try await there.setUp()
        try await engine.add("kept", "here")
        await #expect(throws: KeychainError(.duplicateItem)) {
            try await engine.setUp(from: octets, code: old.code)
        }
        #expect(try await engine.opens(TestKeychain.passcode))
        #expect(try await engine.all().map(\.text) == ["here"])
    }

    @Test("an uploaded export reads back unchanged and leaves no file")
    func upload() async throws {
        let old = try await OldKeychain()
        try await old.engine.add("moves", "in parts")
        let octets = try await old.export().octets()
        let there = TestKeychain()
        let engine = try there.start()
        let file = try await engine.makeExportFile()
        for start in stride(from: 0, to: octets.count, by: 100) {
            try file.append(Array(octets[start...].prefix(100)))
        }
        #expect(file.count == octets.count)
        #expect(try file.read(from: 0, upTo: 1 << 20) == octets)
        #expect(try file.read(from: octets.count, upTo: 1) == [])
        #expect(try FileManager.default.contentsOfDirectory(atPath: there.path) == [])
        let count = try await engine.setUp(
            from: file,
            passcode: .text(TestKeychain.newPasscode),
            recoveryCode: .text(old.code)
        )
        #expect(count == 1)
        #expect(try await engine.secret("moves") == "in parts")
    }

    @Test(
        "a crash at any moment leaves no keychain, and the import can be repeated",
        .timeLimit(.minutes(CaseSize.of(20, full: 90)))
    )
    func crashes() async throws {
        let (octets, code) = try await Self.export()
        let there = TestKeychain()
        let images = Images(of: there)
        let engine = try there.start()
        let file = MemoryExport(octets) { () throws(KeychainError) in images.take() }
        _ = try await engine.setUp(
            from: file,
            passcode: .text(TestKeychain.newPasscode),
            recoveryCode: .text(code)
        )
        // Before the keybag file exists, between commits, and after the last item.
        #expect(images.all.count > 20)
        #expect(images.all.contains { FileManager.default.fileExists(atPath: $0.file("items.sqlite.new")) })
        for image in images.all {
            let engine = try image.start()
            #expect(await engine.state() == .notSetUp)
            let files = Set(try FileManager.default.contentsOfDirectory(atPath: image.path))
            #expect(Set(files).isSubset(of: ["attempts", "device.key", "daemon.log"]), "\(files)")
        }
        let last = try #require(images.all.last)
        let again = try last.start()
        #expect(try await again.setUp(from: octets, code: code) == Self.items)
        #expect(try await again.secret("account \(Self.items - 1)") == "secret \(Self.items - 1)")
        // A plain set-up also works after a crash.
        _ = try await images.all[images.all.count - 2].setUp()
    }

    @Test("an error at any moment leaves no keychain, and the same engine can repeat the import")
    func faults() async throws {
        let (octets, code) = try await Self.export()
        let there = TestKeychain()
        let engine = try there.start()
        for fault in [1, 2, 3, 5, 400, 1000, 1205] {
            let reads = Guarded(0)
            let file = MemoryExport(octets) { () throws(KeychainError) in
                let number = reads.withLock { count in
                    count += 1
                    return count
                }
                if number == fault { throw KeychainError(.io) }
            }
            await #expect(throws: KeychainError(.io), "read \(fault)") {
                _ = try await engine.setUp(
                    from: file,
                    passcode: .text(TestKeychain.newPasscode),
                    recoveryCode: .text(code)
                )
            }
            #expect(await engine.state() == .notSetUp)
            let files = try FileManager.default.contentsOfDirectory(atPath: there.path)
            #expect(Set(files).isSubset(of: ["attempts", "device.key"]), "\(files)")
        }
        #expect(try await engine.setUp(from: octets, code: code) == Self.items)
        #expect(await engine.check().items == Self.items)
    }

    @Test("an import marker left after a completed import has no effect")
    func leftMark() async throws {
        let (octets, code) = try await Self.export()
        let there = TestKeychain()
        let engine = try there.start()
        try await engine.setUp(from: octets, code: code)
        await engine.close()
        let copy = try there.copy()
        let made = FileManager.default.createFile(
            atPath: copy.file("import"),
            contents: nil,
            attributes: [.posixPermissions: 0o600]
        )
        #expect(made)
        let next = try copy.start()
        _ = try await next.key(TestKeychain.newPasscode)
        #expect(await next.check().items == Self.items)
        #expect(!FileManager.default.fileExists(atPath: copy.file("import")))
    }
}

/// Copies of a directory taken while it is written: what a crash at each moment leaves.
private final class Images: Sendable {
    private let there: TestKeychain
    private let taken = Guarded<(moments: Int, images: [TestKeychain])>((0, []))

    init(of there: TestKeychain) { self.there = there }

    var all: [TestKeychain] { taken.withLock { $0.images } }

    /// Copies the directory at every 40th call, and at all of the first and last ones.
    func take() {
        taken.withLock { taken in
            taken.moments += 1
            guard taken.moments % 40 == 0 || taken.moments < 6 || taken.moments > 1200 else { return }
            if let image = try? there.copy() { taken.images.append(image) }
        }
    }
}
