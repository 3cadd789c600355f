import KeychainModel
import SecretMemory
import Synchronization
import TPMDriver
import Testing
import TouchstoneTesting

@Suite("Indices left in the TPM by an interrupted set-up")
struct LeftoverTests {
    @Test(
        "leftovers are removed, with and without the notes, and nothing that is in use or another keychain's",
        arguments: [true, false]
    )
    func removed(areNoted: Bool) async throws {
        let chip = try await SoftwareTPM.start()
        // Each power cut after a use counts as a guess.
        try await chip.setGuessLimit(1000)
        let recorder = try TPMRecorder(chip)
        let notes = Notes()
        let tpm = TPM(configuration: recorder.tcti, notes: notes)
        let (sealer, hardware) = (TPMKeySealer(tpm), TPMHardwareGuard(tpm))
        let neighbour = TPM(configuration: recorder.tcti, notes: Notes())
        let other = try await TPMKeySealer(neighbour).seal(authorization: .fixed(3), for: .theirs)
        let otherCounter = try await TPMHardwareGuard(neighbour).makeGeneration(for: .theirs).counter
        // A simulator accepts one client at a time.
        await neighbour.close()
        let old = try await sealer.seal(authorization: .fixed(1))
        let counter = try await hardware.makeGeneration().counter
        let mine = try await chip.indices()
        #expect(mine.count == 4)

        func make() async throws -> [[UInt8]] {
            let sealed = try await sealer.seal(authorization: .fixed(2)).blob
            return [sealed, try await hardware.makeEpoch().blob]
        }
        recorder.forget()
        let made = try await make()
        let count = recorder.commands.count
        try await sealer.destroy(made[0])
        try await hardware.destroyEpoch(made[1])
        var leftovers = 0
        for point in 0..<count {
            for treatment in [TPMRecorder.Treatment.powerOffBefore, .powerOffAfter] {
                recorder.treat(commandAt: point, as: treatment)
                // Whatever the result, no keybag refers to it.
                _ = try? await make()
                recorder.treat { _ in .pass }
                chip.powerOff()
                try await chip.powerOn()
                leftovers += try await chip.indices().count - mine.count
                if !areNoted { try notes.write([]) }
                try await sealer.removeLeftovers(keeping: old.blob, of: .ours)
                try await hardware.removeLeftovers(keeping: [counter], of: .ours)
                #expect(try await chip.indices() == mine)
            }
        }
        #expect(leftovers > 0)
        try await sealer.open(old.blob, 1)
        _ = try await hardware.generation(counter)
        await tpm.close()
        try await TPMKeySealer(neighbour).open(other.blob, 3)
        _ = try await TPMHardwareGuard(neighbour).generation(otherCounter)
    }

    @Test("leftovers stay recorded while the TPM does not respond, and while another TPM is there")
    func unreachable() async throws {
        let chip = try await SoftwareTPM.start()
        let elsewhere = try await SoftwareTPM.start()
        let notes = Notes()
        let sealer = TPMKeySealer(TPM(configuration: chip.tcti, notes: notes))
        _ = try await sealer.seal(authorization: .fixed(1))
        chip.powerOff()
        await #expect(throws: KeychainError.self) {
            try await sealer.removeLeftovers(keeping: nil, of: .ours)
        }
        try await TPMKeySealer(TPM(configuration: elsewhere.tcti, notes: notes))
            .removeLeftovers(keeping: nil, of: .ours)
        try await chip.powerOn()
        #expect(try await chip.indices().count == 1)
        try await sealer.removeLeftovers(keeping: nil, of: .ours)
        #expect(try await chip.indices().isEmpty)
        // Afterwards they are no longer recorded.
        let empty = try notes.read()
        try await sealer.destroy(try await sealer.seal(authorization: .fixed(1)).blob)
        #expect(try notes.read() == empty)
    }

    @Test("a keychain removes its own indices only, whatever was noted")
    func labels() async throws {
        let chip = try await SoftwareTPM.start()
        let tpm = TPM(chip)
        let (sealer, hardware) = (TPMKeySealer(tpm), TPMHardwareGuard(tpm))
        let made = try await sealer.seal(authorization: .fixed(1)).blob
        try await sealer.removeLeftovers(keeping: nil, of: .theirs)
        try await sealer.open(made, 1)
        try await sealer.destroy(made)
        #expect(try await chip.indices().isEmpty)
        let counter = try await hardware.makeGeneration().counter
        try await hardware.removeLeftovers(keeping: [], of: .theirs)
        let epoch = try await hardware.makeEpoch().blob
        try await hardware.removeLeftovers(keeping: [counter], of: .ours)
        #expect(await failure { _ = try await hardware.openEpoch(epoch) }.cause == .invalidated)
        #expect(try await chip.indices().count == 1)
        try await hardware.removeLeftovers(keeping: [], of: .ours)
        #expect(try await chip.indices().isEmpty)
    }

    private static func keychain(_ number: Int) -> [UInt8] { [UInt8(number & 0xFF), UInt8(number >> 8)] }

    @Test("a chip with many indices is searched completely, and each keychain removes its own")
    func manyIndices() async throws {
        let chip = try await SoftwareTPM.start()
        let tpm = TPM(chip)
        // The chip's response has room for 254.
        let count = CaseSize.of(20, full: 260)
        for number in 0..<count {
            _ = try await TPMKeySealer(tpm).seal(authorization: .fixed(1), for: Self.keychain(number))
        }
        for number in 0..<count {
            try await TPMKeySealer(tpm).removeLeftovers(keeping: nil, of: Self.keychain(number))
        }
        #expect(try await chip.indices().isEmpty)
    }

    @Test("if it cannot be recorded, no index is created")
    func unnoted() async throws {
        let chip = try await SoftwareTPM.start()
        let notes = Notes()
        notes.fail(with: KeychainError(.diskFull))
        let sealer = TPMKeySealer(TPM(configuration: chip.tcti, notes: notes))
        let error = await failure { _ = try await sealer.seal(authorization: .fixed(1)) }
        #expect(error == KeychainError(.diskFull))
        #expect(try await chip.indices().isEmpty)
    }
}

/// Notes in memory.
private final class Notes: HardwareNotes {
    private let state = Mutex<(octets: [UInt8], error: KeychainError?)>(([], nil))

    /// Makes all later writes fail.
    func fail(with error: KeychainError) { state.withLock { $0.error = error } }

    func read() throws(KeychainError) -> [UInt8] { state.withLock { $0.octets } }

    func write(_ notes: [UInt8]) throws(KeychainError) {
        if let error = state.withLock({ $0.error }) { throw error }
        state.withLock { $0.octets = notes }
    }
}
