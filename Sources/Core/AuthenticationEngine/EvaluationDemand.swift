import KeychainModel

/// The factors that an evaluation requires, and what its proof is valid for.
struct EvaluationDemand: Sendable {
    private enum Source: Sendable {
        case policy
        case accessControl(AccessControl)
    }

    /// The required factors; nil if no prompt is needed.
    let requirement: AuthenticationRequirement?
    /// The operation that the proof is valid for; nil for all.
    let operation: AccessOperation?
    private let source: Source

    /// Derives the demand from a target.
    ///
    /// - Throws: ``AuthenticationError`` with `companionNotAvailable` if only a companion device could satisfy it.
    init(_ target: Evaluation.Target) throws(AuthenticationError) {
        switch target {
        case .policy(let policy):
            guard let requirement = policy.requirement else {
                throw AuthenticationError(.companionNotAvailable)
            }
            self.init(policyRequirement: requirement)
        case .accessControl(let control, let operation):
            let requirement: AuthenticationRequirement?
            switch operation {
            // Creation needs no proof: the constraints protect the use.
            case .createItem, .createKey: requirement = nil
            case .useItem, .useKeySign, .useKeyDecrypt, .useKeyKeyExchange:
                requirement = try control.requirement()
            }
            self.init(requirement: requirement, operation: operation, source: .accessControl(control))
        }
    }

    /// Creates a demand for factors whose proof is valid for every operation.
    init(policyRequirement: AuthenticationRequirement) {
        self.init(requirement: policyRequirement, operation: nil, source: .policy)
    }

    /// The demand of a program for which the user switched fingers off: the passcode alone where it suffices.
    ///
    /// - Throws: ``AuthenticationError`` with `biometryNotAvailable` and the cause ``KnownCause/fingersOff`` if a finger is needed.
    func withoutFinger() throws(AuthenticationError) -> EvaluationDemand {
        switch requirement {
        case .biometry, .biometryAndPasscode: throw .fingersOff
        case .biometryOrPasscode:
            EvaluationDemand(requirement: .passcode, operation: operation, source: source)
        case .passcode, nil: self
        }
    }

    private init(requirement: AuthenticationRequirement?, operation: AccessOperation?, source: Source) {
        self.requirement = requirement
        self.operation = operation
        self.source = source
    }

    /// The constraints that these factors satisfy.
    func satisfied(by factors: Set<AuthenticationFactor>) -> Set<AccessConstraint> {
        switch source {
        case .policy: AuthenticationPolicy.satisfied(by: factors)
        case .accessControl(let control): control.satisfied(by: factors)
        }
    }

    /// Whether the finger must belong to the present set, which must then be distinguishable from other sets.
    var bindsCurrentSet: Bool {
        switch source {
        case .policy: false
        case .accessControl(let control): control.bindsCurrentSet
        }
    }

    /// Whether a finger counts only on a sensor that is not weak.
    var wantsStrongSensor: Bool {
        switch source {
        case .policy: false
        case .accessControl(let control): control.flags.contains(.strongSensor)
        }
    }

    /// Whether a finger alone can satisfy the demand.
    var takesFingerAlone: Bool { requirement == .biometry || requirement == .biometryOrPasscode }
}
