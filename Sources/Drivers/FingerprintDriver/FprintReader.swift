public import KeychainModel
import MessageBus
import SystemFacts

/// A sensor behind fprintd.
///
/// ```swift
/// let reader = FprintReader(busAddress: .system)
/// let fingers = try await reader.enrolment().fingers
/// ```
///
/// Connects on first use, and again after the bus was lost: automatically while there is a listener of ``changes()``.
public actor FprintReader: FingerprintReader {
    private let executor = BusExecutor()
    /// The thread that reads the bus.
    public nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe executor.asUnownedSerialExecutor()
    }

    private let busAddress: BusAddress
    let user: String
    private let templates: (any TemplateReader)?
    private let grade: @Sendable (String) -> SensorFacts
    private let callTimeout: Duration
    private let onForgedSignal: @Sendable () -> Void
    private let onBusLost: @Sendable () -> Void

    private(set) var connection: FprintConnection?
    var claims: [UInt64: ClaimedSensor] = [:]
    private var lastNumber: UInt64 = 0
    private var completions: UInt64 = 0
    /// How often the machine announced sleep.
    private var sleeps = 0
    /// Whether the machine announced sleep and not yet its wake-up.
    ///
    /// Meanwhile nothing is sent about a claim: fprintd 1.94 fails to close a suspended sensor ("Cannot run while
    /// suspended"), forgets the claim nevertheless, and can then no longer open it ("has already been opened").
    private(set) var isAsleep = false
    private var listeners: [UInt64: AsyncStream<FingerprintChange>.Continuation] = [:]
    /// Reconnects for the listeners; nil while the connection stands.
    private var reconnection: Task<Void, Never>?

    /// Creates a reader; nothing is sent before it is used.
    ///
    /// - Parameters:
    ///   - busAddress: the bus that fprintd is on.
    ///   - user: the owner of the fingers; nil for the user that this process runs as.
    ///   - templateDirectory: fprintd's state directory with the templates; nil not to read it.
    ///   - templates: reads the templates for a process that may not; nil to read `templateDirectory`.
    ///   - grade: the known facts about the sensor of this name, beside what fprintd reports.
    ///   - callTimeout: how long fprintd may take to reply; 1 to 3 s were measured while it compares an image.
    ///   - onForgedSignal: called for each of fprintd's signals that another sender sent.
    ///   - onBusLost: called once per loss of the bus, while there are listeners.
    public init(
        busAddress: BusAddress,
        user: String? = nil,
        templateDirectory: String? = "/var/lib/fprint",
        templates: (any TemplateReader)? = nil,
        grade: @escaping @Sendable (String) -> SensorFacts = { _ in SensorFacts() },
        callTimeout: Duration = .seconds(10),
        onForgedSignal: @escaping @Sendable () -> Void = {},
        onBusLost: @escaping @Sendable () -> Void = {}
    ) {
        self.busAddress = busAddress
        self.user = user ?? ""
        self.templates = templates ?? templateDirectory.map { TemplateFiles(directory: $0, user: user) }
        self.grade = grade
        self.callTimeout = callTimeout
        self.onForgedSignal = onForgedSignal
        self.onBusLost = onBusLost
    }

    // MARK: FingerprintReader

    /// The fingers enrolled now on the sensor that ``claim()`` would take.
    public func enrolment() async throws(FingerprintError) -> Enrolment {
        let choice = try await onThread { () async throws(FingerprintError) in try await self.choose() }
        var facts = grade(choice.name)
        facts.scanType = choice.scanType
        return Enrolment(
            device: choice.name,
            fingers: choice.fingers,
            templates: await templates?.templates(expectingSome: !choice.fingers.isEmpty) ?? .unreadable,
            completions: completions,
            sensor: facts
        )
    }

    /// Claims the sensor; the claim is bound to the fprintd process that granted it.
    public func claim() async throws(FingerprintError) -> any FingerprintClaim {
        try await onThread { () async throws(FingerprintError) in try await self.takeSensor() }
    }

    private func takeSensor() async throws(FingerprintError) -> FprintClaim {
        while let releasing = claims.values.lazy.compactMap(\.releasing).first { await releasing.value }
        let sleepsBefore = sleeps
        let device = try await choose().device
        guard !isAsleep else { throw FingerprintError(.suspended) }
        lastNumber += 1
        let number = lastNumber
        let claim = ClaimedSensor(device: device)
        do throws(FingerprintError) {
            try await device.claim(user: user)
            claims[number] = claim
            claim.fingers = try await device.listEnrolledFingers(user: user)
            guard !Task.isCancelled else { throw FingerprintError(.cancelled) }
            guard sleeps == sleepsBefore else { throw FingerprintError(.suspended) }
        } catch {
            // If fprintd granted the claim after the timeout, the sensor would stay claimed for good.
            if error.code == .noReply { claims[number] = claim }
            await release(number)
            throw error
        }
        return FprintClaim(reader: self, number: number)
    }

    /// Enrolments, announcements of sleep, and changes of fprintd, from now on.
    public func changes() async -> AsyncStream<FingerprintChange> {
        lastNumber += 1
        let number = lastNumber
        let (stream, continuation) = AsyncStream.makeStream(
            of: FingerprintChange.self,
            bufferingPolicy: .bufferingNewest(Self.changeLimit)
        )
        continuation.onTermination = { [weak self] _ in
            Task { await self?.forgetListener(number) }
        }
        listeners[number] = continuation
        if await !hears() { listenAgain() }
        return stream
    }

    /// Lets the machine sleep; fprintd suspends its sensors itself, and claims are released after the wake-up.
    public func allowSleep() async { connection?.allowSleep() }

    /// More than a suspended listener needs: repeated elements carry no more information.
    private static let changeLimit = 16

    private func forgetListener(_ number: UInt64) {
        listeners[number] = nil
        guard listeners.isEmpty else { return }
        reconnection?.cancel()
        reconnection = nil
    }

    private func tell(_ change: FingerprintChange) {
        for listener in listeners.values { listener.yield(change) }
    }

    // MARK: Listening

    /// Whether changes are received, after connecting if necessary.
    private func hears() async -> Bool {
        guard let connection = try? connect() else { return false }
        _ = try? await connection.fprintdOwner(activate: false)
        return connection.bus != nil
    }

    /// Tries to reconnect, at growing intervals, while there are listeners: otherwise sleep would go unnoticed.
    private func listenAgain() {
        guard !listeners.isEmpty, reconnection == nil else { return }
        onBusLost()
        reconnection = Task { [weak self] in
            var pause = ReconnectPause()
            repeat {
                guard await pause.wait() else { return }
            } while await self?.hearsAgain() == false
        }
    }

    private func hearsAgain() async -> Bool {
        guard await hears() else { return false }
        guard !Task.isCancelled else { return true }
        reconnection = nil
        // Changes may have been missed.
        tell(.service)
        return true
    }

    // MARK: Connection

    /// Runs `body` without a thread switch at each reply.
    func onThread<R>(
        _ body: () async throws(FingerprintError) -> R
    ) async throws(FingerprintError) -> R {
        try await withTaskExecutorPreference(executor, operation: body)
    }

    private func connect() throws(FingerprintError) -> FprintConnection {
        if let connection, connection.bus != nil { return connection }
        do throws(BusError) {
            let connection = try FprintConnection(
                busAddress,
                executor: executor,
                callTimeout: callTimeout,
                onEvent: { [weak self] event in self?.assumeIsolated { $0.handle(event) } }
            )
            self.connection = connection
            Task { await self.findLogind() }
            return connection
        } catch {
            throw FingerprintError(error)
        }
    }

    private func findLogind() async {
        // Without switches of threads, which would let a first claim overtake it: sleep would then go unnoticed.
        try? await onThread { () async throws(FingerprintError) in await self.askLogind() }
    }

    private func askLogind() async {
        await connection?.findLogind()
        // A delay that was granted after the announcement of sleep would be held until the wake-up.
        if isAsleep { connection?.allowSleep() }
    }

    /// The claimed sensor, or the one that would be claimed.
    private func choose() async throws(FingerprintError) -> FprintManager.Choice {
        if let claim = claims.values.first(where: { $0.releasing == nil }) {
            return try await claim.device.inquire(user: user).choice()
        }
        do throws(FingerprintError) {
            return try await chooseOnce()
        } catch let error where error.code == .serviceUnknown {
            // fprintd exits when it is idle; the bus starts it again.
            return try await chooseOnce()
        }
    }

    private func chooseOnce() async throws(FingerprintError) -> FprintManager.Choice {
        let connection = try connect()
        guard let owner = try await connection.fprintdOwner(activate: true), let bus = connection.bus else {
            throw FingerprintError(.serviceUnknown)
        }
        let (choice, sensors) = try await FprintManager(bus: bus, owner: owner)
            .choose(user: user, known: connection.sensors)
        connection.sensors = sensors
        return choice
    }

    private func handle(_ event: FprintConnection.Event) {
        switch event {
        case .device(let signal): receive(signal)
        case .forged: onForgedSignal()
        case .ownerLost(let owner):
            for (number, claim) in claims where claim.device.owner == owner {
                claims[number] = nil
                claim.run?.abort(FingerprintError(.ownerLost))
            }
            tell(.service)
        case .ownerAppeared:
            tell(.service)
            // Verifies the new owner, so that its enrolment signals are received.
            Task { _ = try? await self.connection?.fprintdOwner(activate: false) }
        case .suspend:
            sleeps += 1
            isAsleep = true
            tell(.suspend)
            for claim in claims.values { claim.run?.abort(FingerprintError(.suspended)) }
            if listeners.isEmpty { Task { await self.allowSleep() } }
        case .logindReady:
            if isAsleep {
                isAsleep = false
                for number in claims.keys { beginRelease(number) }
            }
            Task { await self.findLogind() }
        case .session, .logindLost: break
        case .closed:
            connection = nil
            isAsleep = false
            let lost = claims.values
            claims.removeAll()
            for claim in lost { claim.run?.abort(FingerprintError(.noBus)) }
            tell(.service)
            listenAgain()
        }
    }

    private func receive(_ signal: DeviceSignal) {
        if case .enrollStatus("enroll-completed", _) = signal.kind {
            completions += 1
            tell(.enrolment)
        }
        for claim in claims.values
        where claim.device.owner == signal.owner && claim.device.path == signal.path {
            claim.run?.receive(signal.kind)
        }
    }
}
