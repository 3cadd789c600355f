internal import CryptoKit
internal import Foundation
internal import LocalAuthentication
internal import Security

extension KeychainLink {
    /// The obstacle and the sensor for a prompt with `demand`; shows nothing.
    func capability(for demand: Authenticators) async throws(TouchstoneError) -> Capability {
        try await call(nil) { calls throws(TouchstoneError) in
            Capability(of: calls.session.link.makeSession(), demand)
        }
    }

    /// Reports the capability now and after each change of it, until the task is cancelled.
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

    /// Shows a prompt; the proof has a context of its own.
    ///
    /// Nobody is told of misses: the system reports none.
    func authenticate(
        _ prompt: PromptText,
        using demand: Authenticators,
        onMiss _: (@Sendable (TouchMiss) -> Void)?
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

extension KeychainLink {
    /// Throws: the system does not say when the user last authenticated.
    func lastAuthentication(
        using _: Authenticators
    ) async throws(TouchstoneError) -> LastAuthentication? {
        throw TouchstoneError(.unsupported, nextStep: nil, details: ["no time of a past authentication"])
    }
}

extension KeychainCalls {
    /// Asks the user for one of the authenticators.
    fileprivate func authenticate(
        _ prompt: PromptText,
        using demand: Authenticators
    ) throws(TouchstoneError) -> AuthenticationMethod {
        // Throws the obstacle that `capability` reports, rather than start an evaluation that must fail.
        if let obstacle = Capability.obstacle(session.context, demand) { throw obstacle }
        guard demand.haveBiometry else {
            // Apple has no policy for the passcode alone.
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
    /// The capability in a context; blocks.
    fileprivate init(of session: PromptSession, _ demand: Authenticators) {
        let context = session.context
        let obstacle = Self.obstacle(context, demand)
        // A context's domain state is nil during a lockout; the environment's state is not.
        let state = LAEnvironment.currentUser.state.biometry?.stateHash
        self.init(
            obstacle: obstacle,
            sensor: Sensor(context.biometryType),
            enrolmentState: state.flatMap { $0.isEmpty ? nil : $0 }
        )
    }

    /// The error that an evaluation would throw; nil if it can be started.
    fileprivate static func obstacle(_ context: LAContext, _ demand: Authenticators) -> TouchstoneError? {
        var failure: NSError?
        guard !context.canEvaluatePolicy(demand.policy, error: &failure) else { return nil }
        guard let failure else { return TouchstoneError(.hardwareUnavailable) }
        let error = TouchstoneError(system: failure)
        // `biometryNotAvailable` covers both a missing and an unusable sensor.
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
            // Apple's systems do not report the number of enrolled fingers.
            enrolledCount: nil,
            strength: [.strongBiometry, .weakBiometry],
            evidence: HardwareLevel.ofThisDevice == .test
                ? ["grade": "ungraded"] : ["grade": "strong", "gradedBy": "Apple"]
        )
    }
}

extension AuthenticationMethod {
    /// The method that belongs to a type of sensor; nil for `none`.
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
    /// The hardware level of this device's keychain; `test` on a simulator and on any system but Apple's.
    static var ofThisDevice: HardwareLevel {
        #if targetEnvironment(simulator) || !canImport(Darwin)
            .test
        #else
            SecureEnclave.isAvailable ? .hardware : .software
        #endif
    }
}

extension Assurance {
    /// The facts that a successful prompt proves; for a union of authenticators the system does not report
    /// which one was used.
    static func facts(ofShowing demand: Authenticators) -> Set<Fact> {
        if demand == .passcode { return [.passcodeUsed] }
        // Apple's figure for its sensors: at most one false match in 50,000 people.
        let isGraded = HardwareLevel.ofThisDevice != .test
        return isGraded && !demand.contains(.passcode) ? [.strongSensor] : []
    }
}

/// Observes changes of the sensor, the enrolled fingers and the passcode.
private final class EnvironmentWatch: NSObject, LAEnvironment.Observer, @unchecked Sendable {  // immutable
    private let environment: LAEnvironment
    private let changed: @Sendable () -> Void

    /// Starts to observe; blocks while the environment is read.
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
