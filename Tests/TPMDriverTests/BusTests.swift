import Foundation
import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting

@testable import TPMDriver

@Suite("Traffic between driver and TPM")
struct BusTests {
    @Test("the traffic has no secret and no authorisation, in either direction")
    func capture() async throws {
        let chip = try await SoftwareTPM.start()
        let recorder = try TPMRecorder(chip)
        let tpm = TPM(configuration: recorder.tcti)
        let sealer = TPMKeySealer(tpm)
        let hardware = TPMHardwareGuard(tpm)
        let passcode = SecretBytes.random(count: 32)
        let lockout = AuthorizationValue.derive(.privateKey, from: passcode)
        let sealed = try await sealer.seal(authorization: passcode)
        _ = try await sealer.unseal(sealed.blob, authorization: passcode)
        _ = await failure { try await sealer.open(sealed.blob, 2) }
        let epoch = try await hardware.makeEpoch()
        let next = try await hardware.nextEpoch(after: epoch.blob)
        _ = try await hardware.openEpoch(next.blob)
        let kept = SecretBytes.random(count: 64)
        let escrow = try await hardware.escrow(kept, authorization: passcode)
        _ = try await hardware.openEscrow(escrow, authorization: passcode)
        try await tpm.setLockoutAuthorization(lockout)
        try await sealer.destroy(sealed.blob)
        let entities: [AuthorizationValue.Entity] = [.pin, .seal, .escrow]
        let values = entities.map { AuthorizationValue.derive($0, from: passcode).octets }
        let secrets = [
            passcode.octets, lockout.octets, sealed.secret.octets, epoch.secret.octets, next.secret.octets,
            kept.octets,
        ]
        let traffic = recorder.traffic
        #expect(traffic.count > 5_000)
        for secret in secrets + values {
            // Not even a quarter of the secret.
            for start in stride(from: 0, to: secret.count, by: 8) {
                #expect(traffic.firstRange(of: secret[start..<(start + 8)]) == nil)
            }
        }
    }

    @Test("without an encrypting session the traffic has the secret in the clear (control)")
    func control() async throws {
        let chip = try await SoftwareTPM.start()
        let recorder = try TPMRecorder(chip)
        let tpm = TPM(configuration: recorder.tcti)
        let epoch = try await TPMHardwareGuard(tpm).makeEpoch()
        #expect(recorder.traffic.firstRange(of: epoch.secret.octets) == nil)
        _ = try await tpm.openUnencrypted(epoch.blob)
        #expect(recorder.traffic.firstRange(of: epoch.secret.octets) != nil)
    }

    @Test("each operation sends as few commands as the policies allow")
    func commands() async throws {
        let chip = try await SoftwareTPM.start()
        let tpm = TPM(chip)
        let sealer = TPMKeySealer(tpm)
        let hardware = TPMHardwareGuard(tpm)
        func count(_ body: () async throws -> Void) async rethrows -> Int {
            let before = await tpm.commandCount
            try await body()
            return await tpm.commandCount - before
        }
        // GetCapability for variable properties, and once for fixed ones.
        _ = try await tpm.status()
        #expect(try await count { _ = try await tpm.status() } == 1)
        var blob: [UInt8] = []
        // Create, NV_DefineSpace, PolicyNvWritten, PolicyOR, NV_Write; the first time two StartAuthSession, too.
        #expect(try await count { blob = try await sealer.seal(authorization: .fixed(1)).blob } == 7)
        #expect(try await count { blob = try await sealer.seal(authorization: .fixed(1)).blob } == 5)
        // PolicySecret, PolicyAuthValue, Load, Unseal, FlushContext.
        #expect(try await count { try await sealer.open(blob, 1) } == 5)
        // PolicySecret, PolicyRestart, and GetRandom in both sessions, which shows that they are in step.
        #expect(await count { _ = await failure { try await sealer.open(blob, 2) } } == 4)
        // NV_DefineSpace, NV_Increment, NV_Read, Create.
        #expect(try await count { blob = try await hardware.makeEpoch().blob } == 4)
        // PolicyNV, Load, Unseal, FlushContext.
        #expect(try await count { _ = try await hardware.openEpoch(blob) } == 4)
        // NV_Increment, NV_Read, Create.
        #expect(try await count { _ = try await hardware.nextEpoch(after: blob) } == 3)
        let counter = try await hardware.makeGeneration().counter
        _ = try await hardware.generation(counter)
        #expect(try await count { _ = try await hardware.generation(counter) } == 1)
        #expect(try await count { _ = try await hardware.advanceGeneration(counter) } == 2)
        // CreatePrimary, ContextSave, FlushContext; ContextLoad, Unseal, FlushContext.
        #expect(
            try await count { blob = try await hardware.escrow(.fixed(1), authorization: .fixed(1)) } == 3
        )
        #expect(try await count { _ = try await hardware.openEscrow(blob, authorization: .fixed(1)) } == 3)
    }

    @Test("only the connection's own three objects stay loaded after any failure, and none after its end")
    func nothingIsLeft() async throws {
        let chip = try await SoftwareTPM.start()
        let tpm = TPM(chip)
        let sealer = TPMKeySealer(tpm)
        let hardware = TPMHardwareGuard(tpm)
        let sealed = try await sealer.seal(authorization: .fixed(1))
        let epoch = try await hardware.makeEpoch()
        let next = try await hardware.nextEpoch(after: epoch.blob)
        for round in 0..<12 {
            try await sealer.open(sealed.blob, 1)
            _ = await failure { try await sealer.open(sealed.blob, 2) }
            _ = try await hardware.openEpoch(next.blob)
            _ = await failure { _ = try await hardware.openEpoch(epoch.blob) }
            let escrow = try await hardware.escrow(.fixed(1), authorization: .fixed(1))
            _ = try await hardware.openEscrow(escrow, authorization: .fixed(1))
            _ = await failure { _ = try await hardware.openEscrow(escrow, authorization: .fixed(2)) }
            // The primary, the session and the policy session.
            if round % 4 == 0 { #expect(try await tpm.loadedHandles().count == 3) }
        }
        await tpm.close()
        #expect(try await chip.handles().isEmpty)
    }

    /// `TOUCHSTONE_TPM_OPERATIONS=10000` for the figure in the README.
    @Test("a thousand operations leave no handle loaded")
    func manyOperations() async throws {
        let environment = ProcessInfo.processInfo.environment
        let count = environment["TOUCHSTONE_TPM_OPERATIONS"].flatMap { Int($0) } ?? 1000
        let chip = try await SoftwareTPM.start()
        let tpm = TPM(chip)
        let sealer = TPMKeySealer(tpm)
        let hardware = TPMHardwareGuard(tpm)
        let sealed = try await sealer.seal(authorization: .fixed(1))
        let counter = try await hardware.makeGeneration().counter
        for number in 0..<count {
            if number % 100 == 0 { try await sealer.open(sealed.blob, 1) }
            _ = try await hardware.generation(counter)
        }
        #expect(try await tpm.loadedHandles().count == 3)
        #expect(try await tpm.indices().count == 2)
    }
}
