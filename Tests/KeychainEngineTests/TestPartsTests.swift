import KeychainEngine
import KeychainModel
import SecretMemory
import Testing

@Suite("A daemon with test parts")
struct TestPartsTests {
    private let keychain = TestKeychain()
    private let refused = KeychainError(.notAvailable, cause: .notForTests)

    /// A keychain that was set up and closed; returns its recovery code.
    private func made(isForTests: Bool) async throws -> SecretBytes {
        let engine = try keychain.start(isForTests: isForTests)
        let code = try engine.makeRecoveryCode()
        try await engine.setUp(passcode: .text(TestKeychain.passcode), recoveryCode: code)
        try await engine.add("one")
        await engine.close()
        return code
    }

    @Test("a keybag made without test parts is refused, damaged or not, and no file is changed")
    func refuses() async throws {
        _ = try await made(isForTests: false)
        let files = ["keybag", "attempts", "items.sqlite", "device.key"]
        let before = try files.map(keychain.octets)
        #expect(throws: refused) { try keychain.start(isForTests: true) }
        #expect(try files.map(keychain.octets) == before)
        // With another keychain's device key; the recovery code would open it nevertheless.
        try keychain.write([UInt8](repeating: 7, count: 32), to: "device.key")
        #expect(throws: refused) { try keychain.start(isForTests: true) }
        try keychain.write(before[3], to: "device.key")
        let engine = try await keychain.restart()
        #expect(try await engine.secret("one") == "secret")
    }

    @Test(
        "a keybag that replaces the running daemon's is refused, by passcode, recovery code or new passcode"
    )
    func replaced() async throws {
        let code = try await made(isForTests: false)
        let real = (try keychain.octets("keybag"), try keychain.octets("device.key"))
        let other = TestKeychain()
        let first = try other.start(isForTests: true)
        try await first.setUp(passcode: .text("another"), recoveryCode: try first.makeRecoveryCode())
        try other.write(real.0, to: "keybag")
        try other.write(real.1, to: "device.key")
        await #expect(throws: refused) { try await first.opens(TestKeychain.passcode) }
        await #expect(throws: refused) {
            try await first.recover(code: code, newPasscode: .text("a third"))
        }
        await #expect(throws: refused) { _ = try await first.accepts(recoveryCode: code) }
        #expect(try other.octets("keybag") == real.0)
    }

    @Test("a keybag made with test parts stays marked as test, with any daemon, passcode or recovery")
    func stays() async throws {
        let code = try await made(isForTests: true)
        let reason = "The keybag was made with test parts."
        for isForTests in [true, false] {
            let engine = try keychain.start(isForTests: isForTests)
            #expect(try await engine.secret(after: TestKeychain.passcode) == "secret")
            #expect(await engine.assurance().assurance == .test)
            #expect(await engine.assurance().reasons.contains(reason) == !isForTests)
            await engine.close()
        }
        try await change(code, reason)
        #expect(try await keychain.start(isForTests: true).secret(after: "a third") == "secret")
    }

    private func change(_ code: borrowing SecretBytes, _ reason: String) async throws {
        let engine = try keychain.start()
        let key = try await engine.key(TestKeychain.passcode)
        let control = try AccessControl(accessibility: .whenUnlocked, flags: .devicePasscode)
        try await engine.changePasscode(
            to: .text("another"),
            proof: Proofs.of(control, [.passcode], key: key)
        )
        #expect(await engine.assurance().reasons.contains(reason))
        try await engine.recover(code: code, newPasscode: .text("a third"))
        #expect(await engine.assurance().reasons.contains(reason))
        await engine.close()
    }
}

extension KeychainEngine {
    fileprivate func secret(after passcode: String) async throws -> String? {
        _ = try await key(passcode)
        return try await secret("one")
    }
}
