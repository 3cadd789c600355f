package import KeychainClient
package import KeychainModel

// What `TouchstoneLogin` needs of this module beyond its public API; some of it is used here too.

extension Keychain {
    /// Runs blocking calls of the client on a thread of their own; cancelling the task or reaching the prompt's timeout ends
    /// them.
    ///
    /// - Parameters:
    ///   - prompt: The text of prompts; nil if none may be shown.
    ///   - body: Gets the client, the prompt fields of requests, and the cancellation of requests.
    /// - Returns: what `body` returned.
    /// - Throws: ``TouchstoneError``.
    package func perform<R: Sendable>(
        _ prompt: PromptText?,
        _ body:
            @escaping @Sendable (RemoteKeychain, PromptFields, Cancellation) throws(TouchstoneError) -> R
    ) async throws(TouchstoneError) -> R {
        try prompt?.check()
        let link = link
        let fields = link.fields(prompt)
        return try await link.call(timeout: prompt?.timeout) { client, cancellation throws(TouchstoneError) in
            try body(client, fields, cancellation)
        }
    }
}

extension PromptText {
    /// Checks that the prompt shows each text whole.
    ///
    /// - Throws: ``TouchstoneError`` with `limitExceeded`; its details name the limit.
    package func checkIsWhole() throws(TouchstoneError) { try check() }
}

extension AccessRule {
    /// The access control of a key under this rule.
    ///
    /// - Throws: ``TouchstoneError``: `hardwareTooWeak`, and `unsupported` for a rule without a prompt.
    package func keyControl(on client: RemoteKeychain) throws(TouchstoneError) -> AccessControl {
        guard asks else {
            throw .unsupported("a rule that asks nobody signs nobody in: \(self)")
        }
        try checkLevel(try HardwareLevel(of: client))
        return try below { () throws(KeychainError) in try control(forKey: true) }
    }
}

extension HardwareLevel {
    /// The level of the daemon's keybag now.
    package init(of client: RemoteKeychain) throws(TouchstoneError) {
        self.init(try below { () throws(KeychainError) in try client.status().assurance })
    }
}

extension Assurance {
    /// What one use of a key under a rule is worth.
    ///
    /// - Parameters:
    ///   - rule: The key's rule.
    ///   - factors: The factors that the user showed for this use.
    ///   - status: The daemon's status at this use.
    ///   - hardware: The protection of this key.
    package init(
        ofKeyUnder rule: AccessRule,
        _ factors: Set<AuthenticationFactor>,
        _ status: StatusReply,
        hardware: HardwareLevel
    ) {
        var facts = Self.facts(of: factors, status)
        facts.insert(.keyBound)
        if rule.asks, rule.reuse == .zero { facts.insert(.perUse) }
        if rule.need.hasBiometry, !rule.acceptsLaterEnrolments, factors.contains(.biometry) {
            facts.insert(.currentSet)
        }
        self.init(
            facts: facts,
            method: factors.isEmpty ? nil : AuthenticationMethod(factors),
            hardware: min(HardwareLevel(status.assurance), hardware)
        )
    }

    /// What a sign-in without a key is worth.
    package static func withoutKey(_ level: HardwareLevel) -> Assurance {
        Assurance(facts: [], method: nil, hardware: level)
    }
}

extension TouchstoneError {
    /// The error of this module for a failure of the daemon or of the connection to it.
    package init(below error: KeychainError) { self.init(error) }
}

extension AccessRule {
    /// The authenticators that must be available on a machine to use the rule; nil for a rule without a
    /// prompt.
    package var promptedFactors: Authenticators? {
        let finger: Authenticators = acceptsWeakBiometry ? .weakBiometry : .strongBiometry
        return switch need {
        case .biometry, .biometryAndPasscode: finger
        case .biometryOrPasscode: [finger, .passcode]
        case .passcode: .passcode
        case .whenUnlocked, .afterFirstUnlock: nil
        }
    }
}
