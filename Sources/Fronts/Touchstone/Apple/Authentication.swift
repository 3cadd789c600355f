internal import CryptoKit
internal import Foundation
internal import LocalAuthentication
internal import Security

extension KeychainLink {
    /// What asking would come to.
    func capability(for demand: Authenticators) async throws(TouchstoneError) -> Capability {
        try await call(nil) { calls throws(TouchstoneError) in
            Capability(of: calls.session.link.makeSession(), demand)
        }
    }

    /// Tells what asking would come to, and again whenever that is something else, until the task is cancelled.
    ///
    /// - Throws: ``TouchstoneError`` with `taskCancelled`, and with `unsupported` for an empty demand.
    func tellCapabilities(
        for demand: Authenticators,
        _ tell: (Capability) -> Void
    ) async throws(TouchstoneError) {
        try demand.check()
        let (signals, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let watch = try await call(nil) { _ throws(TouchstoneError) in EnvironmentWatch { signal.yield() } }
        defer { watch.end() }
        var last: Capability?
        var turns = signals.makeAsyncIterator()
        while true {
            let now = try await capability(for: demand)
            if now != last { tell(now) }
            last = now
            guard await turns.next() != nil else { return }
        }
    }

    /// Asks the user; what was shown counts in a context of its own.
    func authenticate(
        _ prompt: PromptText,
        using demand: Authenticators
    ) async throws(TouchstoneError) -> Proof {
        let session = makeSession(for: demand)
        let method: AuthenticationMethod
        do throws(TouchstoneError) {
            method = try await call(prompt, in: session, timeout: prompt.timeout) {
                calls throws(TouchstoneError) in
                try calls.authenticate(prompt, using: demand)
            }
        } catch {
            session.end()
            throw error
        }
        let proof = Proof(
            method: method,
            requested: demand,
            assurance: Assurance(
                facts: Assurance.facts(ofShowing: demand),
                method: method,
                hardware: .ofThisDevice
            ),
            session: session
        )
        _ = Timers.after(Proof.lifetime) { [weak proof] in proof?.end() }
        return proof
    }
}

extension KeychainCalls {
    /// Asks the user for one of these.
    fileprivate func authenticate(
        _ prompt: PromptText,
        using demand: Authenticators
    ) throws(TouchstoneError) -> AuthenticationMethod {
        // Where asking leads nowhere, that is said, as `capability` does.
        if let obstacle = Capability.obstacle(session.context, demand) { throw obstacle }
        guard demand.haveBiometry else {
            // No policy of Apple's is the passcode alone.
            try ask(for: try AccessRule.passcode.control(), .useItem, prompt)
            return .passcode
        }
        try evaluate(prompt) { reply in
            session.context.evaluatePolicy(demand.policy, localizedReason: prompt.line, reply: reply)
        }
        return demand.contains(.passcode)
            ? .unspecified : AuthenticationMethod(session.context.biometryType) ?? .unspecified
    }
}

extension Authenticators {
    fileprivate var policy: LAPolicy {
        contains(.passcode) ? .deviceOwnerAuthentication : .deviceOwnerAuthenticationWithBiometrics
    }
}

extension Capability {
    /// What asking in a context would come to; blocks.
    fileprivate init(of session: PromptSession, _ demand: Authenticators) {
        let context = session.context
        let obstacle = Self.obstacle(context, demand)
        // A context has the state only while a finger would count; the environment has it during a lockout too.
        let state = LAEnvironment.currentUser.state.biometry?.stateHash
        self.init(
            obstacle: obstacle,
            sensor: Sensor(context.biometryType),
            enrolmentState: state.flatMap { $0.isEmpty ? nil : $0 }
        )
    }

    /// What asking would throw; nil for nothing.
    fileprivate static func obstacle(_ context: LAContext, _ demand: Authenticators) -> TouchstoneError? {
        var failure: NSError?
        guard !context.canEvaluatePolicy(demand.policy, error: &failure) else { return nil }
        guard let failure else { return TouchstoneError(.hardwareUnavailable) }
        let error = TouchstoneError(system: failure)
        // The system has one number for a sensor that is not there and one that cannot be used.
        guard error.code == .hardwareUnavailable, context.biometryType == .none else { return error }
        return TouchstoneError(.noHardware, part: error.part, cause: error.cause)
    }
}

extension Capability.Sensor {
    /// The device's sensor; nil for none.
    fileprivate init?(_ type: LABiometryType) {
        guard let modality = AuthenticationMethod(type) else { return nil }
        let name =
            switch type {
            case .touchID: "Touch ID"
            case .faceID: "Face ID"
            default: "Optic ID"
            }
        self.init(
            name: name,
            modality: modality,
            // The system does not tell.
            enrolledCount: nil,
            strength: [.strongBiometry, .weakBiometry],
            evidence: HardwareLevel.ofThisDevice == .test
                ? ["grade": "ungraded"] : ["grade": "strong", "gradedBy": "Apple"]
        )
    }
}

extension AuthenticationMethod {
    /// What a sensor sees; nil for none.
    init?(_ type: LABiometryType) {
        switch type {
        case .touchID: self = .fingerprint
        case .faceID: self = .face
        case .opticID: self = .iris
        default: return nil
        }
    }
}

extension HardwareLevel {
    /// The level of this device's keychain: what is no device of Apple's is a test.
    static var ofThisDevice: HardwareLevel {
        #if targetEnvironment(simulator) || !canImport(Darwin)
            .test
        #else
            SecureEnclave.isAvailable ? .hardware : .software
        #endif
    }
}

extension Assurance {
    /// What follows from what was asked for; of a union the system does not tell which one was shown.
    static func facts(ofShowing demand: Authenticators) -> Set<Fact> {
        if demand == .passcode { return [.passcodeUsed] }
        // Apple grades its sensors: at most one in 50,000 strangers passes.
        let isGraded = HardwareLevel.ofThisDevice != .test
        return isGraded && !demand.contains(.passcode) ? [.strongSensor] : []
    }
}

/// Hears of changes of sensor, fingers and passcode.
private final class EnvironmentWatch: NSObject, LAEnvironment.Observer, @unchecked Sendable {  // immutable
    private let environment: LAEnvironment
    private let changed: @Sendable () -> Void

    /// Listens; blocks for the time of a look.
    init(_ changed: @escaping @Sendable () -> Void) {
        environment = .currentUser
        self.changed = changed
        super.init()
        environment.addObserver(self)
    }

    func environment(
        _ environment: LAEnvironment,
        stateDidChangeFromOldState oldState: LAEnvironment.State
    ) {
        changed()
    }

    func end() { environment.removeObserver(self) }
}
