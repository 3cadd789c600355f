import KeychainModel
import SecretMemory
import Synchronization
import TPMDriver
import Testing
import TouchstoneTesting

@Suite("TPM failures")
struct FaultTests {
    @Test("a TPM that loses power at any command is used again as soon as it is back")
    func killedAndBack() async throws {
        let chip = try await SoftwareTPM.start()
        let recorder = try TPMRecorder(chip)
        let sealer = TPMKeySealer(TPM(configuration: recorder.tcti))
        let sealed = try await sealer.seal(authorization: .fixed(1))
        try await sealer.open(sealed.blob, 1)
        recorder.forget()
        try await sealer.open(sealed.blob, 1)
        let count = recorder.commands.count
        try await chip.setGuessLimit(1000)
        for point in 0..<count {
            for treatment in [TPMRecorder.Treatment.powerOffBefore, .powerOffAfter] {
                recorder.treat(commandAt: point, as: treatment)
                do throws(KeychainError) {
                    _ = try await sealer.unseal(sealed.blob, authorization: .fixed(1))
                    // The last command only flushes the object.
                    #expect(point == count - 1)
                } catch {
                    #expect(error == KeychainError(.notAvailable))
                }
                recorder.treat { _ in .pass }
                try await chip.powerOn()
                try await sealer.open(sealed.blob, 1)
            }
        }
    }

    @Test("power lost at any point of set-up leaves the old secret usable, and a new one can be made")
    func setUpInterrupted() async throws {
        let chip = try await SoftwareTPM.start()
        // Each power cut after a use counts as a guess.
        try await chip.setGuessLimit(1000)
        let recorder = try TPMRecorder(chip)
        let tpm = TPM(configuration: recorder.tcti)
        let sealer = TPMKeySealer(tpm)
        let old = try await sealer.seal(authorization: .fixed(1))
        recorder.forget()
        try await sealer.destroy(try await sealer.seal(authorization: .fixed(2)).blob)
        let count = recorder.commands.count
        for point in 0..<count {
            for treatment in [TPMRecorder.Treatment.powerOffBefore, .powerOffAfter] {
                let before = try await tpm.indices().count
                recorder.treat(commandAt: point, as: treatment)
                let new = try? await sealer.seal(authorization: .fixed(2)).blob
                recorder.treat { _ in .pass }
                chip.powerOff()
                try await chip.powerOn()
                if let new {
                    try await sealer.open(new, 2)
                    try await sealer.destroy(new)
                }
                // At most the index being created is left and takes up space.
                #expect(try await tpm.indices().count <= before + 1)
                #expect(
                    try await sealer.unseal(old.blob, authorization: .fixed(1)).octets == old.secret.octets
                )
            }
        }
    }

    @Test("a lost response causes no repeated operation and no unknown state")
    func lostAnswers() async throws {
        let chip = try await SoftwareTPM.start()
        let recorder = try TPMRecorder(chip)
        let tpm = TPM(configuration: recorder.tcti)
        let sealer = TPMKeySealer(tpm)
        let hardware = TPMHardwareGuard(tpm)
        let (counter, value) = try await hardware.makeGeneration()
        // Create, NV_DefineSpace, PolicyNvWritten, NV_Write.
        for code: UInt32 in [0x153, 0x12A, 0x18F, 0x137] {
            recorder.treatOnce(code, as: .loseAnswer)
            let sealed = try await sealer.seal(authorization: .fixed(1))
            try await sealer.open(sealed.blob, 1)
            #expect(try await tpm.indices().count == 2)
            try await sealer.destroy(sealed.blob)
        }
        // NV_Increment, NV_Read: incremented by exactly one.
        for (step, code) in ([0x134, 0x14E] as [UInt32]).enumerated() {
            recorder.treatOnce(code, as: .loseAnswer)
            #expect(try await hardware.advanceGeneration(counter) == value + UInt64(step) + 1)
        }
        #expect(try await tpm.loadedHandles().count <= 3)
    }

    @Test("a lost object or session is loaded again, without counting a guess or leaking an index")
    func lostHandles() async throws {
        let chip = try await SoftwareTPM.start()
        let tpm = TPM(chip)
        let sealer = TPMKeySealer(tpm)
        let hardware = TPMHardwareGuard(tpm)
        let keys = TPMPrivateKeys(tpm)
        let digest = [UInt8](repeating: 1, count: 32)
        let sealed = try await sealer.seal(authorization: .fixed(1))
        let epoch = try await hardware.makeEpoch()
        let key = try await keys.makeKey(authorization: .fixed(1))
        // For each first use of a policy: without the primary, the session or the policy session.
        for lost in 0..<3 {
            func loseOne() async throws {
                try await sealer.open(sealed.blob, 1)
                let handles = try await tpm.loadedHandles()
                try #require(handles.count == 3)
                try await chip.flush(handles[lost])
            }
            for _ in 1...2 {
                try await loseOne()
                try await sealer.open(sealed.blob, 1)
            }
            try await loseOne()
            let other = try await sealer.seal(authorization: .fixed(2))
            try await sealer.open(other.blob, 2)
            try await sealer.destroy(other.blob)
            try await loseOne()
            _ = try await hardware.openEpoch(epoch.blob)
            try await loseOne()
            _ = try await keys.sign(digest: digest, with: key.blob, authorization: .fixed(1))
            // A correct authorisation resets the count: these leave one try.
            for _ in 1..<TPMKeySealer.attempts {
                try await chip.flush(try await tpm.loadedHandles()[lost])
                #expect(await failure { try await sealer.open(sealed.blob, 2) } == KeychainError(.authFailed))
            }
        }
        try await sealer.open(sealed.blob, 1)
        #expect(try await tpm.loadedHandles().count == 3)
        #expect(try await tpm.status().lockoutCounter == 0)
    }

    /// Operations whose sessions can get out of step with the chip's.
    enum Operation: CaseIterable {
        case unseal, count, seal, nextEpoch, openEpoch, advance, sign
    }

    // Catches a refused session that is taken for a wrong passcode, or for an authorisation of the owner.
    @Test(
        "a session whose nonces differ from the chip's is replaced, at each command of each operation",
        arguments: Operation.allCases
    )
    func outOfStep(_ operation: Operation) async throws {
        let chip = try await SoftwareTPM.start()
        try await chip.setGuessLimit(1000)
        let recorder = try TPMRecorder(chip)
        let tpm = TPM(configuration: recorder.tcti)
        let (sealer, hardware, keys) = (TPMKeySealer(tpm), TPMHardwareGuard(tpm), TPMPrivateKeys(tpm))
        let sealed = try await sealer.seal(authorization: .fixed(1)).blob
        var epoch = try await hardware.makeEpoch().blob
        let (counter, _) = try await hardware.makeGeneration()
        let key = try await keys.makeKey(authorization: .fixed(1)).blob
        func run() async throws {
            switch operation {
            case .unseal: try await sealer.open(sealed, 1)
            case .count: #expect(try await sealer.countedFailures(of: sealed) == 0)
            case .seal: try await sealer.destroy(try await sealer.seal(authorization: .fixed(2)).blob)
            case .nextEpoch: epoch = try await hardware.nextEpoch(after: epoch).blob
            case .openEpoch: _ = try await hardware.openEpoch(epoch)
            case .advance: _ = try await hardware.advanceGeneration(counter)
            case .sign:
                let digest = [UInt8](repeating: 1, count: 32)
                _ = try await keys.sign(digest: digest, with: key, authorization: .fixed(1))
            }
        }
        try await run()
        recorder.forget()
        try await run()
        let count = recorder.commands.count
        for point in 0..<count {
            // TPM_RC_FAILURE in place of the response, as from a resource manager that failed after the command.
            recorder.treat(commandAt: point, as: .answerInstead(0x101))
            try? await run()
            recorder.treat { _ in .pass }
            // As soon as it is used again, and before a guess is told to be wrong.
            if operation == .nextEpoch { epoch = try await hardware.makeEpoch().blob }
            try await run()
            try await sealer.open(sealed, 1)
            #expect(try await sealer.countedFailures(of: sealed) == 0)
        }
    }

    @Test("a TPM that asks to retry is retried, with a clear error if it goes on too long")
    func patience() async throws {
        let chip = try await SoftwareTPM.start()
        let recorder = try TPMRecorder(chip)
        let sealer = TPMKeySealer(TPM(configuration: recorder.tcti))
        let sealed = try await sealer.seal(authorization: .fixed(1))
        // TPM_RC_RETRY, TPM_RC_YIELDED, TPM_RC_TESTING and TPM_RC_NV_RATE, each as the response to the first of two TPM2_Unseal.
        for code: UInt32 in [0x922, 0x908, 0x90A, 0x920] {
            recorder.treatOnce(0x15E, as: .answer(code))
            try await sealer.open(sealed.blob, 1)
        }
        recorder.treat { $0.code == 0x15E ? .answer(0x922) : .pass }
        let error = await failure { try await sealer.open(sealed.blob, 1) }
        #expect(error == KeychainError(.notAvailable))
        #expect(error.remedy == .retry)
        #expect(error.cause?.code.hasPrefix("0x922") == true)
        recorder.treat { _ in .pass }
        try await sealer.open(sealed.blob, 1)
    }

    @Test("an unknown error keeps its code")
    func unknownError() async throws {
        let chip = try await SoftwareTPM.start()
        let recorder = try TPMRecorder(chip)
        let sealer = TPMKeySealer(TPM(configuration: recorder.tcti))
        let sealed = try await sealer.seal(authorization: .fixed(1))
        recorder.treatOnce(0x15E, as: .answer(0x5A7))
        let error = await failure { try await sealer.open(sealed.blob, 1) }
        #expect(error == KeychainError(.internalComponent))
        #expect(error.cause?.code.hasPrefix("0x5a7") == true)
        try await sealer.open(sealed.blob, 1)
    }
}

extension TPMRecorder {
    /// Applies a treatment to the next command with this code only.
    func treatOnce(_ code: UInt32, as treatment: Treatment) {
        let isDone = Once()
        treat { $0.code == code && isDone.first() ? treatment : .pass }
    }

    /// Applies a treatment to the `point`th command from now on.
    func treat(commandAt point: Int, as treatment: Treatment) {
        let count = Counter()
        treat { _ in count.next() == point ? treatment : .pass }
    }
}

/// Returns true the first time only.
private final class Once: Sendable {
    private let wasAsked = Mutex(false)

    func first() -> Bool {
        wasAsked.withLock { wasAsked in
            defer { wasAsked = true }
            return !wasAsked
        }
    }
}

/// 0, 1, 2, and so on.
private final class Counter: Sendable {
    private let value = Mutex(0)

    func next() -> Int {
        value.withLock { value in
            defer { value += 1 }
            return value
        }
    }
}
