import Foundation
import KeychainClient
import KeychainModel
import Testing
import TouchstoneTesting

/// An attacker with write access restores an older file of failed attempts.
@Suite(
    "Rollback of the attempt counters",
    .serialized,
    .enabled(if: TPMMachine.isThere, "touchstoned or swtpm is missing"),
    .timeLimit(.minutes(20))
)
struct AttemptRollbackTests {
    private static func keychain(_ seal: KeyResidueTests.Seal) async throws -> (
        PrivateKeychain, TPMMachine?
    ) {
        guard seal == .tpm else { return (try await PrivateKeychain.ready(), nil) }
        let machine = try await TPMMachine.ready()
        return (machine.keychain, machine)
    }

    @Test(
        "after a rollback while the daemon runs four of fifteen passcodes are checked, and it is reported",
        arguments: KeyResidueTests.Seal.allCases
    )
    func passcodesWhileRunning(_ seal: KeyResidueTests.Seal) async throws {
        let (keychain, machine) = try await Self.keychain(seal)
        try keychain.client.lock()
        let older = try DataCopy(of: keychain, ["attempts"])
        // More than six unsuccessful prompts would be refused for a minute: five, of three passcodes each.
        for round in 0..<5 {
            if round == 3 {
                try FileManager.default.removeItem(atPath: keychain.file("attempts"))
            } else {
                try older.put(into: keychain)
            }
            let guesses = (1...3).map { ScriptedPinentry.Deed.types("wrong passcode \(3 * round + $0)") }
            try keychain.tellPerson(guesses + [round < 2 ? .cancels : .usual])
            #expect(keychain.refusal() != nil, "round \(round)")
            let status = try keychain.client.status().authentication
            // The fourth is checked, and a delay follows.
            #expect(status.passcodeFailures == (round == 0 ? 3 : 4), "round \(round)")
            #expect((status.passcodeDelay > 0) == (round > 0))
            #expect(status.isTamperedWith == (round > 0))
        }
        // The file as it is now on the disk counts.
        keychain.stop(with: SIGKILL)
        try await keychain.start()
        #expect(try keychain.client.status().authentication.passcodeFailures == 4)
        try await keychain.expectLogged("tamperDetected")
        try await keychain.expectLogged("attempts: the file is older")
        try await keychain.expectLogged("attempts: the file is gone or damaged")
        _ = machine
    }

    @Test("after a rollback while the daemon is stopped the TPM's count holds, and it is reported")
    func passcodesBetweenRuns() async throws {
        let machine = try await TPMMachine.ready()
        let keychain = machine.keychain
        try keychain.client.lock()
        let older = try DataCopy(of: keychain, ["attempts"])
        for guess in 1...6 {
            try keychain.tellPerson([.types("wrong passcode \(guess)"), .cancels])
            #expect(keychain.refusal() != nil)
            // A restart also resets the limit on unsuccessful prompts per program.
            keychain.stop(with: guess.isMultiple(of: 2) ? SIGTERM : SIGKILL)
            try older.put(into: keychain)
            try await keychain.start()
            let status = try keychain.client.status().authentication
            #expect(status.passcodeFailures == min(guess, 4), "guess \(guess)")
            #expect(status.isTamperedWith)
            #expect((status.passcodeDelay > 0) == (guess >= 4))
        }
        try await keychain.expectLogged("the TPM counted")
        // The recovery code is not counted, and resets everything.
        try keychain.tellPerson([])
        try keychain.client.recover(keychain.prompt())
        #expect(try keychain.client.status().authentication.passcodeFailures == 0)
        try await keychain.stopped {}
        try keychain.unlock()
        #expect(try keychain.client.status().authentication.isTamperedWith == false)
    }

    @Test(
        "after a rollback while the daemon is stopped fingers still need the passcode first",
        .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/libexec/fprintd"), "no fprintd")
    )
    func fingers() async throws {
        let mine = SyntheticFinger(1)
        let bus = try await PrivateBus.start(sensors: [.image])
        try await Enroller(bus).enrol(mine)
        let keychain = try await PrivateKeychain.ready(
            bus: bus,
            settings: ["test.template-directory = \(bus.templateDirectory)"]
        )
        let reader = VirtualReader(bus)
        try keychain.add("finger", "by finger", .biometryAny)
        let strangers = (0..<6).map { SyntheticFinger(7).impression(40 + $0) }
        let older = try DataCopy(of: keychain, ["attempts"])
        // One request with a prompt for each touch: more than three cancelled ones would silence the program.
        try keychain.tellPerson(Array(repeating: .waits, count: 6))
        async let refused = keychain.apart { keychain in
            keychain.failure { _ = try keychain.value("finger") }
        }
        for round in 0..<5 {
            try older.put(into: keychain)
            try await reader.touch(strangers[round])
        }
        #expect(try await refused?.authentication?.code == .biometryLockout)
        let prompts = keychain.prompts
        for _ in 5..<24 {
            try older.put(into: keychain)
            let refusal = keychain.failure { _ = try keychain.value("finger") }
            #expect(refusal?.authentication?.code == .biometryLockout)
        }
        #expect(keychain.prompts == prompts, "the sensor stays dark")
        let status = try keychain.client.status().authentication
        #expect(status.biometryFailures == 5 && status.isTamperedWith)

        // Without a TPM a rollback between two runs is not detected; it gains nothing, because the keychain starts locked.
        keychain.stop(with: SIGKILL)
        try older.put(into: keychain)
        try await keychain.start()
        #expect(try keychain.client.status().authentication.isBiometryLockedOut == false)
        #expect(try keychain.client.status().keybag == .locked)
        try keychain.tellPerson([.cancels])
        #expect(keychain.failure { _ = try keychain.value("finger") } != nil)
        #expect(keychain.prompts == prompts + 1, "a box for the passcode, and no sensor")
        await bus.stop()
    }
}
