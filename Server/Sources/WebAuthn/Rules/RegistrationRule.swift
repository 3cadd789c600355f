internal import WebAuthnModel

/// What a relying party wants of a new credential beyond the specification: one demand, with its reason.
public protocol RegistrationRule: Sendable {
    /// Why it is there, for people: in an answer to a user who is known, and in the audit record.
    var reason: String { get }

    /// Lets a registration pass.
    ///
    /// - Throws: ``WebAuthnError`` with `refusedByRule` when it does not.
    func check(_ registration: Registration) throws(WebAuthnError)
}

extension RegistrationRule {
    /// What a rule throws.
    public func refusal(_ cause: String) -> WebAuthnError {
        WebAuthnError(.refusedByRule, "\(Self.self)", "\(reason): \(cause)")
    }
}

/// Only certain models of authenticators.
public struct AllowedModels: RegistrationRule {
    /// Their AAGUIDs, 16 bytes each.
    public let aaguids: Set<[UInt8]>
    /// Why the rule is there.
    public let reason = "only certain models of authenticators are accepted"

    /// Allows these models.
    public init(_ aaguids: Set<[UInt8]>) { self.aaguids = aaguids }

    /// Lets a registration pass whose model is allowed, and vouched for by somebody who is trusted.
    public func check(_ registration: Registration) throws(WebAuthnError) {
        guard registration.attestation.isTrusted else {
            throw refusal("nobody who is trusted vouches for the model")
        }
        guard aaguids.contains(registration.aaguid) else { throw refusal("another model") }
    }
}

/// Only credentials that cannot be copied to other devices.
public struct NotBackedUp: RegistrationRule {
    /// Why the rule is there.
    public let reason = "a credential has to stay on its device"

    /// Makes the rule.
    public init() {}

    /// Lets a registration pass whose credential may not be backed up (flag BE).
    public func check(_ registration: Registration) throws(WebAuthnError) {
        guard !registration.flags.contains(.backupEligible) else { throw refusal("it may be backed up") }
    }
}

/// Only keys that a chip made and never lets go, attested by a certificate that leads to somebody who is trusted.
public struct HardwareBoundKey: RegistrationRule {
    /// Why the rule is there.
    public let reason = "the key has to be made in a chip and stay there"

    /// fixedTPM, fixedParent, sensitiveDataOrigin and sign.
    private static let demanded: TPMObjectAttributes = [.fixedTPM, .fixedParent, .sensitiveDataOrigin, .sign]

    /// Makes the rule.
    public init() {}

    /// Lets a registration pass whose attestation is trusted; a TPM's key needs the attributes that bind it too.
    public func check(_ registration: Registration) throws(WebAuthnError) {
        guard registration.attestation.isHardwareBound else {
            throw refusal("nobody who is trusted vouches for it")
        }
        guard let tpm = registration.attestation.tpm else { return }
        let area = tpm.publicArea
        guard area.nameAlgorithm == TPMHash.sha256 else { throw refusal("its name is not made with SHA-256") }
        guard area.attributes.isSuperset(of: Self.demanded) else {
            throw refusal(
                "attributes \(String(area.attributes.rawValue, radix: 16)) do not bind it to its chip"
            )
        }
        // A restricted key signs only what the chip itself made, so that it cannot have signed the client data.
        guard !area.attributes.contains(.restricted) else { throw refusal("it is a restricted key") }
    }
}

/// Only keys of a TPM whose every use has to fulfil a policy that the client tells: so that "the user was verified" is a
/// fact of the chip and not a flag.
public struct TPMKeyPolicy: RegistrationRule {
    /// Policies that are accepted.
    public let accepted: [[PolicyStepPattern]]
    /// Why the rule is there.
    public let reason = "the chip has to refuse the key's use without the user"

    /// Accepts policies of these shapes.
    public init(accepted: [[PolicyStepPattern]]) { self.accepted = accepted }

    /// Lets a registration pass whose `authPolicy` is the digest of the transcript, and the transcript of an accepted shape.
    public func check(_ registration: Registration) throws(WebAuthnError) {
        guard let area = registration.attestation.tpm?.publicArea, registration.attestation.isTrusted else {
            throw refusal("no TPM that is trusted vouches for it")
        }
        // With userWithAuth the authorisation value alone would do.
        guard !area.attributes.contains(.userWithAuth) else { throw refusal("its policy can be gone round") }
        guard let steps = registration.keyPolicy else { throw refusal("the client told no policy") }
        guard PolicyTranscript.digest(of: steps) == area.authPolicy else {
            throw refusal("the policy that the client told is not the key's")
        }
        guard accepted.contains(where: { PolicyStepPattern.matches(steps, $0) }) else {
            throw refusal("the key's policy is none of those that are accepted")
        }
    }
}
