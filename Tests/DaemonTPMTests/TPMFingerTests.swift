import Foundation
import KeychainClient
import KeychainModel
import Testing
import TouchstoneTesting

@Suite(
    "Fingers with a TPM, with the real fprintd",
    .serialized,
    .enabled(if: TPMMachine.isThere, "touchstoned or swtpm is missing"),
    .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/libexec/fprintd"), "no fprintd"),
    .timeLimit(.minutes(20))
)
struct TPMFingerTests {
    private static let mine = SyntheticFinger(1)

    private let bus: PrivateBus
    private let machine: TPMMachine
    private let reader: VirtualReader
    private var keychain: PrivateKeychain { machine.keychain }

    init() async throws {
        bus = try await PrivateBus.start(sensors: [.image])
        try await Enroller(bus).enrol(Self.mine)
        machine = try await TPMMachine.ready(
            bus: bus,
            settings: ["test.template-directory = \(bus.templateDirectory)"]
        )
        reader = VirtualReader(bus)
    }

    /// Runs `body`, whose prompt is answered by a touch of the sensor.
    private func touching<R: Sendable>(
        _ body: @escaping @Sendable (PrivateKeychain) throws -> R
    ) async throws -> R {
        // Drawn before the prompt is shown, which times out soon.
        let picture = Self.mine.impression(20)
        try keychain.tellPerson([.waits])
        async let result = keychain.apart(body)
        try await reader.touch(picture)
        return try await result
    }

    @Test("a finger unlocks after a lock; after a restart of daemon or machine the passcode is needed")
    func escrow() async throws {
        try keychain.add("free", "kept")
        try keychain.add("finger", "by finger", .biometryCurrentSet)
        try keychain.client.lock()
        try await touching { try $0.unlock() }
        #expect(try keychain.value("free") == "kept")
        #expect(try await touching { try $0.value("finger") } == "by finger")

        // The TPM lost the escrowed key; the daemon that stored it still runs.
        try keychain.client.lock()
        try await machine.chip.reset()
        let picture = Self.mine.impression(21)
        try keychain.tellPerson([.waits])
        async let refused = keychain.apart { $0.refusal() }
        try await reader.touch(picture)
        let refusal = try #require(try await refused)
        #expect(refusal.remedy == .usePasscode)
        #expect(try keychain.client.status().keybag != .unlocked)
        try keychain.unlock()

        try await machine.restart()
        let before = keychain.prompts
        try keychain.tellPerson([.cancels])
        #expect(keychain.refusal()?.status == .userCanceled)
        try keychain.unlock()
        #expect(keychain.prompts == before + 2)
        #expect(try await touching { try $0.value("finger") } == "by finger")
        await bus.stop()
    }

    @Test(
        "items bound to the enrolled set are invalidated by a change, also with an older copy of the keybag"
    )
    func enrolment() async throws {
        try keychain.add("set", "by this set", .biometryCurrentSet)
        try keychain.add("any", "by any finger", .biometryAny)
        #expect(try await touching { try $0.value("set") } == "by this set")
        keychain.stop(with: SIGTERM)
        let older = try DataCopy(of: keychain, ["keybag"])
        let everything = try DataCopy(of: keychain)
        try await keychain.start()
        try keychain.unlock()
        try await Enroller(bus).enrol(SyntheticFinger(2), as: "left-index-finger")
        let gone = try #require(keychain.failure { _ = try keychain.value("set") })
        #expect(gone.status == .itemNotFound)
        #expect(gone.cause == .invalidated)

        try await keychain.stopped { try older.put(into: keychain) }
        try keychain.unlock()
        let still = try #require(keychain.failure { _ = try keychain.value("set") })
        #expect(still.cause == .invalidated)
        // After the change the passcode was needed once.
        try keychain.client.lock()
        try keychain.unlock()
        #expect(try await touching { try $0.value("any") } == "by any finger")

        try await keychain.stopped { try everything.put(into: keychain) }
        try keychain.unlock()
        #expect(keychain.failure { _ = try keychain.value("set") }?.cause == .rolledBack)
        try keychain.client.recover(keychain.prompt())
        #expect(keychain.failure { _ = try keychain.value("set") }?.cause == .invalidated)
        await bus.stop()
    }

    @Test("with its counter removed from the TPM a change still invalidates the bound items only")
    func removedCounter() async throws {
        try keychain.add("set", "by this set", .biometryCurrentSet)
        try keychain.add("any", "by any finger", .biometryAny)
        #expect(try await touching { try $0.value("set") } == "by this set")
        try await machine.chip.removeCounters()
        try await Enroller(bus).enrol(SyntheticFinger(2), as: "left-index-finger")
        let gone = try #require(keychain.failure { _ = try keychain.value("set") })
        #expect(gone.cause == .invalidated)
        // After the change the passcode was needed once.
        try keychain.client.lock()
        try keychain.unlock()
        #expect(try await touching { try $0.value("any") } == "by any finger")
        await bus.stop()
    }

    @Test("a software keychain that moves to the TPM keeps items bound to the enrolled set")
    func migration() async throws {
        let software = try await PrivateKeychain.ready(
            bus: bus,
            settings: ["test.template-directory = \(bus.templateDirectory)"]
        )
        try software.add("set", "by this set", .biometryCurrentSet)
        keychain.stop(with: SIGTERM)
        software.stop(with: SIGTERM)
        try software.use(tpm: machine.recorder.tcti)
        try await software.start()
        try software.unlock()
        try software.client.migrate(software.prompt())
        try software.tellPerson([.waits])
        async let value = software.apart { try $0.value("set") }
        try await reader.touch(Self.mine.impression(22))
        #expect(try await value == "by this set")
        await bus.stop()
    }
}
