import Foundation
import LocalAuthentication
import Security
import Testing
import TouchstoneTesting

/// A right with the real daemon, fprintd and matcher; synthetic fingers touch a virtual sensor.
@Suite(
    "Rights and fingers, with the real fprintd",
    .enabled(if: RunningKeychain.isBuilt, "touchstoned is not built"),
    .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/libexec/fprintd"), "no fprintd"),
    .timeLimit(.minutes(20))
)
struct FingerRightTests {
    @Test("one touch gives secret and key, and a newly enrolled finger invalidates the right")
    func currentSet() async throws {
        let bus = try await PrivateBus.start(sensors: [.image])
        let mine = SyntheticFinger(1)
        try await Enroller(bus).enrol(mine)
        let running = try await RunningKeychain(bus: bus)
        let reader = VirtualReader(bus)
        // Drawn before the prompt is shown, which times out soon.
        let picture = mine.impression(20)
        try await running.use {
            let right = try await LARightStore.shared.saveRight(
                LARight(requirement: .biometryCurrentSet),
                identifier: "safe",
                secret: Data("0123".utf8)
            )
            let before = LAEnvironment.currentUser.state
            #expect(before.biometry?.isEnrolled == true)
            try await right.checkCanAuthorize()

            try running.waitForFinger()
            async let authorized: Void = right.authorize(localizedReason: "open the safe")
            try await reader.touch(picture)
            try await authorized
            #expect(try await right.secret.rawData == Data("0123".utf8))
            let signature = try await right.key.sign(Data(), algorithm: .ecdsaSignatureMessageX962SHA256)
            #expect(!signature.isEmpty)
            #expect(running.prompts == 1)

            try await Enroller(bus).enrol(SyntheticFinger(2), as: "left-index-finger")
            #expect(LAEnvironment.currentUser.state.biometry?.stateHash != before.biometry?.stateHash)
            await #expect(throws: (any Error).self) { try await right.secret.rawData }
            await #expect(throws: LAError.self) {
                try await right.authorize(localizedReason: "open the safe")
            }
            await #expect(throws: (any Error).self) {
                try await LARightStore.shared.right(forIdentifier: "safe")
            }
            #expect(running.prompts == 1, "nobody is asked for what is lost")
        }
        running.stop()
        await bus.stop()
    }
}
