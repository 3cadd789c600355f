internal import KeychainClient
internal import KeychainModel
internal import SecretMemory

/// Demands and rules against what is known of the sensor: one that is known to be weak meets none that does not accept it.
///
/// The daemon grades sensors, and counts a finger on any of them; who wants a strong one is asked here, before each use.
extension RemoteKeychain {
    /// What is asked for, of a demand that leaves a weak sensor out: the passcode alone, where the sensor is one.
    ///
    /// - Throws: ``TouchstoneError`` with `sensorTooWeak` where nothing is left.
    func demand(leavingWeakSensorOutOf demand: Authenticators) throws(TouchstoneError) -> Authenticators {
        guard demand.wantsStrongSensor else { return demand }
        let status = try below { () throws(KeychainError) in try self.status().authentication }
        if let weak = TouchstoneError(weak: status, demand) { throw weak }
        return status.sensorFacts.grade == .weak ? .passcode : demand
    }
}

extension KeychainCalls {
    /// - Throws: ``TouchstoneError`` with `sensorTooWeak`, where a rule wants another sensor than there is.
    func checkSensor(_ rule: AccessRule, shown: PromptSession? = nil) throws(TouchstoneError) {
        guard rule.wantsStrongSensor else { return }
        // The passcode, which was shown, is enough.
        if rule.need == .biometryOrPasscode, shown?.hasPasscode == true { return }
        if try LastGrades.shared.isWeak(client) { throw .weakSensor(nil) }
    }
}

extension RemoteKeychain {
    /// Whether ``KeychainCalls/checkSensor(_:shown:)`` has nothing to object, as far as is known without asking the daemon.
    func isKnownToMeet(_ rule: AccessRule) -> Bool {
        !rule.wantsStrongSensor || LastGrades.shared.lastIsWeak(self) == false
    }
}

/// What each keychain's sensor was worth a moment ago: several reads on one proof do not ask again.
private final class LastGrades: Sendable {
    static let shared = LastGrades()

    private struct Entry {
        /// Keeps its identity from becoming another one's.
        let client: RemoteKeychain
        let isWeak: Bool
        let time: ContinuousClock.Instant
    }

    private let entries = Guarded<[ObjectIdentifier: Entry]>([:])

    func isWeak(_ client: RemoteKeychain) throws(TouchstoneError) -> Bool {
        if let last = lastIsWeak(client) { return last }
        let now = ContinuousClock.now
        let grade = try below { () throws(KeychainError) in
            try client.status().authentication.sensorFacts.grade
        }
        entries.withLock {
            $0[ObjectIdentifier(client)] = Entry(client: client, isWeak: grade == .weak, time: now)
        }
        return grade == .weak
    }

    /// What is known of a moment ago; nil for nothing.
    func lastIsWeak(_ client: RemoteKeychain) -> Bool? {
        let now = ContinuousClock.now
        return entries.withLock { entries in
            entries = entries.filter { now - $0.value.time < ChangeWatch.longestAge }
            return entries[ObjectIdentifier(client)]?.isWeak
        }
    }
}

extension Authenticators {
    /// Whether a finger counts on some sensors alone.
    var wantsStrongSensor: Bool { contains(.strongBiometry) && !contains(.weakBiometry) }
}

extension AccessRule {
    /// Whether a finger counts on some sensors alone.
    var wantsStrongSensor: Bool { need.hasBiometry && !acceptsWeakBiometry }
}

extension TouchstoneError {
    /// What a demand comes to on a weak sensor; nil where that is no obstacle.
    init?(weak status: AuthenticationStatus, _ demand: Authenticators) {
        guard status.sensorFacts.grade == .weak, demand.wantsStrongSensor, !demand.contains(.passcode) else {
            return nil
        }
        self = .weakSensor(status.sensor)
    }

    /// The sensor is known to be weak.
    static func weakSensor(_ name: String?) -> TouchstoneError {
        TouchstoneError(.sensorTooWeak, part: "sensor", details: name.map { [$0] } ?? [])
    }
}

extension Assurance {
    /// What follows from what was shown, and where.
    static func facts(of shown: Set<AuthenticationFactor>, _ status: StatusReply) -> Set<Fact> {
        var facts: Set<Fact> = []
        if shown.contains(.passcode) { facts.insert(.passcodeUsed) }
        if shown.contains(.biometry), status.authentication.sensorFacts.grade == .strong {
            facts.insert(.strongSensor)
        }
        return facts
    }
}
