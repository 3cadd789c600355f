import Foundation
import Glibc
import Testing
import Touchstone
import TouchstoneTesting

/// Only root can create the administrator's file.
@Suite("Sensor grades", .timeLimit(.minutes(20)), .enabled(if: geteuid() == 0, "not root"))
struct SensorGradeTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    /// A keychain whose administrator graded the sensor so.
    private func world(_ grade: String) async throws -> World {
        let table = try directory.write("Scripted sensor = \(grade)\n", to: "sensors.conf")
        chmod(table, 0o644)
        return try await World(
            fingers: ["right-index-finger"],
            settings: ["test.sensor-table = \(table)"]
        )
    }

    @Test("a strong sensor reports who graded it, and its use is a fact of the assurance")
    func strong() async throws {
        let world = try await world("strong match-on-chip")
        try await world.use {
            let sensor = try #require(try await Keychain.current.capability().sensor)
            #expect(sensor.strength == [.strongBiometry, .weakBiometry])
            #expect(sensor.evidence["grade"] == "strong" && sensor.evidence["gradedBy"] == "administrator")
            #expect(sensor.evidence["matchOnChip"] == "administrator")
            #expect(sensor.evidence["scanType"] == "press")
            try world.touches(2)
            let proof = try await Keychain.current.authenticate("a test")
            #expect(proof.assurance.facts == [.strongSensor])
            let key = try await DeviceSigningKey.create("strong")
            let signature = try await key.sign(Data("x".utf8))
            #expect(signature.assurance.facts == [.keyBound, .perUse, .currentSet, .strongSensor])
            let passcode = try await Keychain.current.authenticate("a test", using: .passcode)
            #expect(passcode.assurance.facts == [.passcodeUsed], "no finger was shown")
        }
    }

    @Test("a weak sensor is accepted only by rules that allow it")
    func weak() async throws {
        let world = try await world("weak")
        try await world.use {
            let keychain = Keychain.current
            let now = try await keychain.capability()
            #expect(now.obstacle?.code == .sensorTooWeak && now.obstacle?.details == ["Scripted sensor"])
            #expect(now.sensor?.strength == .weakBiometry && now.sensor?.evidence["grade"] == "weak")
            await #expect(throws: TouchstoneError(.sensorTooWeak)) {
                try await keychain.authenticate("a test")
            }
            let store = SecretStore("strict")
            await #expect(throws: TouchstoneError(.sensorTooWeak)) { try await store.write("x", for: "k") }
            await #expect(throws: TouchstoneError(.sensorTooWeak)) {
                try await DeviceSigningKey.create("strict")
            }
            #expect(world.prompts == 0)

            // Where the passcode suffices, only the passcode is requested.
            #expect(try await keychain.capability(for: [.strongBiometry, .passcode]).obstacle == nil)
            try world.answers()
            let proof = try await keychain.authenticate("a test", using: [.strongBiometry, .passcode])
            #expect(proof.method == .passcode)
            let either = SecretStore("either", rule: .biometryOrPasscode)
            await #expect(throws: TouchstoneError(.sensorTooWeak)) { try await either.write("x", for: "k") }
            try await either.write("x", for: "k", with: .proof(proof))
            #expect(try await either.read("k", as: String.self, with: .proof(proof)) == "x")

            #expect(try await keychain.capability(for: .weakBiometry).obstacle == nil)
            try world.touches(3)
            #expect(try await keychain.authenticate("a test", using: .weakBiometry).method == .fingerprint)
            let lenient = SecretStore("lenient", rule: .biometry.acceptingWeakBiometry())
            try await lenient.write("x", for: "k")
            #expect(try await lenient.read("k", as: String.self) == "x")
            let key = try await DeviceSigningKey.create("lenient", rule: .biometry.acceptingWeakBiometry())
            #expect(try await key.sign(Data("x".utf8)).assurance.facts == [.keyBound, .perUse, .currentSet])
        }
    }
}
