import Foundation
import LocalAuthentication
import Security
import Testing
import TouchstoneTesting

@Suite("Faults of a temporary keychain", .serialized, .timeLimit(.minutes(10)))
struct FaultTests {
    private static let biometry = LAPolicy.deviceOwnerAuthenticationWithBiometrics

    private func waitForPrompt(_ keychain: TemporaryKeychain, count: Int = 1) async throws {
        try await Deadline.wait(for: "a prompt") { keychain.prompts.count >= count ? true : nil }
    }

    @Test("a reader unplugged during a scan ends the prompt, is absent, and works again when plugged in")
    func unplug() async throws {
        let keychain = try await TemporaryKeychain()
        try await keychain.use {
            keychain.person(.ignores)
            async let outcome = NoteStore.evaluate(Self.biometry)
            try await waitForPrompt(keychain)
            try await keychain.cause(.unplug)
            #expect(await outcome == .biometryDisconnected)
            #expect(await NoteStore.evaluate(Self.biometry) == .biometryDisconnected)
            try await keychain.cause(.replug)
            #expect(await NoteStore.evaluate(Self.biometry) == nil)
            // Without a pending scan.
            try await keychain.cause(.unplug)
            #expect(await NoteStore.evaluate(Self.biometry) == .biometryDisconnected)
        }
    }

    @Test(
        "a daemon that crashes during a prompt ends the call, and is back with all that was stored"
    )
    func crash() async throws {
        let keychain = try await TemporaryKeychain()
        try await keychain.use {
            #expect(NoteStore.add("s3cret") == errSecSuccess)
            keychain.person(.ignores)
            async let outcome = NoteStore.evaluate(Self.biometry)
            try await waitForPrompt(keychain)
            try await keychain.cause(.daemonCrash)
            #expect(await outcome == .systemCancel)
            #expect(NoteStore.read().value == "s3cret")
        }
    }

    @Test("a locked keychain shows a prompt first")
    func lock() async throws {
        let keychain = try await TemporaryKeychain()
        try await keychain.use {
            #expect(NoteStore.add("s3cret", nil) == errSecSuccess)
            try await keychain.cause(.lock)
            keychain.person(.cancels)
            #expect(NoteStore.read().status == errSecUserCanceled)
            #expect(NoteStore.read() == (errSecSuccess, "s3cret"))
            #expect(NoteStore.read() == (errSecSuccess, "s3cret"))
            #expect(keychain.prompts.count == 2)
        }
    }

    @Test("sleep dismisses a prompt")
    func suspend() async throws {
        let keychain = try await TemporaryKeychain()
        try await keychain.use {
            keychain.person(.ignores)
            async let outcome = NoteStore.evaluate(Self.biometry)
            try await waitForPrompt(keychain)
            try await keychain.cause(.suspend)
            #expect(await outcome == .systemCancel)
            #expect(await NoteStore.evaluate(Self.biometry) == nil)
        }
    }

    @Test("a context authenticated before a sleep gives access to nothing after it")
    func suspendAfterSuccess() async throws {
        let keychain = try await TemporaryKeychain()
        try await keychain.use {
            #expect(NoteStore.add("s3cret", .userPresence) == errSecSuccess)
            let context = LAContext()
            context.localizedReason = "Read the note"
            for _ in 0..<2 { #expect(NoteStore.read(context) == (errSecSuccess, "s3cret")) }
            #expect(keychain.prompts.count == 1)
            try await keychain.cause(.suspend)
            #expect(NoteStore.read(context) == (errSecSuccess, "s3cret"))
            #expect(keychain.prompts.count == 2)
        }
    }

    @Test("polkit's refusal is reported as such")
    func deny() async throws {
        let keychain = try await TemporaryKeychain()
        try await keychain.use {
            try await keychain.cause(.deny)
            #expect(await NoteStore.evaluate(Self.biometry) == .biometryNotAvailable)
        }
    }

    @Test("after the passcode is removed an evaluation fails with passcodeNotSet")
    func noPasscode() async throws {
        let keychain = try await TemporaryKeychain(reader: nil)
        try await keychain.use {
            #expect(NoteStore.add("s3cret", nil) == errSecSuccess)
            try await keychain.cause(.removePasscode)
            #expect(await NoteStore.evaluate(.deviceOwnerAuthentication) == .passcodeNotSet)
        }
    }

    @Test("items with flipped bits are damaged, not absent")
    func damage() async throws {
        let keychain = try await TemporaryKeychain(reader: nil)
        try await keychain.use {
            #expect(NoteStore.add(String(repeating: "s3cret", count: 5000), nil) == errSecSuccess)
            try await keychain.cause(.damage)
            #expect(NoteStore.read().status == errSecDecode)
        }
    }

    @Test("a full disk refuses writes, and reads still work")
    func fullDisk() async throws {
        let keychain = try await TemporaryKeychain(reader: nil)
        guard geteuid() == 0 else {
            await #expect(throws: TestKitError.self) { try await keychain.cause(.diskFull) }
            return
        }
        try await keychain.use {
            #expect(NoteStore.add("s3cret", nil) == errSecSuccess)
            try await keychain.cause(.diskFull)
            #expect(NoteStore.read() == (errSecSuccess, "s3cret"))
            let more: [CFString: Any] = [
                kSecClass: kSecClassGenericPassword, kSecAttrAccount: "more",
                kSecValueData: Data(count: 9000),
            ]
            #expect(SecItemAdd(more as CFDictionary, nil) == errSecDiskFull)
            #expect(keychain.prompts.isEmpty)
        }
    }

    @Test("a TPM in lockout, or another TPM, opens nothing")
    func chip() async throws {
        for fault in [TestFault.chipLockout, .chipSwap] {
            let keychain = try await TemporaryKeychain(reader: nil, chip: .prepared())
            try await keychain.use {
                #expect(NoteStore.add("s3cret", nil) == errSecSuccess)
                let context = LAContext()
                #expect(context.canEvaluatePolicy(.deviceOwnerAuthentication, error: nil), "\(fault)")
                try await keychain.cause(fault)
                // What a prompt would throw is known without one, and none is shown in vain.
                #expect(!context.canEvaluatePolicy(.deviceOwnerAuthentication, error: nil), "\(fault)")
                #expect(NoteStore.read().status == errSecAuthFailed, "\(fault)")
                #expect(keychain.prompts.isEmpty, "\(fault)")
            }
        }
    }

    @Test("a fault of a missing part is an error that names the argument to give")
    func missingPart() async throws {
        let keychain = try await TemporaryKeychain(reader: nil)
        for (fault, word) in [
            (TestFault.unplug, "reader"), (.replug, "reader"), (.chipLockout, "chip:"), (.chipSwap, "chip:"),
        ] {
            let error = await #expect(throws: TestKitError.self) { try await keychain.cause(fault) }
            #expect(error?.description.contains(word) == true)
        }
        await #expect(throws: TestKitError.self) { try await keychain.enrol(.first) }
        await #expect(throws: TestKitError.self) { try await keychain.remove(.first) }
    }
}
