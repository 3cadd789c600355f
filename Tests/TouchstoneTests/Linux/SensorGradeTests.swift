import Foundation
import Glibc
import KeychainClient
import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting

@testable import Touchstone

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
            #expect(sensor.evidence["secureChannel"] == "unknown" && sensor.evidence["liveness"] == "unknown")
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

    @Test("what the administrator says of the channel and of liveness is a fact, and no grade")
    func facts() async throws {
        let world = try await world("weak secure-channel no-liveness")
        try await world.use {
            let sensor = try #require(try await Keychain.current.capability().sensor)
            #expect(sensor.evidence["secureChannel"] == "yes" && sensor.evidence["liveness"] == "no")
            #expect(sensor.evidence["matchOnChip"] == nil && sensor.strength == .weakBiometry)
        }
    }

    @Test("a sensor with a known hole counts for nothing, and only the passcode is left")
    func unsafe() async throws {
        let world = try await world("unsafe match-on-chip")
        try await world.use {
            let keychain = Keychain.current
            for demand in [Authenticators.strongBiometry, .weakBiometry] {
                let now = try await keychain.capability(for: demand)
                #expect(now.obstacle?.code == .sensorUnsafe && now.obstacle?.androidCode == 15)
                #expect(now.obstacle?.laErrorCode == -6 && now.obstacle?.nextStep == .usePasscode)
                #expect(now.sensor?.strength == [] && now.sensor?.evidence["grade"] == "unsafe")
                await #expect(throws: TouchstoneError(.sensorUnsafe)) {
                    try await keychain.authenticate("a test", using: demand)
                }
            }
            for rule in [AccessRule.biometry, .biometry.acceptingWeakBiometry()] {
                await #expect(throws: TouchstoneError(.sensorUnsafe)) {
                    try await SecretStore("strict \(rule)", rule: rule).write("x", for: "k")
                }
            }
            #expect(world.prompts == 0)
            #expect(try await keychain.capability(for: [.strongBiometry, .passcode]).obstacle == nil)
            try world.answers()
            let proof = try await keychain.authenticate("a test", using: [.weakBiometry, .passcode])
            #expect(proof.method == .passcode)
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

/// The cells: the sensor's name is in the table of drivers as strong, as weak, or not at all; the settings say nothing, `accepted` or
/// `weak`.
@Suite("Sensors that the administrator did not grade", .timeLimit(.minutes(20)))
struct UngradedSensorTests {
    struct Cell: Sendable, CustomTestStringConvertible {
        let sensor: String
        var setting: String?
        let evidence: [String: String]
        let isWeak: Bool
        var testDescription: String { "\(sensor), \(setting ?? "no setting")" }
    }

    private static let unlisted = "Sensor of nobody"
    private static let onChip = "Goodix MOC Fingerprint Sensor"
    private static let image = "Validity VFS101"

    private static let cells = [
        Cell(sensor: unlisted, evidence: ["grade": "ungraded"], isWeak: true),
        Cell(
            sensor: unlisted,
            setting: "accepted",
            evidence: ["grade": "ungraded", "acceptedBy": "settings"],
            isWeak: false
        ),
        Cell(
            sensor: unlisted,
            setting: "weak",
            evidence: ["grade": "weak", "gradedBy": "settings"],
            isWeak: true
        ),
        Cell(
            sensor: onChip,
            evidence: ["grade": "strong", "gradedBy": "driver", "matchOnChip": "driver"],
            isWeak: false
        ),
        Cell(
            sensor: onChip,
            setting: "accepted",
            evidence: ["grade": "ungraded", "acceptedBy": "settings"],
            isWeak: false
        ),
        Cell(
            sensor: onChip,
            setting: "weak",
            evidence: ["grade": "weak", "gradedBy": "settings"],
            isWeak: true
        ),
        Cell(sensor: image, evidence: ["grade": "weak", "gradedBy": "driver"], isWeak: true),
        Cell(
            sensor: image,
            setting: "accepted",
            evidence: ["grade": "ungraded", "acceptedBy": "settings"],
            isWeak: false
        ),
        Cell(
            sensor: image,
            setting: "weak",
            evidence: ["grade": "weak", "gradedBy": "settings"],
            isWeak: true
        ),
    ]

    @Test(
        "a sensor is strong by its driver or accepted by the settings, or meets only what accepts a weak one",
        arguments: cells
    )
    func graded(cell: Cell) async throws {
        let world = try await World(
            fingers: ["right-index-finger"],
            sensor: cell.sensor,
            settings: cell.setting.map { ["sensor \(cell.sensor) = \($0)"] } ?? []
        )
        try await world.use {
            let keychain = Keychain.current
            let now = try await keychain.capability()
            let sensor = try #require(now.sensor)
            let grading = ["grade", "gradedBy", "acceptedBy", "matchOnChip"]
            #expect(sensor.evidence.filter { grading.contains($0.key) } == cell.evidence)
            #expect(sensor.strength == (cell.isWeak ? .weakBiometry : [.strongBiometry, .weakBiometry]))
            #expect(now.obstacle?.code == (cell.isWeak ? .sensorTooWeak : nil))
            let store = SecretStore("strict")
            guard !cell.isWeak else {
                await #expect(throws: TouchstoneError(.sensorTooWeak)) {
                    try await keychain.authenticate("a test")
                }
                await #expect(throws: TouchstoneError(.sensorTooWeak)) {
                    try await store.write("x", for: "k")
                }
                await #expect(throws: TouchstoneError(.sensorTooWeak)) {
                    try await DeviceSigningKey.create("strict")
                }
                #expect(world.prompts == 0)
                try world.touches()
                let proof = try await keychain.authenticate("a test", using: .weakBiometry)
                #expect(proof.assurance.facts.isEmpty)
                return
            }
            try world.touches(3)
            let proof = try await keychain.authenticate("a test")
            // Only a grade is a fact for servers, not that the sensor is accepted.
            #expect(proof.assurance.facts == (cell.setting == nil ? [.strongSensor] : []))
            try await store.write("x", for: "k")
            #expect(try await store.read("k", as: String.self) == "x")
        }
    }

    /// A program that leaves the module's own check out talks to the daemon itself.
    @Test("the daemon refuses a weak sensor's finger for what wants a strong one, with every request")
    func enforced() async throws {
        let world = try await World(fingers: ["right-index-finger"], sensor: Self.image)
        let client = world.keychain.client
        let prompt = world.keychain.prompt()
        func control(_ flags: AccessControlFlags) throws -> AccessControl {
            try AccessControl(accessibility: .whenPasscodeSetThisDeviceOnly, flags: flags)
        }
        func add(_ name: String, _ flags: AccessControlFlags) throws {
            let item = AddItem(
                itemClass: .genericPassword,
                attributes: [.account: .string(name)],
                accessControl: try control(flags),
                data: SecretBytes(copying: Array(name.utf8)),
                prompt: prompt
            )
            _ = try client.add(item)
        }
        func read(_ name: String, context: UInt64? = nil) throws -> [UInt8]? {
            let query = ItemQuery(
                itemClass: .genericPassword,
                attributes: [.account: .string(name)],
                returns: .data
            )
            let found = try client.copy(CopyItems(query: query, context: context, prompt: prompt))
            guard let item = found.first(), let data = try item.copyData() else { return nil }
            return data.withOctets { octets in octets.indices.map { octets[$0] } }
        }
        try add("strict", [.biometryAny, .strongSensor])
        try add("either", [.biometryAny, .or, .devicePasscode, .strongSensor])
        try add("lenient", .biometryAny)
        let key = try client.makeKey(
            MakeKey(
                accessControl: try control([.biometryAny, .strongSensor, .privateKeyUsage]),
                prompt: prompt
            )
        )
        func sign(context: UInt64? = nil) throws {
            _ = try client.useKey(
                UseKey(
                    representation: key.representation,
                    use: .sign(digest: Array(repeating: 1, count: 32)),
                    context: context,
                    prompt: prompt
                )
            )
        }
        func isTooWeak(_ body: () throws -> Void) -> Bool {
            do {
                try body()
                return false
            } catch {
                return (error as? KeychainError)?.cause?.known == .sensorTooWeak
            }
        }
        try world.touches(4)
        #expect(isTooWeak { _ = try read("strict") })
        #expect(isTooWeak { try sign() })
        #expect(world.prompts == 0)
        #expect(try read("lenient") == Array("lenient".utf8))
        // A finger that the program had the daemon ask for, for something else.
        let context = client.makeContextNumber()
        let policy = EvaluatePolicy(policy: 1, context: context, reuseSeconds: 300, prompt: prompt)
        #expect(try client.evaluatePolicy(policy).factors == [.biometry])
        let shown = world.prompts
        #expect(isTooWeak { _ = try read("strict", context: context) })
        #expect(isTooWeak { try sign(context: context) })
        #expect(world.prompts == shown)
        // The passcode suffices where it is one of two.
        try world.answers()
        #expect(try read("either") == Array("either".utf8))
        #expect(world.prompts == shown + 1)
    }

    @Test("the rules of stores and keys want a strong sensor, until they accept a weak one")
    func flags() throws {
        for rule in [AccessRule.biometry, .biometryOrPasscode, .biometryAndPasscode] {
            #expect(try rule.control().flags.contains(.strongSensor))
            #expect(try rule.control(forKey: true).flags.contains(.strongSensor))
            #expect(try !rule.acceptingWeakBiometry().control().flags.contains(.strongSensor))
        }
        for rule in [AccessRule.passcode, .whenUnlocked, .afterFirstUnlock] {
            #expect(try !rule.control().flags.contains(.strongSensor))
        }
    }

    @Test("without a sensor the obstacle is that there is none, not its grade")
    func missing() async throws {
        let world = try await World()
        try await world.use {
            let obstacle = try await Keychain.current.capability().obstacle
            #expect(obstacle?.code == World.codeWithoutService)
            await #expect(throws: TouchstoneError(World.codeWithoutService)) {
                try await Keychain.current.authenticate("a test")
            }
        }
    }
}
