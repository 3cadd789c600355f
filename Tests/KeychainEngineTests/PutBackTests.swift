import Foundation
import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting

@testable import KeychainEngine

@Suite("A keychain that is put back under a running daemon is found and never replaced")
struct PutBackTests {
    /// The files of a closed keychain with one secret, and an export of it.
    private struct Former {
        let keychain = TestKeychain()
        let code: String
        let export: [UInt8]

        init() async throws {
            let engine = try keychain.start()
            code = try engine.makeRecoveryCode().reading()
            try await engine.setUp(passcode: .text(TestKeychain.passcode), recoveryCode: .text(code))
            try await engine.add("ann", "treasure")
            export = try await engine.export(recoveryCode: .text(code)).octets()
            await engine.close()
        }

        /// All files, by name.
        func files() throws -> [String: [UInt8]] { try PutBackTests.files(in: keychain) }
    }

    private static func files(in keychain: TestKeychain) throws -> [String: [UInt8]] {
        let names = try FileManager.default.contentsOfDirectory(atPath: keychain.path)
        return try Dictionary(uniqueKeysWithValues: names.map { ($0, try keychain.octets($0)) })
    }

    /// Puts files into a directory as a tool that restores them does.
    private static func put(_ files: [String: [UInt8]], into keychain: TestKeychain) throws {
        for (name, octets) in files {
            try Data(octets).write(to: URL(fileURLWithPath: keychain.file(name)))
            unsafe chmod(keychain.file(name), 0o600)
        }
    }

    /// What may be a keychain.
    enum Remains: String, CaseIterable {
        case whole, keybagAlone, copyAlone, keybagDamaged, keybagEmpty, deviceKeyGone
        case itemsAlone, itemsSmall, itemsEmpty, itemsGarbled, itemsHalf, logAlone, staleImportMark

        func files(of whole: [String: [UInt8]]) -> [String: [UInt8]] {
            var files = whole
            let keybags = ["keybag", "keybag.copy"]
            var withoutKeybag = whole
            for name in keybags { withoutKeybag[name] = nil }
            switch self {
            case .whole: break
            case .keybagAlone: files = files.filter { $0.key == "keybag" || $0.key == "device.key" }
            case .copyAlone: files = files.filter { $0.key == "keybag.copy" || $0.key == "device.key" }
            case .keybagDamaged: for name in keybags { files[name]?[40] ^= 1 }
            case .keybagEmpty: for name in keybags { files[name] = [] }
            case .deviceKeyGone: files["device.key"] = nil
            case .itemsAlone: files = withoutKeybag
            case .itemsSmall: files = ["items.sqlite": Array((whole["items.sqlite"] ?? []).prefix(2048))]
            case .itemsEmpty: files = ["items.sqlite": []]
            case .itemsGarbled: files = ["items.sqlite": [UInt8](repeating: 0xA5, count: 20_000)]
            case .itemsHalf:
                let items = whole["items.sqlite"] ?? []
                files = ["items.sqlite": Array(items.prefix(items.count / 2))]
            case .logAlone: files = ["items.sqlite-wal": [UInt8](repeating: 7, count: 5000)]
            case .staleImportMark:
                files = withoutKeybag
                files["import"] = []
            }
            return files
        }
    }

    /// When the files come.
    enum Moment: String, CaseIterable {
        case beforeStart, underDaemon, duringSetUp
    }

    @Test(
        "set-up and import refuse over anything that may be a keychain, and every byte of it stays",
        arguments: Remains.allCases,
        Moment.allCases
    )
    func refused(_ remains: Remains, _ moment: Moment) async throws {
        let former = try await Former()
        let files = remains.files(of: try former.files())
        for imports in [false, true] {
            let keychain = TestKeychain()
            let directory = try StoreDirectory(path: keychain.path)
            let sealer = SealerWithGuest(FileKeySealer(directory: directory))
            if moment == .beforeStart { try Self.put(files, into: keychain) }
            let engine = try KeychainEngine(
                directory: directory,
                sealer: sealer,
                derivation: .test,
                audit: keychain.audit
            )
            switch moment {
            case .beforeStart: break
            case .underDaemon: try Self.put(files, into: keychain)
            case .duringSetUp: sealer.guest.withLock { $0 = { try? Self.put(files, into: keychain) } }
            }
            var failure: KeychainError?
            do {
                if imports {
                    try await engine.setUp(from: former.export, code: former.code)
                } else {
                    let code = try engine.makeRecoveryCode()
                    try await engine.setUp(passcode: .text("a long new passcode"), recoveryCode: code)
                }
            } catch {
                failure = error as? KeychainError
            }
            if remains == .staleImportMark, moment == .beforeStart {
                // Its items got another name at the start.
                #expect(failure == nil)
            } else {
                #expect(failure?.status == .duplicateItem)
                #expect(failure?.cause == .alreadySetUp)
            }
            let now = try Self.files(in: keychain)
            for (name, octets) in files where !["attempts", "import"].contains(name) {
                let isThere = now.contains { found in
                    (found.key == name || found.key.hasPrefix("items.sqlite.damaged-"))
                        && found.value == octets
                }
                #expect(isThere, "\(name)")
            }
            #expect(now["items.sqlite.new"] == nil)
            await engine.close()
        }
    }

    @Test("a keychain that was put back is locked, opens with its passcode and has its secrets")
    func opens() async throws {
        let former = try await Former()
        let keychain = TestKeychain()
        let engine = try keychain.start()
        #expect(await engine.state() == .notSetUp)
        try Self.put(try former.files(), into: keychain)
        #expect(await engine.state() == .locked)
        #expect(try await engine.opens(TestKeychain.passcode))
        #expect(try await engine.secret("ann") == "treasure")
        try await engine.add("bob", "new")
        await engine.close()
        let copy = try keychain.copy()
        let next = try await copy.restart()
        #expect(try await next.secret("bob") == "new")
    }

    @Test("a keybag that was away is read again: locked or unlocked as before")
    func keybagAway() async throws {
        let keychain = TestKeychain()
        let (engine, _) = try await keychain.setUp()
        let names = ["keybag", "keybag.copy"]
        let whole = try Dictionary(uniqueKeysWithValues: names.map { ($0, try keychain.octets($0)) })
        let damaged = whole.mapValues { $0.map { $0 ^ 0x55 } }
        for bad in [[:], damaged] {
            for name in names { unsafe unlink(keychain.file(name)) }
            try Self.put(bad, into: keychain)
            await #expect(throws: KeychainError.self) { try await engine.key(TestKeychain.passcode) }
            #expect(await engine.state() == .damaged)
            for name in names { unsafe unlink(keychain.file(name)) }
            try Self.put(whole, into: keychain)
            #expect(await engine.state() == .unlocked)
            #expect(try await engine.opens(TestKeychain.passcode))
        }
        await engine.close()
    }

    @Test("an interrupted set-up leaves no keychain, and a later one succeeds; a finished one is continued")
    func interrupted() async throws {
        let former = try await Former()
        let whole = try former.files()
        let items = try #require(whole["items.sqlite"])
        // Before its keybag: complete or not, marked or not.
        for (mark, count) in [(true, items.count), (false, items.count), (false, 100), (true, 100)] {
            let keychain = TestKeychain()
            unsafe mkdir(keychain.path, 0o700)
            var files = ["items.sqlite.new": Array(items.prefix(count)), "keybag.new": [1, 2, 3]]
            files["device.key"] = whole["device.key"]
            if mark { files["setup"] = [] }
            try Self.put(files, into: keychain)
            let (engine, _) = try await keychain.setUp()
            try await engine.add("ann")
            await engine.close()
        }
        // After it.
        var files = whole
        files["items.sqlite"] = nil
        files["items.sqlite.new"] = items
        files["setup"] = []
        let keychain = TestKeychain()
        unsafe mkdir(keychain.path, 0o700)
        try Self.put(files, into: keychain)
        let engine = try await keychain.restart()
        #expect(try await engine.secret("ann") == "treasure")
        let left = try Set(FileManager.default.contentsOfDirectory(atPath: keychain.path))
        #expect(left.isDisjoint(with: ["setup", "items.sqlite.new", "keybag.new"]))
    }

    // MARK: Starting over

    @Test("starting over puts every file aside, and the keychain opens again once they are back")
    func startOver() async throws {
        let former = try await Former()
        let files = try former.files()
        for remains in Remains.allCases {
            let keychain = TestKeychain()
            unsafe mkdir(keychain.path, 0o700)
            let there = remains.files(of: files)
            try Self.put(there, into: keychain)
            let engine = try keychain.start()
            let aside = try #require(try await engine.keybag.startOver())
            #expect(aside == "former-1")
            #expect(await engine.state() == .notSetUp)
            #expect(keychain.audit.kinds.contains(.keybagPutAside))
            let code = try engine.makeRecoveryCode()
            try await engine.setUp(passcode: .text("a long new passcode"), recoveryCode: code)
            try await engine.add("new", "new")
            #expect(try await engine.keybag.startOver() == "former-2")
            #expect(
                try FileManager.default.contentsOfDirectory(atPath: keychain.path).sorted() == [
                    "former-1", "former-2",
                ]
            )
            await engine.close()
            guard remains == .whole else { continue }
            let restored = TestKeychain()
            try FileManager.default.copyItem(atPath: keychain.file(aside), toPath: restored.path)
            let again = try await restored.restart()
            #expect(try await again.secret("ann") == "treasure")
        }
        let none = TestKeychain()
        #expect(try await none.start().keybag.startOver() == nil)
    }

    @Test("an interrupted start-over is continued, whichever file it had reached")
    func startOverInterrupted() async throws {
        let files = try await Former().files()
        // The keybag goes first, and its copy.
        let names = ["keybag", "keybag.copy"] + files.keys.filter { !$0.hasPrefix("keybag") }.sorted()
        for reached in 0...names.count {
            let keychain = TestKeychain()
            unsafe mkdir(keychain.path, 0o700)
            try Self.put(files, into: keychain)
            unsafe mkdir(keychain.file("former.new"), 0o700)
            for name in names.prefix(reached) {
                unsafe rename(keychain.file(name), keychain.file("former.new/" + name))
            }
            let engine = try keychain.start()
            if reached < 2 {
                #expect(try await engine.opens(TestKeychain.passcode))
                #expect(try await engine.secret("ann") == "treasure")
                continue
            }
            #expect(await engine.state() == .notSetUp, "\(reached)")
            let aside = try FileManager.default.contentsOfDirectory(atPath: keychain.file("former-1"))
            #expect(Set(aside) == Set(names), "\(reached)")
        }
    }
}

/// Seals with a file; its guest comes while it does.
final class SealerWithGuest: KeySealer {
    private let sealer: FileKeySealer
    let guest = Guarded<(@Sendable () -> Void)?>(nil)

    init(_ sealer: FileKeySealer) { self.sealer = sealer }

    func assurance(of blob: [UInt8]?) async -> AssuranceReport { await sealer.assurance(of: blob) }
    func isBest(_ blob: [UInt8]) async -> Bool { await sealer.isBest(blob) }
    func seal(
        authorization: borrowing SecretBytes,
        for keychain: [UInt8]
    ) async throws(KeychainError) -> SealedDeviceSecret {
        guest.withLock { $0.take() }?()
        return try await sealer.seal(authorization: authorization, for: keychain)
    }
    func unseal(
        _ blob: [UInt8],
        authorization: borrowing SecretBytes
    ) async throws(KeychainError) -> SecretBytes {
        try await sealer.unseal(blob, authorization: authorization)
    }
    var withoutHardware: (any KeySealer)? { nil }
    func isInHardware(_ blob: [UInt8]) -> Bool { false }
    func removeLeftovers(keeping blob: [UInt8]?, of keychain: [UInt8]) async throws(KeychainError) {
        try await sealer.removeLeftovers(keeping: blob, of: keychain)
    }
    func destroy(_ blob: [UInt8]) async throws(KeychainError) { try await sealer.destroy(blob) }
}
