import Foundation
import KeychainEngine
import KeychainModel
import SecretMemory
import Testing

@Suite("Recovery with the recovery code")
struct RecoveryTests {
    let keychain = TestKeychain()

    private func code(_ engine: KeychainEngine) throws -> String {
        let code = try engine.makeRecoveryCode()
        return code.withOctets { octets in
            var text = ""
            for index in octets.indices { text.unicodeScalars.append(Unicode.Scalar(octets[index])) }
            return text
        }
    }

    @Test("a recovery code has 28 symbols in groups of four, and no two are alike")
    func form() throws {
        let engine = try keychain.start()
        let codes = try (0..<32).map { _ in try code(engine) }
        #expect(Set(codes).count == codes.count)
        for code in codes {
            let groups = code.split(separator: "-")
            #expect(groups.count == 7)
            #expect(groups.allSatisfy { $0.count == 4 })
            #expect(code.allSatisfy { "0123456789ABCDEFGHJKMNPQRSTVWXYZ-".contains($0) })
        }
    }

    @Test("recovery replaces the passcode, and all items remain readable")
    func recover() async throws {
        let engine = try keychain.start()
        let code = try code(engine)
        try await engine.setUp(passcode: .text(TestKeychain.passcode), recoveryCode: .text(code))
        let control = try AccessControl(accessibility: .whenUnlocked, flags: .devicePasscode)
        try await engine.add("guarded", "secret", control)
        await engine.lock()
        try await engine.recover(code: .text(code.lowercased()), newPasscode: .text("new passcode"))
        #expect(try await engine.opens(TestKeychain.passcode) == false)
        let proof = Proofs.of(control, [.passcode], key: try await engine.key("new passcode"))
        #expect(try await engine.secret("guarded", proofs: [proof]) == "secret")
        #expect(keychain.audit.kinds.contains(.keybagRecovered))
        let isAccepted = try await engine.accepts(recoveryCode: .text(code))
        #expect(isAccepted, "the code stays good")
    }

    @Test(
        "what is bound to the enrolled fingers stays so: the new passcode opens none of it, and a new finger ends it"
    )
    func boundItems() async throws {
        func fingers(_ names: String...) -> Enrolment {
            Enrolment(device: "sensor", fingers: names, templateDigest: nil, completions: 0)
        }
        let engine = try keychain.start()
        let code = try code(engine)
        try await engine.setUp(passcode: .text(TestKeychain.passcode), recoveryCode: .text(code))
        _ = try await engine.observe(fingers("left-index"))
        let control = try AccessControl(accessibility: .whenUnlocked, flags: .biometryCurrentSet)
        try await engine.add("bound", "secret", control)
        await engine.lock()
        try await engine.recover(code: .text(code), newPasscode: .text("new passcode"))
        let passcode = Proofs.of(control, [.passcode], key: try await engine.key("new passcode"))
        await #expect(throws: NeedsAuthentication.self) {
            try await engine.secret("bound", proofs: [passcode])
        }
        _ = try await engine.observe(fingers("left-index"))
        let finger = Proofs.of(control, [.biometry])
        #expect(try await engine.secret("bound", proofs: [finger]) == "secret")
        _ = try await engine.observe(fingers("left-index", "right-index"))
        let error = await #expect(throws: KeychainError(.itemNotFound)) {
            try await engine.secret("bound", proofs: [finger])
        }
        #expect(error?.cause == .invalidated)
    }

    @Test("recovery works without the device key")
    func withoutDeviceKey() async throws {
        var engine: KeychainEngine? = try keychain.start()
        let code = try code(engine.required)
        try await engine?.setUp(passcode: .text(TestKeychain.passcode), recoveryCode: .text(code))
        try await engine?.add("kept", "secret")
        await engine?.close()
        engine = nil
        try FileManager.default.removeItem(atPath: keychain.file("device.key"))
        let next = try keychain.start()
        #expect(await next.state() == .damaged)
        try await next.recover(code: .text(code), newPasscode: .text("new passcode"))
        #expect(await next.state() == .unlocked)
        #expect(try await next.secret("kept") == "secret")
        #expect(try await next.opens("new passcode"))
    }

    @Test("another keychain's recovery code is refused, and a mistyped one has its own error")
    func wrongCodes() async throws {
        let engine = try keychain.start()
        let code = try code(engine)
        try await engine.setUp(passcode: .text(TestKeychain.passcode), recoveryCode: .text(code))
        let other = try self.code(engine)
        let isOtherAccepted = try await engine.accepts(recoveryCode: .text(other))
        #expect(!isOtherAccepted)
        await #expect(throws: KeychainError(.authFailed)) {
            try await engine.recover(code: .text(other), newPasscode: .text("new passcode"))
        }
        var symbols = Array(code)
        symbols[0] = symbols[0] == "7" ? "8" : "7"
        for mistyped in [String(symbols), String(code.dropLast()), code + "0", ""] {
            await #expect(throws: KeychainError(.param)) {
                try await engine.accepts(recoveryCode: .text(mistyped))
            }
            await #expect(throws: KeychainError(.authFailed)) {
                try await engine.recover(code: .text(mistyped), newPasscode: .text("new passcode"))
            }
        }
        #expect(try await engine.opens(TestKeychain.passcode))
    }

    @Test("a recovery code is accepted with look-alike letters, in lower case and with blanks")
    func tolerantReading() async throws {
        let engine = try keychain.start()
        let code = try code(engine)
        try await engine.setUp(passcode: .text(TestKeychain.passcode), recoveryCode: .text(code))
        let sloppy = code.lowercased().replacingOccurrences(of: "0", with: "o")
            .replacingOccurrences(of: "1", with: "l").replacingOccurrences(of: "-", with: " ")
        let isAccepted = try await engine.accepts(recoveryCode: .text(sloppy))
        #expect(isAccepted)
    }
}
