/// Judges what an access control still needs, and what a success is good for. Pure.
extension AccessControl {
    /// The factors that meet the constraints; nil when there are none to meet.
    ///
    /// - Throws: ``AuthenticationError`` with `companionNotAvailable` when only a companion could meet them.
    public func requirement() throws(AuthenticationError) -> AuthenticationRequirement? {
        let wanted = constraints
        guard !wanted.isEmpty else { return nil }
        let here = wanted.filter { $0 != .companion }
        guard !here.isEmpty, combination == .any || here.count == wanted.count else {
            throw AuthenticationError(.companionNotAvailable)
        }
        var biometry = false
        var passcode = false
        var either = false
        for constraint in here {
            switch constraint {
            case .userPresence: either = true
            case .biometryAny, .biometryCurrentSet: biometry = true
            case .devicePasscode: passcode = true
            case .companion: break
            }
        }
        if either { return .biometryOrPasscode }
        switch (biometry, passcode) {
        case (true, true): return combination == .any ? .biometryOrPasscode : .biometryAndPasscode
        case (true, false): return .biometry
        default: return .passcode
        }
    }

    /// What stands between these proofs and the item's key for `operation`.
    public func decide(given proofs: [AuthenticationProof], operation: AccessOperation) -> AccessDecision {
        let needed: AuthenticationRequirement
        do {
            guard let requirement = try requirement() else { return .granted }
            needed = requirement
        } catch {
            return .denied(error)
        }
        let covers = proofs.contains { covered(by: $0, for: operation) }
        return covers ? .granted : .needs(needed)
    }

    /// Whether one proof is enough for `operation`.
    public func covered(by proof: AuthenticationProof, for operation: AccessOperation) -> Bool {
        guard proof.operation == nil || proof.operation == operation else { return false }
        let wanted = constraints
        switch combination {
        case .all: return wanted.allSatisfy(proof.satisfied.contains)
        case .any: return wanted.contains(where: proof.satisfied.contains)
        }
    }

    /// The constraints of this control that these factors meet, with all weaker ones.
    ///
    /// A finger shown for `userPresence` is not good for an item that demands biometry: the prompt for it
    /// said something weaker.
    public func satisfied(by factors: Set<AuthenticationFactor>) -> Set<AccessConstraint> {
        var met: Set<AccessConstraint> = []
        for constraint in constraints {
            switch constraint {
            case .userPresence where !factors.isEmpty: met.insert(.userPresence)
            case .biometryAny where factors.contains(.biometry): met.formUnion([.biometryAny, .userPresence])
            case .biometryCurrentSet where factors.contains(.biometry):
                met.formUnion([.biometryCurrentSet, .biometryAny, .userPresence])
            case .devicePasscode where factors.contains(.passcode):
                met.formUnion([.devicePasscode, .userPresence])
            default: break
            }
        }
        return met
    }
}

extension AuthenticationPolicy {
    /// The constraints that these factors meet when the app evaluated a policy of its own accord.
    public static func satisfied(by factors: Set<AuthenticationFactor>) -> Set<AccessConstraint> {
        var met: Set<AccessConstraint> = []
        if factors.contains(.biometry) { met.formUnion([.biometryCurrentSet, .biometryAny, .userPresence]) }
        if factors.contains(.passcode) { met.formUnion([.devicePasscode, .userPresence]) }
        return met
    }
}
