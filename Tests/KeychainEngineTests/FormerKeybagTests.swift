import Foundation
import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting

@testable import KeychainEngine

@Suite("A keybag of version 3 opens, gets its seal once, and is refused afterwards")
struct FormerKeybagTests {
    /// A keychain made by version 3, in software: `secret 0` to `secret 4`, one guarded and one bound item.
    private func former() throws -> (TestKeychain, code: String) {
        let keychain = TestKeychain()
        let fixture = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("Fixtures/keybag-3")
        try FileManager.default.copyItem(atPath: fixture.path + "/store", toPath: keychain.path)
        unsafe chmod(keychain.path, 0o700)
        for name in try FileManager.default.contentsOfDirectory(atPath: keychain.path) {
            unsafe chmod(keychain.file(name), 0o600)
        }
        return (keychain, try String(contentsOfFile: fixture.path + "/recovery-code", encoding: .utf8))
    }

    private func start(_ keychain: TestKeychain) throws -> KeychainEngine {
        let directory = try StoreDirectory(path: keychain.path)
        return try KeychainEngine(
            directory: directory,
            sealer: DeviceSealer(file: FileKeySealer(directory: directory), hardware: nil),
            derivation: .test,
            audit: keychain.audit
        )
    }

    private func expectAll(_ engine: KeychainEngine, _ key: PasscodeKey) async throws {
        for index in 0..<5 { #expect(try await engine.secret("account \(index)") == "secret \(index)") }
        let guarded = try AccessControl(accessibility: .whenUnlocked, flags: .devicePasscode)
        let bound = try AccessControl(accessibility: .whenUnlocked, flags: .biometryCurrentSet)
        let proof = Proofs.of(guarded, [.passcode], key: key)
        #expect(try await engine.secret("guarded", proofs: [proof]) == "by the passcode")
        #expect(try await engine.observe(TestKeychain.enrolled).changed == false)
        #expect(try await engine.secret("bound", proofs: [Proofs.of(bound, [.biometry])]) == "to the set")
    }

    @Test("the passcode opens it; nothing is lost, and both files are written")
    func opens() async throws {
        let (keychain, _) = try former()
        #expect(try KeybagFile(in: StoreDirectory(path: keychain.path)).read().intact?.isUnsealed == true)
        for _ in 0..<2 {
            try await { () async throws in
                let engine = try start(keychain)
                try await expectAll(engine, try await engine.key(TestKeychain.passcode))
                await engine.close()
            }()
            let reading = try KeybagFile(in: StoreDirectory(path: keychain.path)).read()
            #expect(reading.isInStep && !reading.isFaulty && reading.intact?.isUnsealed == false)
        }
        #expect(!keychain.audit.kinds.contains(.tamperDetected))
    }

    @Test("the recovery code opens it")
    func recovers() async throws {
        let (keychain, code) = try former()
        let engine = try start(keychain)
        try await engine.recover(code: .text(code), newPasscode: .text("a new passcode"))
        try await expectAll(engine, try await engine.key("a new passcode"))
        await engine.close()
    }

    @Test("with a disk that cannot be written it opens without a seal, and gets one later")
    func readOnly() async throws {
        let (keychain, _) = try former()
        unsafe chmod(keychain.file("keybag"), 0o600)
        // A directory in the place of the new file makes every write of the keybag fail.
        try FileManager.default.createDirectory(
            atPath: keychain.file("keybag.new"),
            withIntermediateDirectories: false
        )
        var engine: KeychainEngine? = try start(keychain)
        try await expectAll(engine.required, try await engine.required.key(TestKeychain.passcode))
        await engine?.close()
        engine = nil
        #expect(try KeybagFile(in: StoreDirectory(path: keychain.path)).read().intact?.isUnsealed == true)
        try FileManager.default.removeItem(atPath: keychain.file("keybag.new"))
        engine = try start(keychain)
        try await expectAll(engine.required, try await engine.required.key(TestKeychain.passcode))
        await engine?.close()
    }

    @Test(
        "a copy of the former keybag is refused beside the converted items, and the recovery code accepts it"
    )
    func downgrade() async throws {
        let (keychain, code) = try former()
        let keybag = try keychain.octets("keybag")
        var engine: KeychainEngine? = try start(keychain)
        _ = try await engine?.key(TestKeychain.passcode)
        await engine?.close()
        engine = nil
        try FileManager.default.removeItem(atPath: keychain.file("keybag.copy"))
        try keychain.put(keybag, as: "keybag")
        engine = try start(keychain)
        let error = await #expect(throws: KeychainError(.decode)) {
            try await engine?.open(passcode: .text(TestKeychain.passcode))
        }
        #expect(error?.cause == .olderKeybag)
        #expect(keychain.audit.kinds.contains(.tamperDetected))
        try await engine?.recover(code: .text(code), newPasscode: .text("a new passcode"))
        #expect(try await engine?.secret("account 1") == "secret 1")
        await engine?.close()
    }
}
