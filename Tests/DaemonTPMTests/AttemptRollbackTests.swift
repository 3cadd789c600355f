import Foundation
import KeychainClient
import KeychainModel
import Testing
import TouchstoneTesting

/// The file of failed attempts is put back, by somebody who may write to it.
@Suite(
    "Counts that are put back",
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
        "put back while the daemon runs: four of fifteen passcodes are judged, and it is told",
        arguments: KeyResidueTests.Seal.allCases
    )
    func passcodesWhileRunning(_ seal: KeyResidueTests.Seal) async throws {
        let (keychain, machine) = try await Self.keychain(seal)
        try keychain.client.lock()
        let older = try DataCopy(of: keychain, ["attempts"])
        // More boxes than six that end without success get no more for a minute: five, of three passcodes each.
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
            // The fourth is judged, and a delay follows.
            #expect(status.passcodeFailures == (round == 0 ? 3 : 4), "round \(round)")
            #expect((status.passcodeDelay > 0) == (round > 0))
            #expect(status.isTamperedWith == (round > 0))
        }
        // And what is on the disk now is what holds.
        keychain.stop(with: SIGKILL)
        try await keychain.start()
        #expect(try keychain.client.status().authentication.passcodeFailures == 4)
        try await keychain.expectLogged("tamperDetected")
        try await keychain.expectLogged("attempts: the file is older")
        try await keychain.expectLogged("attempts: the file is gone or damaged")
        _ = machine
    }

    @Test("put back between two runs, the TPM's own count holds, and it is told")
    func passcodesBetweenRuns() async throws {
        let machine = try await TPMMachine.ready()
        let keychain = machine.keychain
        try keychain.client.lock()
        let older = try DataCopy(of: keychain, ["attempts"])
        for guess in 1...6 {
            try keychain.tellPerson([.types("wrong passcode \(guess)"), .cancels])
            #expect(keychain.refusal() != nil)
            // A start forgets which programs were silenced.
            keychain.stop(with: guess.isMultiple(of: 2) ? SIGTERM : SIGKILL)
            try older.put(into: keychain)
            try await keychain.start()
            let status = try keychain.client.status().authentication
            #expect(status.passcodeFailures == min(guess, 4), "guess \(guess)")
            #expect(status.isTamperedWith)
            #expect((status.passcodeDelay > 0) == (guess >= 4))
        }
        try await keychain.expectLogged("the TPM counted")
        // The recovery code is not counted, and brings all back.
        try keychain.tellPerson([])
        try keychain.client.recover(keychain.prompt())
        #expect(try keychain.client.status().authentication.passcodeFailures == 0)
        try await keychain.stopped {}
        try keychain.unlock()
        #expect(try keychain.client.status().authentication.isTamperedWith == false)
    }

    @Test(
        "put back between two runs, fingers wait for the passcode all the same",
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
        // One request with a box for each touch: more than three cancelled ones would silence the program.
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

        // Between two runs nobody can tell without a TPM; it gains nothing, because a start is cold.
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
