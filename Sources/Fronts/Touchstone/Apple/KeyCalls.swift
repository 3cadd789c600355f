internal import CryptoKit
internal import Foundation
internal import LocalAuthentication
internal import Security

/// A signature or a shared secret.
final class KeyUseResult: Sendable {
    private let copy: SecretCopy

    init(_ bytes: Data) { copy = SecretCopy(bytes) }

    /// Lends the bytes.
    func withBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
        try copy.withBytes(body)
    }
}

/// Calls of the Secure Enclave; they block.
extension KeychainCalls {
    /// The longest challenge, in bytes, as on Linux.
    private static let longestChallenge = 64

    /// Makes a key, without an attestation: App Attest attests another key.
    func makeKey(
        under rule: AccessRule,
        _ lifetime: KeyLifetime,
        at place: KeyPlace,
        challenge: Data?
    ) throws(TouchstoneError) -> NewKey {
        guard lifetime.uses == nil else {
            throw .unsupported("a number of uses: the Secure Enclave counts none")
        }
        if let challenge, challenge.count > Self.longestChallenge {
            throw .limit("challenge: at most \(Self.longestChallenge) bytes")
        }
        let level = try level()
        try rule.checkLevel(level)
        let control = try rule.control(forKey: true)
        let context = session.context
        let (representation, publicKey) = try unlocked { () throws -> (Data, Data) in
            if place.isOfSigning {
                let key = try SecureEnclave.P256.Signing.PrivateKey(
                    accessControl: control,
                    authenticationContext: context
                )
                return (key.dataRepresentation, key.publicKey.x963Representation)
            }
            let key = try SecureEnclave.P256.KeyAgreement.PrivateKey(
                accessControl: control,
                authenticationContext: context
            )
            return (key.dataRepresentation, key.publicKey.x963Representation)
        }
        return NewKey(
            representation: representation,
            publicKey: publicKey,
            hardware: level,
            attestation: nil
        )
    }

    /// Checks that a key can be used.
    ///
    /// - Returns: nil, for any number of uses.
    /// - Throws: ``TouchstoneError`` with `invalidated` for a key that can never be used again.
    @discardableResult
    func checkKey(_ representation: Data, at place: KeyPlace) throws(TouchstoneError) -> Int? {
        if place.isOfSigning {
            _ = try signingKey(representation)
        } else {
            _ = try agreementKey(representation)
        }
        return nil
    }

    /// Asks the user for what the key's rule requires, then uses the key.
    func use(
        _ representation: Data,
        at place: KeyPlace,
        under rule: AccessRule,
        _ hardware: HardwareLevel,
        _ operation: KeyOperation
    ) throws(TouchstoneError) -> (KeyUseResult, Assurance) {
        try rule.checkLevel(try level())
        // The Secure Enclave does not know which keys were deleted; their records do.
        try checkIsKept(representation, at: place)
        let result: Data
        switch operation {
        case .sign(let message):
            // Load the key before the prompt: an invalidated key must not cause one.
            let key = try signingKey(representation)
            try askOnce(for: rule, .useKeySign)
            result = try unlocked { () throws in try key.signature(for: message).rawRepresentation }
        case .agree(let peer), .open(let peer):
            let key = try agreementKey(representation)
            try askOnce(for: rule, .useKeyKeyExchange)
            result = try unlocked { () throws in
                let peer = try P256.KeyAgreement.PublicKey(x963Representation: peer.x963Representation)
                let secret = try key.sharedSecretFromKeyAgreement(with: peer)
                return secret.withUnsafeBytes { Data($0) }
            }
        }
        // `biometryType` is set only after a call of `canEvaluatePolicy`.
        let context = session.context
        if rule.need.hasBiometry {
            _ = context.canEvaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, error: nil)
        }
        return (KeyUseResult(result), Assurance(ofKeyUnder: rule, context.biometryType, hardware))
    }

    private func askOnce(
        for rule: AccessRule,
        _ operation: LAAccessControlOperation
    ) throws(TouchstoneError) {
        guard rule.asks, let prompt else { return }
        try ask(for: try rule.control(forKey: true), operation, prompt)
    }

    private func signingKey(
        _ representation: Data
    ) throws(TouchstoneError) -> SecureEnclave.P256.Signing.PrivateKey {
        let context = session.context
        return try unlocked { () throws in
            try SecureEnclave.P256.Signing.PrivateKey(
                dataRepresentation: representation,
                authenticationContext: context
            )
        }
    }

    private func agreementKey(
        _ representation: Data
    ) throws(TouchstoneError) -> SecureEnclave.P256.KeyAgreement.PrivateKey {
        let context = session.context
        return try unlocked { () throws in
            try SecureEnclave.P256.KeyAgreement.PrivateKey(
                dataRepresentation: representation,
                authenticationContext: context
            )
        }
    }

    /// Runs an operation that needs an unlocked keychain but no item.
    ///
    /// - Throws: ``TouchstoneError``; `invalidated` if the key is not found, because it existed before.
    private func unlocked<R>(_ body: () throws -> R) throws(TouchstoneError) -> R {
        var result = Result { try body() }
        if case .failure(let error) = result, let prompt,
            TouchstoneError(system: error).code == .interactionNeeded
        {
            result = session.prompting(prompt) { Result { try body() } }
        }
        do {
            return try result.get()
        } catch {
            let error = TouchstoneError(system: error)
            throw error.code == .notFound ? .invalidatedItem : error
        }
    }
}

extension Assurance {
    /// What one use of a key is worth: the Secure Enclave used the key, so the user has met the key's rule.
    fileprivate init(ofKeyUnder rule: AccessRule, _ sensor: LABiometryType, _ hardware: HardwareLevel) {
        var facts: Set<Fact> = [.keyBound]
        if rule.asks, rule.reuse == .zero { facts.insert(.perUse) }
        var method: AuthenticationMethod?
        switch rule.need {
        case .biometry, .biometryAndPasscode:
            method = rule.need == .biometry ? AuthenticationMethod(sensor) ?? .unspecified : .unspecified
            facts.formUnion(Self.facts(ofShowing: .strongBiometry))
            if !rule.acceptsLaterEnrolments { facts.insert(.currentSet) }
            if rule.need == .biometryAndPasscode { facts.insert(.passcodeUsed) }
        case .passcode: (method, facts) = (.passcode, facts.union([.passcodeUsed]))
        // The system does not report which of the two was used.
        case .biometryOrPasscode: method = .unspecified
        case .whenUnlocked, .afterFirstUnlock: break
        }
        self.init(facts: facts, method: method, hardware: min(.ofThisDevice, hardware))
    }
}
