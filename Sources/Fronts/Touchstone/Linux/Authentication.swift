internal import Foundation
internal import KeychainClient
package import KeychainModel

extension KeychainLink {
    /// The obstacle and the sensor for a prompt with `demand`, from the cache or from the daemon.
    func capability(for demand: Authenticators) async throws(TouchstoneError) -> Capability {
        let question = ChangeWatch.Question(demand: demand, origin: origin)
        let watch = ChangeWatch.of(client)
        if let answer = watch.answer(to: question) { return answer }
        return try await ask(question, watch).capability
    }

    /// Reports the capability now and after each change of it, until the task is cancelled.
    ///
    /// - Throws: ``TouchstoneError`` with `taskCancelled`, and with `unsupported` for an empty demand.
    func tellCapabilities(
        for demand: Authenticators,
        _ tell: (Capability) -> Void
    ) async throws(TouchstoneError) {
        try demand.check()
        let question = ChangeWatch.Question(demand: demand, origin: origin)
        let (signals, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let stop = ChangeWatch.listen(to: client) { happening in
            if case .changes = happening { signal.yield() }
        }
        defer { stop() }
        var last: Capability?
        var turns = signals.makeAsyncIterator()
        while true {
            let (now, age) = try await ask(question, ChangeWatch.of(client))
            if now != last { tell(now) }
            last = now
            let forget = Timers.after(age) { signal.yield() }
            defer { forget() }
            guard await turns.next() != nil else { return }
        }
    }

    /// Requests the capability from the daemon and caches it while it is valid.
    private func ask(
        _ question: ChangeWatch.Question,
        _ watch: ChangeWatch
    ) async throws(TouchstoneError) -> (capability: Capability, age: Duration) {
        let generation = watch.begin()
        let prompt = fields(nil)
        let demand = question.demand
        let capability: Capability
        do throws(TouchstoneError) {
            capability = try await call { client, _ throws(TouchstoneError) in
                try below { () throws(KeychainError) in
                    let availability = try client.canEvaluatePolicy(Int64(demand.policy.rawValue))
                    return Capability(availability, try client.status(promptsAt: prompt.origin), demand)
                }
            }
        } catch {
            guard error.code != .taskCancelled else { throw error }
            capability = Capability(obstacle: error, sensor: nil, enrolmentState: nil)
        }
        return (capability, watch.keep(capability, for: question, since: generation))
    }

    /// Shows a prompt; the proof has a context of its own.
    func authenticate(
        _ prompt: PromptText,
        using demand: Authenticators,
        onMiss: (@Sendable (TouchMiss) -> Void)?
    ) async throws(TouchstoneError) -> Proof {
        let fields = fields(prompt, isHeard: onMiss != nil)
        let context = client.makeContextNumber(lasting: Proof.lifetime)
        let shown: (factors: Set<AuthenticationFactor>, status: StatusReply)
        do throws(TouchstoneError) {
            shown = try await call(timeout: prompt.timeout, onMiss: onMiss) {
                client,
                cancellation throws(TouchstoneError) in
                let demand = try client.demand(leavingWeakSensorOutOf: demand)
                return try below { () throws(KeychainError) in
                    let reply = try client.evaluate(demand, context, fields, cancellation)
                    return (reply.factors, try client.status())
                }
            }
        } catch {
            // Discard the context even if the user authenticated: a cancelled task must leave none.
            forget(context)
            throw error
        }
        let proof = Proof(
            method: AuthenticationMethod(shown.factors),
            requested: demand,
            assurance: Assurance(
                facts: Assurance.facts(of: shown.factors, shown.status),
                method: AuthenticationMethod(shown.factors),
                hardware: HardwareLevel(shown.status.assurance)
            ),
            session: PromptSession(self, number: context, factors: shown.factors)
        )
        _ = Timers.after(Proof.lifetime) { [weak proof] in proof?.end() }
        return proof
    }
}

extension KeychainLink {
    /// When the user last authenticated with one of the authenticators at a prompt of this program; nil for never.
    func lastAuthentication(
        using demand: Authenticators
    ) async throws(TouchstoneError) -> LastAuthentication? {
        // Read before the request: the time is never later than the authentication.
        let now = ContinuousClock.now
        let past = try await call { client, _ throws(TouchstoneError) in
            try below { () throws(KeychainError) in try client.lastAuthentications() }
        }
        let counted = past.filter(demand.include)
        guard let age = counted.map(\.age).min() else { return nil }
        let factors = Set(counted.filter { $0.age == age }.map(\.factor))
        return LastAuthentication(method: AuthenticationMethod(factors), time: now - age)
    }
}

extension Authenticators {
    /// Whether a past authentication was with one of these authenticators.
    fileprivate func include(_ past: PastAuthentication) -> Bool {
        switch past.factor {
        case .biometry: contains(.weakBiometry) || contains(.strongBiometry) && !past.isOfWeakSensor
        case .passcode: contains(.passcode)
        }
    }

    /// The policy to check for these authenticators; `deviceOwner` covers the passcode alone too.
    fileprivate var policy: AuthenticationPolicy { contains(.passcode) ? .deviceOwner : .biometrics }
}

extension RemoteKeychain {
    fileprivate func evaluate(
        _ demand: Authenticators,
        _ context: UInt64,
        _ prompt: PromptFields,
        _ cancellation: Cancellation
    ) throws(KeychainError) -> EvaluationReply {
        if demand.haveBiometry {
            // Fail early as `capability` does: with biometry unavailable, the daemon's prompt could only offer the
            // fallback.
            if let error = try canEvaluatePolicy(Int64(demand.policy.rawValue)).error {
                throw KeychainError(error)
            }
            let request = EvaluatePolicy(
                policy: Int64(demand.policy.rawValue),
                context: context,
                reuseSeconds: 0,
                prompt: prompt
            )
            return try evaluatePolicy(request, cancellation: cancellation)
        }
        // Apple has no policy for the passcode alone.
        let request = EvaluateAccessControl(
            accessControl: try AccessControl(
                accessibility: .whenPasscodeSetThisDeviceOnly,
                flags: .devicePasscode
            ),
            operation: Int64(AccessOperation.useItem.rawValue),
            context: context,
            reuseSeconds: 0,
            prompt: prompt
        )
        return try evaluateAccessControl(request, cancellation: cancellation)
    }
}

extension Capability {
    fileprivate init(
        _ availability: AuthenticationAvailability,
        _ status: StatusReply,
        _ demand: Authenticators
    ) {
        self.init(
            obstacle: Self.obstacle(availability, status, demand),
            sensor: availability.hasSensor ? Sensor(status.authentication) : nil,
            enrolmentState: availability.domainState.map { Data($0) }
        )
    }

    private static func obstacle(
        _ availability: AuthenticationAvailability,
        _ status: StatusReply,
        _ demand: Authenticators
    ) -> TouchstoneError? {
        if let error = availability.error { return TouchstoneError(error) }
        let authentication = status.authentication
        if let weak = TouchstoneError(weak: authentication, demand) { return weak }
        if let fault = authentication.storeFault {
            return TouchstoneError(KeychainError(.internalComponent, cause: fault))
        }
        if !demand.haveBiometry {
            if authentication.passcodeDelay > 0 {
                return TouchstoneError(.lockedOut, retryAfter: .seconds(authentication.passcodeDelay))
            }
            if let fault = authentication.hardwareFault {
                return TouchstoneError(KeychainError(.internalComponent, cause: fault))
            }
        }
        return status.promptFault.map { TouchstoneError(.noPromptPlace, part: "prompt", cause: $0) }
    }
}

extension Capability.Sensor {
    /// The daemon's facts about the sensor: its name, its grade, and how a change of the enrolled fingers is
    /// detected.
    fileprivate init(_ status: AuthenticationStatus) {
        let facts = status.sensorFacts
        var evidence = ["grade": "\(facts.grade)"]
        if facts.gradedBy != .nobody {
            evidence[facts.grade == .ungraded ? "acceptedBy" : "gradedBy"] = "\(facts.gradedBy)"
        }
        if facts.matchesOnChip { evidence["matchOnChip"] = "\(facts.gradedBy)" }
        evidence["scanType"] = facts.scanType
        evidence["secureChannel"] = Self.word(facts.hasSecureChannel)
        evidence["liveness"] = Self.word(facts.detectsLiveness)
        switch status.binding {
        case .names: evidence["enrolment"] = "names"
        case .templates: evidence["enrolment"] = "templates"
        case .untold: evidence["enrolment"] = "untold"
        case nil: break
        }
        self.init(
            name: status.sensor ?? "",
            modality: .fingerprint,
            enrolledCount: status.sensorFault == nil ? status.fingers.count : nil,
            strength: facts.grade == .unsafe
                ? [] : status.isSensorWeak ? .weakBiometry : [.strongBiometry, .weakBiometry],
            evidence: evidence
        )
    }

    private static func word(_ fact: Bool?) -> String { fact.map { $0 ? "yes" : "no" } ?? "unknown" }
}

extension AuthenticationMethod {
    /// The method of a single factor; `unspecified` for several.
    init(_ factors: Set<AuthenticationFactor>) {
        self =
            switch factors {
            case [.biometry]: .fingerprint
            case [.passcode]: .passcode
            default: .unspecified
            }
    }
}

extension HardwareLevel {
    /// The level of the daemon's keybag.
    package init(_ assurance: KeychainModel.Assurance) {
        self =
            switch assurance {
            case .test: .test
            case .softwareUser: .software
            case .softwareSystem: .separateAccount
            case .tpmWeak: .weakTPM
            case .tpm: .hardware
            }
    }
}
