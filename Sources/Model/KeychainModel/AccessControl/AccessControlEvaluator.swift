/// Decides which factors an access control still needs, and which operations a proof covers. Pure functions.
extension AccessControl {
    /// The factors that meet the constraints; nil if there are no constraints.
    ///
    /// - Throws: ``AuthenticationError`` with `companionNotAvailable` if only a companion could meet them.
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

    /// Whether these proofs release the item's key for `operation`, and which factors are missing.
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

    /// Whether one proof suffices for `operation`.
    public func covered(by proof: AuthenticationProof, for operation: AccessOperation) -> Bool {
        guard proof.operation == nil || proof.operation == operation else { return false }
        let wanted = constraints
        var met = proof.satisfied
        if flags.contains(.strongSensor), proof.isOfWeakSensor {
            met.subtract([.biometryAny, .biometryCurrentSet])
        }
        switch combination {
        case .all: return wanted.allSatisfy(met.contains)
        case .any: return wanted.contains(where: met.contains)
        }
    }

    /// The constraints of this control that these factors meet, with all weaker ones.
    ///
    /// A finger shown for `userPresence` does not count for an item that needs biometry: the prompt for it named the
    /// weaker condition.
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
    /// The constraints that these factors meet when the app itself evaluated a policy.
    public static func satisfied(by factors: Set<AuthenticationFactor>) -> Set<AccessConstraint> {
        var met: Set<AccessConstraint> = []
        if factors.contains(.biometry) { met.formUnion([.biometryCurrentSet, .biometryAny, .userPresence]) }
        if factors.contains(.passcode) { met.formUnion([.devicePasscode, .userPresence]) }
        return met
    }
}
