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
    /// - Throws: ``TouchstoneError`` with `sensorTooWeak` if none remains.
    func demand(leavingWeakSensorOutOf demand: Authenticators) throws(TouchstoneError) -> Authenticators {
        guard demand.wantsStrongSensor else { return demand }
        let status = try below { () throws(KeychainError) in try self.status().authentication }
        if let weak = TouchstoneError(weak: status, demand) { throw weak }
        return status.isSensorWeak ? .passcode : demand
    }
}

extension KeychainCalls {
    /// - Throws: ``TouchstoneError`` with `sensorTooWeak` if the rule does not accept the sensor.
    func checkSensor(_ rule: AccessRule, shown: PromptSession? = nil) throws(TouchstoneError) {
        guard rule.wantsStrongSensor else { return }
        // The user entered the passcode, which is sufficient.
        if rule.need == .biometryOrPasscode, shown?.hasPasscode == true { return }
        if try LastGrades.shared.isWeak(client) { throw .weakSensor(nil) }
    }
}

/// Caches the grade of each keychain's sensor for a short time, so that several reads with one proof do not
/// request it again.
private final class LastGrades: Sendable {
    static let shared = LastGrades()

    private struct Entry {
        /// Retained so that its `ObjectIdentifier` is not reused.
        let client: RemoteKeychain
        let isWeak: Bool
        let time: ContinuousClock.Instant
    }

    private let entries = Guarded<[ObjectIdentifier: Entry]>([:])

    func isWeak(_ client: RemoteKeychain) throws(TouchstoneError) -> Bool {
        let now = ContinuousClock.now
        let last = entries.withLock { entries in
            entries = entries.filter { now - $0.value.time < ChangeWatch.longestAge }
            return entries[ObjectIdentifier(client)]?.isWeak
        }
        if let last { return last }
        let isWeak = try below { () throws(KeychainError) in
            try client.status().authentication.isSensorWeak
        }
        entries.withLock {
            $0[ObjectIdentifier(client)] = Entry(client: client, isWeak: isWeak, time: now)
        }
        return isWeak
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
        self = .weakSensor(status.sensor)
    }

    /// The error for a weak sensor.
    static func weakSensor(_ name: String?) -> TouchstoneError {
        TouchstoneError(.sensorTooWeak, part: "sensor", details: name.map { [$0] } ?? [])
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
