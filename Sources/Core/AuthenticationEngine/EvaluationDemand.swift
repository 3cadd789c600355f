import KeychainModel

/// What an evaluation asks for, and what a success of it is good for.
struct EvaluationDemand: Sendable {
    private enum Source: Sendable {
        case policy
        case accessControl(AccessControl)
    }

    /// The factors; nil when nobody has to be asked.
    let requirement: AuthenticationRequirement?
    /// The operation that the proof will hold for; nil for all.
    let operation: AccessOperation?
    private let source: Source

    /// Judges a target.
    ///
    /// - Throws: ``AuthenticationError`` with `companionNotAvailable` where only a companion could meet it.
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
            // Making something harms nobody: the constraints guard its use.
            case .createItem, .createKey: requirement = nil
            case .useItem, .useKeySign, .useKeyDecrypt, .useKeyKeyExchange:
                requirement = try control.requirement()
            }
            self.init(requirement: requirement, operation: operation, source: .accessControl(control))
        }
    }

    /// A demand for factors that holds for every operation.
    init(policyRequirement: AuthenticationRequirement) {
        self.init(requirement: policyRequirement, operation: nil, source: .policy)
    }

    private init(requirement: AuthenticationRequirement?, operation: AccessOperation?, source: Source) {
        self.requirement = requirement
        self.operation = operation
        self.source = source
    }

    /// The constraints that these factors meet.
    func satisfied(by factors: Set<AuthenticationFactor>) -> Set<AccessConstraint> {
        switch source {
        case .policy: AuthenticationPolicy.satisfied(by: factors)
        case .accessControl(let control): control.satisfied(by: factors)
        }
    }

    /// Whether a finger has to be one of a set that can be told from others.
    var bindsCurrentSet: Bool {
        switch source {
        case .policy: false
        case .accessControl(let control): control.bindsCurrentSet
        }
    }

    /// Whether a finger alone can meet it.
    var takesFingerAlone: Bool { requirement == .biometry || requirement == .biometryOrPasscode }
}
