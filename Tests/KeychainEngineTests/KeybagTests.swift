import Foundation
import KeychainEngine
import KeychainModel
import SecretMemory
import Testing

@Suite("A keybag opens only with its passcode")
struct KeybagTests {
    let keychain = TestKeychain()

    @Test("set-up leaves the keybag unlocked, a restart locks it, and the passcode opens it")
    func lifeOfAKeybag() async throws {
        var engine: KeychainEngine? = try keychain.start()
        #expect(await engine?.state() == .notSetUp)
        engine = nil
        (engine, _) = try await keychain.setUp()
        #expect(await engine?.state() == .unlocked)
        await engine?.lock()
        #expect(await engine?.state() == .lockedAfterFirstUnlock)
        await engine?.close()
        engine = nil
        let next = try await keychain.restart(unlocked: false)
        #expect(await next.state() == .locked)
        #expect(try await next.opens("wrong") == false)
        #expect(await next.state() == .locked)
        #expect(try await next.opens(TestKeychain.passcode))
        #expect(await next.state() == .unlocked)
    }

    @Test("a reduced key derivation is reported as test assurance")
    func assurance() async throws {
        let (engine, _) = try await keychain.setUp()
        let report = await engine.assurance()
        #expect(report.assurance == .test)
    }

    @Test("a second set-up is refused")
    func secondSetUp() async throws {
        let (engine, _) = try await keychain.setUp()
        await #expect(throws: KeychainError(.duplicateItem)) {
            try await engine.setUp(passcode: .text("another"), recoveryCode: try engine.makeRecoveryCode())
        }
    }

    @Test("every byte is authenticated, and damage of both files is not reported as a wrong passcode")
    func everyOctetCounts() async throws {
        var (engine, _): (KeychainEngine?, PasscodeKey?) = try await keychain.setUp()
        await engine?.close()
        engine = nil
        let whole = try keychain.octets("keybag")
        for index in whole.indices {
            var flipped = whole
            flipped[index] ^= 1
            for name in ["keybag", "keybag.copy"] { try keychain.write(flipped, to: name) }
            let next = try? await keychain.restart(unlocked: false)
            // A changed version byte may look like a file of a newer program.
            guard let next else { continue }
            #expect(await next.state() == .damaged)
            await #expect(throws: KeychainError(.decode)) {
                try await next.open(passcode: .text(TestKeychain.passcode))
            }
        }
        for name in ["keybag", "keybag.copy"] { try keychain.write(whole, to: name) }
        #expect(await (try keychain.restart()).state() == .unlocked)
    }

    @Test("a truncated keybag is damage, and so is another keychain's device key")
    func truncated() async throws {
        var (engine, _): (KeychainEngine?, PasscodeKey?) = try await keychain.setUp()
        await engine?.close()
        engine = nil
        let whole = try keychain.octets("keybag")
        for name in ["keybag", "keybag.copy"] { try keychain.write(Array(whole.dropLast(7)), to: name) }
        #expect(await (try keychain.start()).state() == .damaged)
        for name in ["keybag", "keybag.copy"] { try keychain.write(whole, to: name) }
        try keychain.write(RandomBytes.array(count: 32), to: "device.key")
        #expect(await (try keychain.start()).state() == .damaged)
    }

    @Test("items without their keybag are damage, and set-up does not replace them")
    func missingKeybag() async throws {
        var (engine, _): (KeychainEngine?, PasscodeKey?) = try await keychain.setUp()
        try await engine?.add("ann")
        await engine?.close()
        engine = nil
        let whole = try keychain.octets("keybag")
        for name in ["keybag", "keybag.copy"] { unsafe unlink(keychain.file(name)) }
        engine = try keychain.start()
        #expect(await engine?.state() == .damaged)
        await #expect(throws: KeychainError(.duplicateItem)) {
            try await engine?.setUp(
                passcode: .text("another"),
                recoveryCode: try engine.required.makeRecoveryCode()
            )
        }
        await engine?.close()
        engine = nil
        let file = unsafe open(keychain.file("keybag"), O_WRONLY | O_CREAT | O_EXCL, 0o600)
        close(file)
        try keychain.write(whole, to: "keybag")
        #expect(try await (try keychain.restart()).secret("ann") == "secret")
    }

    @Test("an interrupted set-up can be repeated")
    func interruptedSetUp() async throws {
        var (engine, _): (KeychainEngine?, PasscodeKey?) = try await keychain.setUp()
        await engine?.close()
        engine = nil
        let items = try keychain.octets("items.sqlite")
        for length in [items.count, items.count / 2, 0] {
            // Its items have no name of their own before its keybag has.
            for name in ["keybag", "keybag.copy", "items.sqlite-mark"] { unsafe unlink(keychain.file(name)) }
            unsafe rename(keychain.file("items.sqlite"), keychain.file("items.sqlite.new"))
            try keychain.write(Array(items[..<length]), to: "items.sqlite.new")
            let next = try keychain.start()
            #expect(await next.state() == .notSetUp)
            try await next.setUp(
                passcode: .text(TestKeychain.passcode),
                recoveryCode: try next.makeRecoveryCode()
            )
            #expect(await next.check().isSetAuthentic)
            await next.close()
        }
    }

    @Test("a passcode change replaces the old passcode atomically")
    func changedPasscode() async throws {
        var (engine, key): (KeychainEngine?, PasscodeKey) = try await keychain.setUp()
        let control = try AccessControl(accessibility: .whenUnlocked, flags: .devicePasscode)
        try await engine?.add("guarded", "secret", control)
        let names = ["keybag", "keybag.copy", "items.sqlite", "items.sqlite-wal"]
        let former = try names.map(keychain.octets)
        try await engine?.changePasscode(
            to: .text("new passcode"),
            proof: Proofs.of(control, [.passcode], key: key)
        )
        let latter = try names.map(keychain.octets)
        await engine?.close()
        engine = nil

        // A kill leaves the files of one moment, the former passcode's, or the new one beside items that do not know of it
        // yet; each opens only with its own passcode, and all open the same items.
        for (keybags, items, right, wrong) in [
            (former, former, TestKeychain.passcode, "new passcode"),
            (latter, former, "new passcode", TestKeychain.passcode),
            (latter, latter, "new passcode", TestKeychain.passcode),
        ] {
            for (index, name) in names.enumerated() {
                try keychain.put((index < 2 ? keybags : items)[index], as: name)
            }
            let next = try keychain.start()
            #expect(try await next.opens(wrong) == false)
            let opened = try await next.key(right)
            let proof = Proofs.of(control, [.passcode], key: opened)
            #expect(try await next.secret("guarded", proofs: [proof]) == "secret")
            await next.close()
        }
    }

    @Test("a proof without the passcode key cannot change the passcode")
    func forgedChange() async throws {
        let (engine, _) = try await keychain.setUp()
        await #expect(throws: KeychainError(.authFailed)) {
            try await engine.changePasscode(to: .text("new passcode"), proof: Proofs.forged)
        }
        #expect(try await engine.opens(TestKeychain.passcode))
    }

    @Test("an empty or over-long passcode is refused")
    func unusablePasscode() async throws {
        let engine = try keychain.start()
        for text in ["", String(repeating: "a", count: 100_000)] {
            await #expect(throws: KeychainError(.param)) {
                try await engine.setUp(passcode: .text(text), recoveryCode: try engine.makeRecoveryCode())
            }
        }
        #expect(await engine.state() == .notSetUp)
    }

    @Test("concurrent unlocks leave one unlocked keybag", arguments: [2, 16])
    func concurrentUnlocks(count: Int) async throws {
        let (engine, _) = try await keychain.setUp()
        await engine.lock()
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for index in 0..<count {
                group.addTask { try await engine.opens(index % 2 == 0 ? TestKeychain.passcode : "wrong") }
            }
            var opened = 0
            for try await isOpen in group where isOpen { opened += 1 }
            #expect(opened == count / 2)
        }
        #expect(await engine.state() == .unlocked)
    }
}
