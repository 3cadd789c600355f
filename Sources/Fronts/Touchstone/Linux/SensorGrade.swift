internal import KeychainClient
internal import KeychainModel
internal import SecretMemory

/// Checks authenticators and rules against the sensor's grade: a weak sensor, or one that nobody graded or accepted, meets only those
/// that accept a weak one.
///
/// The daemon refuses a finger on a weak sensor for what is stored under a rule that wants a strong one. The check here comes before it:
/// for prompts, which are not bound to a rule, for what earlier versions stored, and so that no prompt appears.
extension RemoteKeychain {
    /// The authenticators that remain with the current sensor: the passcode alone if the sensor is weak and not
    /// accepted.
    ///
    /// - Throws: ``TouchstoneError`` with `sensorTooWeak` or `sensorUnsafe` if none remains.
    func demand(leavingWeakSensorOutOf demand: Authenticators) throws(TouchstoneError) -> Authenticators {
        guard demand.wantsStrongSensor else { return demand }
        let status = try below { () throws(KeychainError) in try self.status().authentication }
        if let weak = TouchstoneError(weak: status, demand) { throw weak }
        return status.isSensorWeak ? .passcode : demand
    }
}

extension KeychainCalls {
    /// - Throws: ``TouchstoneError`` with `sensorTooWeak` or `sensorUnsafe` if the rule does not accept the sensor.
    func checkSensor(_ rule: AccessRule, shown: PromptSession? = nil) throws(TouchstoneError) {
        guard rule.wantsStrongSensor else { return }
        // The user entered the passcode, which is sufficient.
        if rule.need == .biometryOrPasscode, shown?.hasPasscode == true { return }
        if let grade = try LastGrades.shared.weakGrade(client) { throw .weakSensor(grade) }
    }
}

/// Caches the grade of each keychain's sensor for a short time, so that several reads with one proof do not
/// request it again.
private final class LastGrades: Sendable {
    static let shared = LastGrades()

    private struct Entry {
        /// Retained so that its `ObjectIdentifier` is not reused.
        let client: RemoteKeychain
        /// Nil if it is not weak.
        let weakGrade: SensorFacts.Grade?
        let time: ContinuousClock.Instant
    }

    private let entries = Guarded<[ObjectIdentifier: Entry]>([:])

    /// The sensor's grade, if it is weak or unsafe.
    func weakGrade(_ client: RemoteKeychain) throws(TouchstoneError) -> SensorFacts.Grade? {
        let now = ContinuousClock.now
        let last = entries.withLock { entries in
            entries = entries.filter { now - $0.value.time < ChangeWatch.longestAge }
            return entries[ObjectIdentifier(client)]
        }
        if let last { return last.weakGrade }
        let status = try below { () throws(KeychainError) in try client.status().authentication }
        let weakGrade = status.isSensorWeak ? status.sensorFacts.grade : nil
        entries.withLock {
            $0[ObjectIdentifier(client)] = Entry(client: client, weakGrade: weakGrade, time: now)
        }
        return weakGrade
    }
}

extension Authenticators {
    /// Whether biometry counts only on a sensor that is not weak.
    var wantsStrongSensor: Bool { contains(.strongBiometry) && !contains(.weakBiometry) }
}

extension AccessRule {
    /// Whether biometry counts only on a sensor that is not weak.
    var wantsStrongSensor: Bool { need.hasBiometry && !acceptsWeakBiometry }
}

extension TouchstoneError {
    /// The error for a prompt with a weak sensor; nil if the sensor is no obstacle.
    init?(weak status: AuthenticationStatus, _ demand: Authenticators) {
        guard status.isSensorWeak, demand.wantsStrongSensor, !demand.contains(.passcode) else { return nil }
        self = .weakSensor(status.sensorFacts.grade, status.sensor)
    }

    /// The error for a weak or unsafe sensor.
    static func weakSensor(_ grade: SensorFacts.Grade, _ name: String? = nil) -> TouchstoneError {
        TouchstoneError(
            grade == .unsafe ? .sensorUnsafe : .sensorTooWeak,
            part: "sensor",
            details: name.map { [$0] } ?? []
        )
    }
}

extension Assurance {
    /// The facts that follow from the factors and from the sensor's grade.
    static func facts(of shown: Set<AuthenticationFactor>, _ status: StatusReply) -> Set<Fact> {
        var facts: Set<Fact> = []
        if shown.contains(.passcode) { facts.insert(.passcodeUsed) }
        if shown.contains(.biometry), status.authentication.sensorFacts.grade == .strong {
            facts.insert(.strongSensor)
        }
        return facts
    }
}
