import Foundation
import KeychainClient
import KeychainModel
import Testing
import TouchstoneTesting

/// A passcode counts as wrong only if the TPM checked it, and then always, even if the daemon is killed.
@Suite(
    "Passcodes that the TPM did not check",
    .serialized,
    .enabled(if: TPMMachine.isThere, "touchstoned or swtpm is missing"),
    .timeLimit(.minutes(40))
)
struct UnjudgedPasscodeTests {
    /// A fault of the TPM while the passcode is typed.
    enum Fault: CaseIterable, Sendable {
        /// It no longer responds (SIGSTOP).
        case silent
        /// It is gone.
        case dead
        /// It keeps responding `TPM_RC_RETRY`, from the guess on.
        case retry
        /// It is in lockout (`TPM_RC_LOCKOUT`), from the use of the sealed object on.
        case lockout
        /// The guess fails with `TPM_RC_FAILURE`.
        case failing
        /// The response to the guess is lost, each time.
        case lostAnswer

        /// The number of rounds; a silent TPM takes ten seconds each.
        var rounds: Int { CaseSize.of(self == .silent || self == .retry ? 2 : 11, full: 11) }

        func begin(_ machine: TPMMachine) {
            // TPM2_PolicySecret and TPM2_Unseal.
            switch self {
            case .silent: machine.chip.setSilent(true)
            case .dead: machine.chip.powerOff()
            case .retry: machine.recorder.treat { $0.code == 0x151 ? .answer(0x922) : .pass }
            case .lockout: machine.recorder.treat { $0.code == 0x15E ? .answer(0x921) : .pass }
            case .failing: machine.recorder.treat { $0.code == 0x151 ? .answer(0x101) : .pass }
            case .lostAnswer: machine.recorder.treat { $0.code == 0x151 ? .loseAnswer : .pass }
            }
        }

        func end(_ machine: TPMMachine) async throws {
            machine.recorder.treat { _ in .pass }
            switch self {
            case .silent: machine.chip.setSilent(false)
            case .dead: try await machine.chip.powerOn()
            default: break
            }
        }
    }

    private static func machine() async throws -> TPMMachine {
        let machine = try await TPMMachine()
        // Power cuts count towards the TPM's lockout limit.
        try await machine.chip.setGuessLimit(10_000)
        try await machine.keychain.start()
        try machine.keychain.client.setUp(machine.keychain.prompt())
        try machine.keychain.add("free", "kept")
        try machine.keychain.client.lock()
        // A restart discards the key that a lock escrows in the TPM.
        try await machine.restart()
        return machine
    }

    @Test("correct passcodes during a fault are not counted and close nothing", arguments: Fault.allCases)
    func right(_ fault: Fault) async throws {
        let machine = try await Self.machine()
        let keychain = machine.keychain
        for round in 1...fault.rounds {
            fault.begin(machine)
            let refusal = keychain.refusal()
            #expect(refusal != nil, "round \(round)")
            #expect(refusal?.cause?.domain == "tpm", "round \(round): \(String(describing: refusal))")
            try await fault.end(machine)
            if fault == .silent { try await Task.sleep(for: .seconds(4)) }
            // A restart resets the limit of six unsuccessful prompts per minute, which is not tested here.
            if round.isMultiple(of: 3) { try await keychain.stopped {} }
            let status = try keychain.client.status()
            #expect(status.authentication.passcodeFailures == 0, "round \(round)")
            #expect(status.authentication.hardwareFault == nil && !status.authentication.isTamperedWith)
        }
        #expect(keychain.prompts > 0)
        try keychain.unlock()
        #expect(try keychain.value("free") == "kept")
        #expect(!keychain.log.contains("tamperDetected"))
    }

    @Test(
        "wrong passcodes are counted exactly as often as the TPM checked them",
        arguments: [Fault.silent, .dead, .retry, .failing, .lostAnswer]
    )
    func wrong(_ fault: Fault) async throws {
        let machine = try await Self.machine()
        let keychain = machine.keychain
        var judged = 0
        for round in 1...min(fault.rounds, 3) {
            machine.recorder.forget()
            fault.begin(machine)
            try keychain.tellPerson([.types("wrong passcode \(round)"), .cancels])
            #expect(keychain.refusal() != nil)
            try await fault.end(machine)
            if fault == .silent { try await Task.sleep(for: .seconds(4)) }
            // The recorder forwards a command whose response is lost.
            if fault == .lostAnswer { judged += machine.recorder.commands.count { $0.code == 0x151 } }
            let status = try keychain.client.status().authentication
            #expect(status.passcodeFailures == judged, "round \(round)")
            if status.passcodeDelay > 0 { break }
        }
        #expect(judged > 0 || fault != .lostAnswer)
        // Once the TPM is back, each wrong passcode counts.
        guard try keychain.client.status().authentication.passcodeDelay == 0 else { return }
        try keychain.tellPerson([.types("wrong passcode"), .cancels])
        #expect(keychain.refusal() != nil)
        #expect(try keychain.client.status().authentication.passcodeFailures == judged + 1)
    }

    @Test("with the daemon killed, a wrong passcode counts if the TPM checked it, and not otherwise")
    func killed() async throws {
        let machine = try await Self.machine()
        let keychain = machine.keychain
        for (round, isJudged) in [false, true, false, true].enumerated() {
            let daemon = keychain.processID
            machine.recorder.treat { command in
                // TPM2_PolicySecret is the guess, which reaches the TPM or not.
                guard command.code == 0x151 else { return .pass }
                kill(daemon, SIGKILL)
                return isJudged ? .pass : .answer(0x101)
            }
            try keychain.tellPerson([.types("wrong passcode \(round)"), .cancels])
            #expect(keychain.refusal() != nil)
            machine.recorder.treat { _ in .pass }
            keychain.stop(with: SIGKILL)
            try await keychain.start()
            #expect(try keychain.client.status().authentication.passcodeFailures == [0, 1, 1, 2][round])
        }
    }

    @Test(
        "a TPM cleared while the daemon runs counts nothing and is reported; the recovery code recovers"
    )
    func cleared() async throws {
        let machine = try await Self.machine()
        let keychain = machine.keychain
        try keychain.unlock()
        try keychain.client.lock()
        try await machine.chip.clear()
        for round in 1...11 {
            let typed = round.isMultiple(of: 2) ? PrivateKeychain.passcode : "wrong passcode \(round)"
            try keychain.tellPerson([.types(typed), .cancels])
            let refusal = try #require(keychain.refusal())
            #expect(
                refusal.cause == .otherHardware || refusal.remedy == .usePasscode,
                "round \(round): \(refusal)"
            )
            if round.isMultiple(of: 3) { try await keychain.stopped {} }
            let status = try keychain.client.status().authentication
            #expect(status.passcodeFailures == 0 && !status.isClosed, "round \(round)")
            #expect(status.hardwareFault == .otherHardware)
        }
        let told = try await keychain.touchstone("status")
        #expect(told.status == 0)
        let doctor = try await keychain.touchstone("doctor")
        #expect(doctor.status == 1)
        try keychain.tellPerson([])
        try keychain.client.recover(keychain.prompt())
        #expect(try keychain.value("free") == "kept")
        #expect(try keychain.client.status().authentication.hardwareFault == nil)
    }

    @Test("ten tries used up at the TPM itself close the keybag, which is reported before any prompt")
    func spent() async throws {
        let machine = try await Self.machine()
        let keychain = machine.keychain
        let files = try DataCopy(of: keychain)
        keychain.stop(with: SIGTERM)
        try await KeychainKeys.spendTries(files, tcti: machine.recorder.tcti)
        try await keychain.start()
        let status = try keychain.client.status().authentication
        #expect(status.isClosed && status.passcodeFailures == 10 && status.isTamperedWith)
        let prompts = keychain.prompts
        let refusal = try #require(keychain.refusal())
        #expect(refusal.remedy == .recover)
        #expect(keychain.prompts == prompts, "nobody is asked in vain")
        try keychain.client.recover(keychain.prompt())
        #expect(try keychain.value("free") == "kept")
        #expect(try keychain.client.status().authentication.passcodeFailures == 0)
    }
}
