import Foundation
import KeychainClient
import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting

@Suite(
    "A keychain on a TPM",
    .enabled(if: TPMMachine.isThere, "touchstoned or swtpm is missing"),
    .timeLimit(.minutes(20))
)
struct TPMKeychainTests {
    @Test(
        "a keychain is set up on the TPM and reports it; its secrets survive restarts of daemon and machine"
    )
    func life() async throws {
        let machine = try await TPMMachine.ready()
        let keychain = machine.keychain
        let status = try keychain.client.status()
        #expect(status.assurance == .test)
        #expect(status.assuranceReasons.contains { $0.contains("simulator") }, "\(status.assuranceReasons)")
        try keychain.add("free", "open while unlocked")
        try keychain.add("guarded", "by passcode", .devicePasscode)

        try await keychain.stopped {}
        try keychain.unlock()
        #expect(try keychain.value("free") == "open while unlocked")
        #expect(try keychain.value("guarded") == "by passcode")
        try await machine.restart()
        try keychain.unlock()
        #expect(try keychain.value("free") == "open while unlocked")
        #expect(try keychain.value("guarded") == "by passcode")

        // The new passcode unlocks, the old one does not.
        let other = "granite willow saffron meadow copper"
        try keychain.tellPerson([.types(PrivateKeychain.passcode), .types(other)])
        try keychain.client.changePasscode(keychain.prompt())
        try keychain.client.lock()
        try keychain.tellPerson([.types(PrivateKeychain.passcode), .cancels])
        #expect(keychain.refusal()?.status == .userCanceled)
        try keychain.tellPerson([.types(other)])
        try keychain.unlock()
        #expect(try keychain.value("free") == "open while unlocked")
        #expect(!machine.recorder.traffic.contains(Array(other.utf8)))
    }

    @Test(
        "ten wrong passcodes close the keybag in the daemon, and on the TPM even if the daemon's count is reset"
    )
    func guesses() async throws {
        let machine = try await TPMMachine.ready()
        let keychain = machine.keychain
        try keychain.add("free", "kept")
        try keychain.client.lock()
        let untouched = try DataCopy(of: keychain, ["attempts"])
        for guess in 1...3 {
            // The daemon is killed after each wrong passcode, and its count is reset.
            try keychain.tellPerson([.types("wrong passcode number \(guess)"), .killsDaemon])
            #expect(keychain.refusal() != nil)
            keychain.stop(with: SIGKILL)
            try untouched.put(into: keychain)
            try await keychain.start()
            #expect(try keychain.client.status().authentication.passcodeFailures == guess, "the chip's count")
        }
        let files = try DataCopy(of: keychain)
        keychain.stop(with: SIGKILL)
        // Directly at the TPM, since the daemon delays from now on.
        try await KeychainKeys.spendTries(files, tcti: machine.recorder.tcti)
        try untouched.put(into: keychain)
        try await keychain.start()
        try keychain.tellPerson([.types(PrivateKeychain.passcode)])
        let refusal = try #require(keychain.refusal())
        #expect(refusal.authentication?.code == .authenticationFailed)
        #expect(refusal.cause == .closed)
        #expect(refusal.remedy == .recover)
        #expect(try keychain.client.status().keybag != .unlocked)

        try keychain.tellPerson([])
        try keychain.client.recover(keychain.prompt())
        #expect(try keychain.value("free") == "kept")
        try await keychain.stopped {}
        try keychain.unlock()
        #expect(try keychain.value("free") == "kept")
    }

    @Test("the TPM's lockout authorisation is set once, with its own code")
    func lockout() async throws {
        let machine = try await TPMMachine.ready()
        let keychain = machine.keychain
        try keychain.client.protectLockout(keychain.prompt())
        let code = try String(contentsOfFile: keychain.home.appending("lockout-code"), encoding: .utf8)
        #expect(code != (try String(contentsOfFile: keychain.home.appending("code"), encoding: .utf8)))
        #expect(!machine.recorder.traffic.contains(Array(code.utf8)))
        #expect(keychain.failure { try keychain.client.protectLockout(keychain.prompt()) }?.status == .param)
        await #expect(throws: TestKitError.self, "anybody may change the chip's limits") {
            try await machine.chip.setGuessLimit(5)
        }
        try await keychain.expectLogged("lockoutProtected")
        #expect(!keychain.log.contains("passcodeChanged"))
        // The recovery code from set-up is unchanged.
        try keychain.client.recover(keychain.prompt())
    }

    @Test("a private key is made in the TPM, and signs with at most 5 commands in an authenticated context")
    func key() async throws {
        let machine = try await TPMMachine.ready()
        let keychain = machine.keychain
        let control = try AccessControl(
            accessibility: .whenUnlocked,
            flags: [.devicePasscode, .privateKeyUsage]
        )
        let key = try keychain.client.makeKey(MakeKey(accessControl: control, prompt: keychain.prompt()))
        #expect(key.isHardware)
        let digest = [UInt8](repeating: 9, count: 32)
        let context = keychain.client.makeContextNumber()
        func sign() throws -> Int {
            let request = UseKey(
                representation: key.representation,
                use: .sign(digest: digest),
                context: context,
                prompt: keychain.prompt()
            )
            return try keychain.client.useKey(request).count
        }
        #expect(try sign() == 64)
        machine.recorder.forget()
        #expect(try sign() == 64)
        #expect(machine.recorder.commands.count <= 5, "\(machine.recorder.commands.map(\.code))")

        try await machine.restart()
        let read = ReadKey(representation: key.representation, prompt: keychain.prompt())
        #expect(try keychain.client.readKey(read) == key)
        #expect(try sign() == 64)
    }

    @Test("hundreds of unlocks and signatures leave nothing loaded in the TPM")
    func handles() async throws {
        let machine = try await TPMMachine.ready()
        let keychain = machine.keychain
        let control = AccessControl(accessibility: .whenUnlocked)
        let key = try keychain.client.makeKey(MakeKey(accessControl: control, prompt: keychain.prompt()))
        let request = UseKey(
            representation: key.representation,
            use: .sign(digest: [UInt8](repeating: 9, count: 32)),
            context: nil,
            prompt: keychain.prompt()
        )
        var loaded: [Int] = []
        for round in 0..<20 {
            try keychain.client.lock()
            try keychain.unlock()
            for _ in 0..<25 { _ = try keychain.client.useKey(request) }
            if round == 0 || round == 19 { loaded.append(try await machine.chip.handles().count) }
        }
        #expect(loaded[0] == loaded[1], "\(loaded)")
        #expect(loaded[1] <= 3)
    }

    @Test("a TPM that fails to escrow or to count is logged with its error, and nothing is lost")
    func refusals() async throws {
        let machine = try await TPMMachine()
        let keychain = machine.keychain
        try await keychain.start()
        // TPM2_ContextSave and TPM2_NV_Increment fail with TPM_RC_FAILURE.
        machine.recorder.treat { $0.code == 0x162 ? .answer(0x101) : .pass }
        try keychain.client.setUp(keychain.prompt())
        try await keychain.expectLogged("escrowRefused")
        try keychain.add("guarded", "kept", .devicePasscode)
        machine.recorder.treat { $0.code == 0x134 ? .answer(0x101) : .pass }
        try keychain.delete("guarded")
        try await keychain.expectLogged("generationUncounted")
        #expect(!keychain.log.contains("tamperDetected") && !keychain.log.contains("authenticationFailed"))
        machine.recorder.treat { _ in .pass }
        try keychain.add("free", "kept")
        try await machine.restart()
        try keychain.unlock()
        #expect(try keychain.value("free") == "kept")
    }

    @Test("a look-up of an unprotected item sends the TPM no command")
    func quiet() async throws {
        let machine = try await TPMMachine.ready()
        try machine.keychain.add("free", "open while unlocked")
        machine.recorder.forget()
        for _ in 0..<20 { #expect(try machine.keychain.value("free") == "open while unlocked") }
        #expect(machine.recorder.commands.isEmpty)
    }

    @Test("touchstone attest prints evidence whose certificate names the TPM's authority")
    func attest() async throws {
        let machine = try await TPMMachine.ready(.certified(1))
        let environment = ["TOUCHSTONE_HOME": machine.keychain.home.path, "PATH": "/usr/bin:/bin"]
        let finished = try await Finished.running(
            [Programs.touchstone, "attest", "--nonce", "0badc0de"],
            environment: environment
        )
        #expect(finished.status == 0, "\(finished.output)")
        let json = try JSONSerialization.jsonObject(with: Data(finished.output.utf8)) as? [String: Any]
        #expect(json?["level"] as? String == "ekCertificate")
        let certificates = try #require(json?["certificates"] as? [String])
        let first = try #require(certificates.first)
        var base64 = first.replacing("-", with: "+").replacing("_", with: "/")
        base64 += String(repeating: "=", count: (4 - base64.count % 4) % 4)
        let certificate = try #require(Data(base64Encoded: base64))

        let directory = try TemporaryDirectory()
        let authority = try await SoftwareTPM.authority()
        try certificate.write(to: URL(fileURLWithPath: directory.appending("ek.der")))
        _ = try directory.write(authority.root, to: "root.pem")
        _ = try directory.write(authority.issuer, to: "issuer.pem")
        let verified = try await Finished.running([
            "/usr/bin/openssl", "verify", "-ignore_critical", "-CAfile", directory.appending("root.pem"),
            "-untrusted", directory.appending("issuer.pem"), directory.appending("ek.der"),
        ])
        #expect(verified.status == 0, "\(verified.output)")
    }
}
