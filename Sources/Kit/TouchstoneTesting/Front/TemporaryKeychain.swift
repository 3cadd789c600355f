import Glibc
import KeychainClient
import KeychainModel
import SecretMemory
import Threads
public import Touchstone

/// A keychain for one test: real daemon, private bus, synthetic fingers, a person at the prompt.
///
/// ```swift
/// let keychain = try await TemporaryKeychain()
/// try await keychain.use {
///     #expect(SecItemAdd(item as CFDictionary, nil) == errSecSuccess)
/// }
/// ```
///
/// The keychain is set up and unlocked. It owns all its parts, which end with it; its assurance is `test`.
///
/// Once the first one is created, the user's own keychain is closed to this process: a call outside
/// ``use(isolation:_:)`` fails, in `Touchstone` with the code `serviceMissing` and a detail that says what to do, in
/// `Security` with `errSecNotAvailable`.
public final class TemporaryKeychain: Sendable {
    let parts: KeychainParts

    /// Starts all parts.
    ///
    /// - Parameters:
    ///   - reader: nil for a machine without a fingerprint sensor.
    ///   - enrolled: the fingers enrolled on the sensor; the person uses the first.
    ///   - chip: nil keeps the keys in a file.
    ///   - clock: nil for the machine's clock.
    /// - Throws: ``TestKitError``, one sentence; for a missing program, what to install or to add to the manifest.
    public init(
        reader: TestReader? = .image,
        enrolled: [TestFinger] = [.first],
        chip: TestChip? = nil,
        clock: ManualClock? = nil
    ) async throws(TestKitError) {
        RemoteKeychain.shared.closeToTests()
        parts = try await TestKitError.wrapping("the keychain cannot be started") {
            try await KeychainParts.start(reader: reader, enrolled: enrolled, chip: chip, clock: clock)
        }
    }

    /// Runs `body`, and the child tasks that it starts, with this keychain as the user's.
    public func use<R>(
        isolation: isolated (any Actor)? = #isolation,
        _ body: () async throws -> R
    ) async rethrows -> R {
        try await parts.keychain.use { try await body() }
    }

    /// The same keychain for code that takes one, such as `SecretStore(_:rule:group:in:)`; valid in any task.
    public var keychain: Keychain {
        Keychain(parts.keychain.client, promptsAt: parts.keychain.prompt().origin)
    }

    /// The prompts shown so far.
    public var prompts: [TestPrompt] { parts.person.prompts }

    /// Sets what the person does at the next prompts, one deed each; after them the person uses the enrolled finger
    /// again.
    public func person(_ deeds: TestDeed...) { parts.person.tell(deeds) }

    /// Enrols a finger, as the user's settings program does.
    public func enrol(_ finger: TestFinger) async throws(TestKitError) {
        try await TestKitError.wrapping("enrolment") { try await parts.enrol(finger) }
    }

    /// Removes an enrolled finger.
    public func remove(_ finger: TestFinger) async throws(TestKitError) {
        try await TestKitError.wrapping("removal of a finger") { try await parts.remove(finger) }
    }

    /// Causes a real fault; returns when it has taken effect.
    public func cause(_ fault: TestFault) async throws(TestKitError) {
        try await TestKitError.wrapping("the fault \(fault.kind)") { try await parts.cause(fault.kind) }
    }
}

/// The parts of a ``TemporaryKeychain``, which end with it.
final class KeychainParts: Sendable {
    let person: PromptedPerson
    let keychain: PrivateKeychain
    let bus: PrivateBus
    let sensor: PrivateBus.Sensor?
    let logind: ScriptedLogind
    let chip: SoftwareTPM?
    /// Whether the kit has mounted a file system over the keychain's data.
    let mounted = Guarded(false)
    /// The enrolled fingers, with fprintd's name for each.
    private let enrolled = Guarded<[(finger: TestFinger, name: String)]>([])

    static func start(
        reader: TestReader?,
        enrolled: [TestFinger],
        chip: TestChip?,
        clock: ManualClock?
    ) async throws -> KeychainParts {
        // First, because a new user is most likely to meet this error.
        try Programs.checkDaemon()
        let bus = try await PrivateBus.startDeniable(sensors: reader.map { [$0.sensor] } ?? [])
        let logind = try await ScriptedLogind(bus)
        if reader == nil {
            // A machine without a sensor is another one than a machine without fprintd, which need not be installed here.
            _ = try await ScriptedFprintd.start(on: bus, .init(sensors: []))
        } else {
            try await bus.startFprintd()
        }
        let parts = try KeychainParts(
            person: try PromptedPerson(passcode: PrivateKeychain.passcode),
            bus: bus,
            sensor: reader?.sensor,
            logind: logind,
            chip: chip == nil ? nil : try await SoftwareTPM.start(),
            clock: clock
        )
        return try await parts.ready(enrolled)
    }

    private init(
        person: PromptedPerson,
        bus: PrivateBus,
        sensor: PrivateBus.Sensor?,
        logind: ScriptedLogind,
        chip: SoftwareTPM?,
        clock: ManualClock?
    ) throws {
        self.person = person
        self.bus = bus
        self.sensor = sensor
        self.logind = logind
        self.chip = chip
        // Sleep alone must not make the next test of an app need the passcode: locking has a fault of its own.
        var settings = ["test.template-directory = \(bus.templateDirectory)", "lock-on = never"]
        if sensor == .text { settings.append("sensor \(PrivateBus.Sensor.text.deviceName) = weak") }
        if geteuid() != 0 { settings.append("test.bus-owner-uid = \(geteuid())") }
        if let clock {
            let file = bus.directory.appending("clock")
            try clock.attach(file)
            settings.append("test.clock-offset-file = \(file)")
        }
        keychain = try PrivateKeychain(bus: bus, tpm: chip?.tcti, settings: settings) { _ in person.pinentry }
    }

    deinit {
        guard mounted.withLock({ $0 }) else { return }
        keychain.stop(with: SIGKILL)
        _ = unsafe umount2(keychain.layout.dataDirectory, CInt(MNT_DETACH))
    }

    private func ready(_ fingers: [TestFinger]) async throws -> KeychainParts {
        if let sensor { person.reach(bus, sensor) }
        for finger in fingers where sensor != nil { try await enrol(finger) }
        try await keychain.start()
        try await person.aside {
            try await apart { [keychain] in try keychain.client.setUp(keychain.prompt()) }
        }
        return self
    }

    // MARK: Fingers

    func enrol(_ finger: TestFinger) async throws {
        guard let sensor else { throw TestKitError.unexpected("there is no reader to enrol a finger on") }
        let used = enrolled.withLock { $0.map(\.name) }
        guard let name = Self.names.first(where: { !used.contains($0) }) else {
            throw TestKitError.unexpected("a person has ten fingers, and all are enrolled")
        }
        let enroller = Enroller(bus, sensor: sensor)
        switch sensor {
        case .image: try await enroller.enrol(SyntheticFinger(finger.number), as: name)
        case .text, .storage: try await enroller.enrol(print: finger.print, as: name)
        }
        person.know(
            enrolled.withLock { enrolled in
                enrolled.append((finger, name))
                return enrolled.map(\.finger)
            }
        )
    }

    func remove(_ finger: TestFinger) async throws {
        guard let sensor, let name = enrolled.withLock({ $0.first { $0.finger == finger }?.name }) else {
            throw TestKitError.unexpected("finger \(finger.number) is not enrolled")
        }
        try await Enroller(bus, sensor: sensor).delete(name)
        person.know(
            enrolled.withLock { enrolled in
                enrolled.removeAll { $0.finger == finger }
                return enrolled.map(\.finger)
            }
        )
    }

    private static let names = ["right", "left"].flatMap { hand in
        ["index-finger", "middle-finger", "ring-finger", "little-finger", "thumb"].map { "\(hand)-\($0)" }
    }

    /// Runs blocking code on a dedicated thread.
    func apart<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
        try await withCheckedThrowingContinuation { continuation in
            let started = BlockingThread.start { continuation.resume(with: Result(catching: body)) }
            guard started != 0 else { return }
            continuation.resume(throwing: TestKitError.system("pthread_create", errno: started))
        }
    }
}
