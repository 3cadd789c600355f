import KeychainEngine
import KeychainModel
import SecretMemory
import Testing

/// States: before, after, and each half of it on the disk; locked; another proof; a damaged file; a former export.
@Suite("A recovery code that replaces another one")
struct RenewedCodeTests {
    private let keychain = TestKeychain()
    private let control: AccessControl

    init() throws { control = try AccessControl(accessibility: .whenUnlocked, flags: .devicePasscode) }

    private static func text(_ code: borrowing SecretBytes) -> String {
        code.withOctets { octets in String(decoding: octets.indices.map { octets[$0] }, as: UTF8.self) }
    }

    private func newCode(_ engine: KeychainEngine) throws -> String {
        Self.text(try engine.makeRecoveryCode())
    }

    /// A keychain with an item for the passcode, and its code.
    private func made() async throws -> (engine: KeychainEngine, code: String, proof: AuthenticationProof) {
        let engine = try keychain.start()
        let code = try newCode(engine)
        try await engine.setUp(passcode: .text(TestKeychain.passcode), recoveryCode: .text(code))
        try await engine.add("guarded", "secret", control)
        let proof = Proofs.of(control, [.passcode], key: try await engine.key(TestKeychain.passcode))
        return (engine, code, proof)
    }

    /// Which of the codes opens the keybag.
    private func opening(_ codes: [String], _ engine: KeychainEngine) async throws -> [String] {
        var opening: [String] = []
        for code in codes where try await engine.accepts(recoveryCode: .text(code)) { opening.append(code) }
        return opening
    }

    @Test("the new code opens the keychain with all items, the former one does not, and the passcode stays")
    func replaced() async throws {
        let (engine, former, proof) = try await made()
        let later = try newCode(engine)
        try await engine.changeRecoveryCode(to: .text(later.lowercased()), proof: proof)
        #expect(try await opening([former, later], engine) == [later])
        #expect(keychain.audit.kinds.contains(.recoveryCodeChanged))
        #expect(try await engine.opens(TestKeychain.passcode))
        await #expect(throws: KeychainError(.authFailed)) {
            try await engine.recover(code: .text(former), newPasscode: .text("new passcode"))
        }
        await engine.lock()
        try await engine.recover(code: .text(later), newPasscode: .text("new passcode"))
        let opened = Proofs.of(control, [.passcode], key: try await engine.key("new passcode"))
        #expect(try await engine.secret("guarded", proofs: [opened]) == "secret")
        #expect(try await opening([former, later], engine) == [later])
        #expect(await engine.check().isSetAuthentic)
    }

    @Test("without the passcode's key, while it is locked, or with a mistyped code nothing is replaced")
    func refused() async throws {
        let (engine, former, proof) = try await made()
        let later = try newCode(engine)
        await #expect(throws: KeychainError(.authFailed)) {
            try await engine.changeRecoveryCode(to: .text(later), proof: Proofs.forged)
        }
        await #expect(throws: KeychainError(.param)) {
            try await engine.changeRecoveryCode(to: .text(String(later.dropLast())), proof: proof)
        }
        await engine.lock()
        await #expect(throws: KeychainError(.interactionNotAllowed)) {
            try await engine.changeRecoveryCode(to: .text(later), proof: proof)
        }
        #expect(try await opening([former, later], engine) == [former])
    }

    @Test("at a kill between any two files one passcode opens it, and then one code")
    func halves() async throws {
        var (engine, former, proof): (KeychainEngine?, String, AuthenticationProof) = try await made()
        let later = try newCode(engine.required)
        let names = ["keybag", "keybag.copy", "items.sqlite", "items.sqlite-wal"]
        let before = try names.map(keychain.octets)
        try await engine?.changeRecoveryCode(to: .text(later), proof: proof)
        let after = try names.map(keychain.octets)
        #expect(after[0] == after[1] && after[0] != before[0])
        await engine?.close()
        engine = nil
        for (keybag, copy, items, right) in [
            (before, before, before, former), (after, before, before, later), (after, after, before, later),
            (after, after, after, later),
        ] {
            for (index, name) in names.enumerated() {
                try keychain.put([keybag, copy, items, items][index][index], as: name)
            }
            let next = try keychain.start()
            #expect(try await next.opens(TestKeychain.passcode))
            // Opening it has completed the second file.
            #expect(try await opening([former, later], next) == [right])
            #expect(try keychain.octets("keybag") == keychain.octets("keybag.copy"))
            let opened = Proofs.of(control, [.passcode], key: try await next.key(TestKeychain.passcode))
            #expect(try await next.secret("guarded", proofs: [opened]) == "secret")
            await next.close()
        }
    }

    @Test(
        "with one file damaged the new code opens the other one, and the former code none",
        arguments: [0, 1]
    )
    func damaged(file: Int) async throws {
        var (engine, former, proof): (KeychainEngine?, String, AuthenticationProof) = try await made()
        let later = try newCode(engine.required)
        try await engine?.changeRecoveryCode(to: .text(later), proof: proof)
        await engine?.close()
        engine = nil
        let name = ["keybag", "keybag.copy"][file]
        var octets = try keychain.octets(name)
        octets[octets.count / 2] ^= 1
        try keychain.put(octets, as: name)
        let next = try keychain.start()
        #expect(try await opening([former, later], next) == [later])
        try await next.recover(code: .text(later), newPasscode: .text("new passcode"))
        let opened = Proofs.of(control, [.passcode], key: try await next.key("new passcode"))
        #expect(try await next.secret("guarded", proofs: [opened]) == "secret")
    }

    @Test("an older copy of the keybag is refused to the passcode, as after every change of it")
    func older() async throws {
        var (engine, _, proof): (KeychainEngine?, String, AuthenticationProof) = try await made()
        let names = ["keybag", "keybag.copy"]
        let before = try names.map(keychain.octets)
        try await engine?.changeRecoveryCode(to: try engine.required.makeRecoveryCode(), proof: proof)
        await engine?.close()
        engine = nil
        for (name, octets) in zip(names, before) { try keychain.put(octets, as: name) }
        let next = try keychain.start()
        await #expect { _ = try await next.opens(TestKeychain.passcode) } throws: { error in
            (error as? KeychainError)?.cause == .olderKeybag
        }
    }
}
