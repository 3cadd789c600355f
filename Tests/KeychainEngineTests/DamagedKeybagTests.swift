import Foundation
import KeychainEngine
import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting

/// One damage to one of the files that open a keychain.
struct FileDamage: CustomStringConvertible {
    let name: String
    let description: String
    /// The file's content; nil if it is gone.
    let content: [UInt8]?

    /// All damages to a file: each bit, byte, 36 bytes and sector, each length, the whole file; of bits, bytes and lengths
    /// one in `step`.
    static func all(of name: String, _ whole: [UInt8], step: Int) -> [FileDamage] {
        var found: [FileDamage] = []
        func add(_ what: String, _ change: (inout [UInt8]) -> Void) {
            var content = whole
            change(&content)
            if content != whole {
                found.append(FileDamage(name: name, description: "\(name): \(what)", content: content))
            }
        }
        for bit in stride(from: 0, to: 8 * whole.count, by: step) {
            add("bit \(bit)") { $0[bit / 8] ^= 1 << UInt8(bit % 8) }
        }
        for place in stride(from: 0, to: whole.count, by: step) {
            add("byte \(place) zero") { $0[place] = 0 }
            add("byte \(place) inverted") { $0[place] = ~$0[place] }
            add("cut at \(place)") { $0.removeSubrange(place...) }
        }
        for length in [36, 512] {
            for place in stride(from: 0, to: whole.count, by: length) {
                let range = place..<min(place + length, whole.count)
                add("\(range) zero") { for place in range { $0[place] = 0 } }
                add("\(range) garbled") {
                    for place in range { $0[place] = UInt8(truncatingIfNeeded: 37 &* place &+ 11) }
                }
            }
        }
        add("all zero") { $0 = [UInt8](repeating: 0, count: $0.count) }
        add("longer") { $0 += [0] }
        add("much longer") { $0 += [UInt8](repeating: 7, count: 100_000) }
        found.append(FileDamage(name: name, description: "\(name): missing", content: nil))
        return found
    }
}

@Suite(
    "After any single damage to the files that open a keychain, the passcode opens it, or the recovery code does",
    .timeLimit(.minutes(CaseSize.of(20, full: 90)))
)
struct DamagedKeybagTests {
    private static let names = ["keybag", "keybag.copy", "device.key"]
    private let keychain = TestKeychain()

    /// A closed keychain with an item, and its recovery code.
    private func made() async throws -> (code: String, files: [(name: String, content: [UInt8])]) {
        let engine = try keychain.start()
        let code = try engine.makeRecoveryCode()
            .withOctets { octets in String(decoding: octets.indices.map { octets[$0] }, as: UTF8.self) }
        try await engine.setUp(
            passcode: .text(TestKeychain.passcode),
            recoveryCode: .text(code),
            enrolled: TestKeychain.enrolled
        )
        let control = try AccessControl(accessibility: .whenUnlocked, flags: .devicePasscode)
        try await engine.add("guarded", "kept", control)
        await engine.close()
        let names = try FileManager.default.contentsOfDirectory(atPath: keychain.path)
        return (code, try names.map { ($0, try keychain.octets($0)) })
    }

    private func restore(_ files: [(name: String, content: [UInt8])]) throws {
        for name in try FileManager.default.contentsOfDirectory(atPath: keychain.path) {
            try FileManager.default.removeItem(atPath: keychain.file(name))
        }
        for file in files { try keychain.put(file.content, as: file.name) }
    }

    /// What opened the keychain.
    private enum Opening { case passcode, recovery }

    private func opened(_ damage: FileDamage, _ code: String) async throws -> (Opening, passcode: String) {
        let engine = try keychain.start()
        do {
            #expect(try await engine.opens(TestKeychain.passcode), "\(damage)")
            await engine.close()
            return (.passcode, TestKeychain.passcode)
        } catch {
            #expect(error as? KeychainError == KeychainError(.decode), "\(damage): \(error)")
            #expect(await engine.keybag.isRecoverable(), "\(damage)")
            // A backup needs the recovery code alone.
            let export = try await engine.export(recoveryCode: .text(code))
            #expect(export.report.items == 1, "\(damage)")
            try await engine.recover(code: .text(code), newPasscode: .text("a new passcode"))
            await engine.close()
            return (.recovery, "a new passcode")
        }
    }

    private func opening(_ damage: FileDamage, _ code: String) async throws -> Opening {
        if let content = damage.content {
            try keychain.put(content, as: damage.name)
        } else {
            try FileManager.default.removeItem(atPath: keychain.file(damage.name))
        }
        let events = keychain.audit.kinds.count
        let (opening, passcode) = try await opened(damage, code)
        #expect(keychain.audit.kinds[events...].contains(.tamperDetected), "\(damage)")
        // What was broken is whole again: without the other file, too.
        for name in damage.name == "device.key" ? [] : Self.names.dropLast() {
            #expect(try keychain.octets(name) == keychain.octets("keybag"), "\(damage)")
        }
        let next = try keychain.start()
        #expect(await next.state() == .locked, "\(damage)")
        let control = try AccessControl(accessibility: .whenUnlocked, flags: .devicePasscode)
        let proof = Proofs.of(control, [.passcode], key: try await next.key(passcode))
        #expect(try await next.secret("guarded", proofs: [proof]) == "kept", "\(damage)")
        #expect(try next.attempts.load().passcodeFailures == 0, "\(damage)")
        await next.close()
        return opening
    }

    // A disk that fails once must not close a keychain: its keybag is under the key that was there.
    @Test(
        "beside a keybag a sealing never replaces a device key that it cannot read",
        arguments: [nil, 0, 1, 32]
    )
    func sealing(zeros: Int?) async throws {
        _ = try await made()
        let whole = try keychain.octets("device.key")
        if let zeros {
            try keychain.put([UInt8](repeating: 0, count: zeros), as: "device.key")
        } else {
            try FileManager.default.removeItem(atPath: keychain.file("device.key"))
        }
        do {
            let sealer = FileKeySealer(directory: try StoreDirectory(path: keychain.path))
            let error = await #expect(throws: KeychainError.self) {
                _ = try await sealer.seal(authorization: SecretBytes(copying: [1]), for: [])
            }
            #expect(error?.status == .decode)
        }
        #expect((try? keychain.octets("device.key")) == zeros.map { [UInt8](repeating: 0, count: $0) })
        try keychain.put(whole, as: "device.key")
        let engine = try keychain.start()
        #expect(try await engine.opens(TestKeychain.passcode))
        await engine.close()
    }

    @Test("each bit, byte, 36 bytes, sector and length, and whole files", arguments: names)
    func single(name: String) async throws {
        let (code, files) = try await made()
        let whole = try keychain.octets(name)
        let isSmall = whole.count < 100
        let damages = FileDamage.all(of: name, whole, step: CaseSize.of(isSmall ? 17 : 211, full: 1))
        var byRecovery = 0
        for damage in damages {
            try restore(files)
            if try await opening(damage, code) == .recovery { byRecovery += 1 }
        }
        // Either file of the keybag is enough for the passcode; without hardware the device key is part of it.
        #expect(byRecovery == (name == "device.key" ? damages.count : 0), "of \(damages.count)")
    }

    @Test("damage to both files of the keybag in what only its seal authenticates leaves the recovery code")
    func salvaged() async throws {
        let (code, files) = try await made()
        let whole = try keychain.octets("keybag")
        var recovered = 0
        let places = Array(stride(from: 0, to: whole.count, by: CaseSize.of(97, full: 1)))
        for place in places {
            try restore(files)
            var content = whole
            content[place] ^= 0x10
            for name in Self.names.dropLast() { try keychain.put(content, as: name) }
            guard let engine = try? keychain.start() else { continue }
            await #expect(throws: KeychainError(.decode)) { try await engine.opens(TestKeychain.passcode) }
            if (try? await engine.recover(code: .text(code), newPasscode: .text("a new passcode"))) != nil {
                recovered += 1
                let control = try AccessControl(accessibility: .whenUnlocked, flags: .devicePasscode)
                let proof = Proofs.of(control, [.passcode], key: try await engine.key("a new passcode"))
                #expect(try await engine.secret("guarded", proofs: [proof]) == "kept", "byte \(place)")
            }
            await engine.close()
        }
        // The rest is in the wraps of the code itself and of the class keys.
        #expect(recovered > places.count / 5, "\(recovered) of \(places.count)")
    }

    @Test("without any keybag nothing is asked for, and set-up is refused")
    func lost() async throws {
        let (code, _) = try await made()
        for name in Self.names.dropLast() { try FileManager.default.removeItem(atPath: keychain.file(name)) }
        let engine = try keychain.start()
        #expect(await engine.state() == .damaged)
        #expect(await !engine.keybag.isRecoverable())
        await #expect(throws: KeychainError(.decode)) {
            try await engine.recover(code: .text(code), newPasscode: .text("a new passcode"))
        }
        await #expect(throws: KeychainError(.duplicateItem)) {
            try await engine.setUp(passcode: .text("another"), recoveryCode: .text(code))
        }
    }

    @Test("a kill between the two files leaves the newer one, and the other follows at the next unlock")
    func behind() async throws {
        var (engine, key): (KeychainEngine?, PasscodeKey) = try await keychain.setUp()
        let former = try keychain.octets("keybag.copy")
        let control = try AccessControl(accessibility: .whenUnlocked, flags: .devicePasscode)
        try await engine?.changePasscode(
            to: .text("new passcode"),
            proof: Proofs.of(control, [.passcode], key: key)
        )
        await engine?.close()
        engine = nil
        for name in Self.names.dropLast() {
            let latter = try keychain.octets("keybag.copy")
            try keychain.write(former, to: name)
            let next = try keychain.start()
            #expect(try await !next.opens(TestKeychain.passcode))
            #expect(try await next.opens("new passcode"))
            await next.close()
            for name in Self.names.dropLast() { #expect(try keychain.octets(name) == latter, "\(name)") }
        }
        #expect(!keychain.audit.kinds.contains(.tamperDetected))
    }
}
