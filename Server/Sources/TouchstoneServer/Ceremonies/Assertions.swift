internal import AccountStore
internal import CBOR
internal import Logging
internal import RelyingParty
internal import WebAuthn
internal import WebAuthnModel

/// Why an assertion is refused: for the audit record, never for the client.
struct AssertionRefusal: Error, Equatable {
    /// The key signed, and its term is over: the only refusal that the client is told.
    static let expired = Self(reason: "credential_expired")

    let reason: String
    var details = ""

    /// ``details`` as JSON for an audit record; empty: there are none.
    var auditDetails: String {
        guard !details.isEmpty else { return "" }
        return String(
            decoding: (try? CanonicalJSON.encode(["cause": .string(details)])) ?? [],
            as: UTF8.self
        )
    }

    /// Whether the assertion is valid, but not worth what is demanded.
    var isInsufficient: Bool { reason == Problem.Code.insufficientAssurance.rawValue }

    /// A valid assertion that is not worth what is demanded.
    static func insufficient(_ shortfall: String) -> AssertionRefusal {
        AssertionRefusal(reason: Problem.Code.insufficientAssurance.rawValue, details: shortfall)
    }
}

/// An assertion whose signature is verified; the store compares its counter.
struct VerifiedAssertion {
    let use: CredentialUse
    /// What it is worth.
    let assurance: ProvenAssurance
    /// What the device says of it, as JSON for the audit record; empty: nothing.
    let details: String
}

extension Service {
    /// Verifies the response of a login or a reauthentication.
    func verifyLogin(
        _ response: AuthenticationResponse,
        _ taken: ConsumedCeremony
    ) throws(AssertionRefusal) -> (Credential, VerifiedAssertion) {
        guard let credential = taken.credential else { throw AssertionRefusal(reason: "unknown_credential") }
        guard let text = try? JSONValue(parsing: Array(taken.ceremony.options.utf8)),
            let options = KeptOptions(text)
        else { throw AssertionRefusal(reason: "damaged_ceremony") }
        if let account = taken.ceremony.account, account != credential.account {
            throw AssertionRefusal(reason: "other_account")
        }
        let assertion = try verify(
            response,
            by: credential,
            challenge: options.challenge,
            allowed: options.credentials,
            isUserKnown: taken.ceremony.account != nil,
            openedAt: taken.ceremony.openedAt
        )
        return (credential, assertion)
    }

    /// Verifies an assertion by a known credential; the store compares the counter.
    func verify(
        _ response: AuthenticationResponse,
        by credential: Credential,
        challenge: [UInt8],
        allowed: [[UInt8]],
        isUserKnown: Bool,
        openedAt: Timestamp
    ) throws(AssertionRefusal) -> VerifiedAssertion {
        let start = ContinuousClock.now
        defer { metrics.assertionVerified(in: ContinuousClock.now - start) }
        do throws(WebAuthnError) {
            let authentication = try passkeys.verify(
                response,
                for: AuthenticationCeremony(challenge: challenge, allowedCredentials: allowed),
                record: credential.record,
                userHandle: credential.account.bytes,
                isUserKnown: isUserKnown
            )
            let userVerified = authentication.flags.contains(.userVerified)
            let statement = DeviceStatement(in: response.clientDataJSON)
            let use = CredentialUse(
                id: credential.id,
                signCount: authentication.record.signCount,
                userVerified: userVerified,
                backupEligible: authentication.record.backupEligible,
                backupState: authentication.record.backupState,
                openedAt: openedAt,
                statement: statement?.kept,
                change: statement?.change(since: credential.statement)
            )
            return VerifiedAssertion(
                use: use,
                assurance: ProvenAssurance(of: credential, userVerified: userVerified, statement),
                details: statement?.details(counter: use.signCount) ?? ""
            )
        } catch {
            throw AssertionRefusal(
                reason: error.reason.rawValue,
                details: String(error.description.prefix(256))
            )
        }
    }

    /// Records a refusal.
    func refuse(_ refusal: AssertionRefusal, _ credential: Credential?, _ call: Call) async {
        await audit(
            call.event(
                .loginFail,
                account: credential?.account,
                credential: credential?.id,
                reason: refusal.reason,
                details: refusal.auditDetails
            ),
            at: call.now
        )
    }
}

extension Credential {
    /// The record for the ceremonies.
    var record: CredentialRecord {
        CredentialRecord(
            id: id.bytes,
            publicKey: publicKey,
            signCount: signCount,
            transports: transports,
            uvInitialized: uvInitialized,
            backupEligible: backupEligible,
            backupState: backupState,
            isHardwareBound: isHardwareBound
        )
    }
}

/// The `amr` of a login by a credential (RFC 8176).
enum AuthenticationMethods {
    /// The methods of user verification, if the authenticator reports them in its signed data (extension `uvm`,
    /// registered with IANA; WebAuthn Level 2, section 10.3).
    static func amr(of credential: Credential, _ response: AuthenticationResponse) -> [String] {
        var methods = ["pop", credential.isHardwareBound ? "hwk" : "swk", "user"]
        guard let data = try? AuthenticatorData(parsing: response.authenticatorData),
            case .map(let pairs)? = data.extensions
        else { return methods }
        for pair in pairs where pair.key == .text("uvm") {
            guard case .array(let entries) = pair.value else { continue }
            for case .array(let factors) in entries {
                switch factors.first {
                case .unsigned(0x2): methods.append("fpt")
                case .unsigned(0x4): methods.append("pin")
                case .unsigned(0x10): methods.append("face")
                default: break
                }
            }
        }
        return methods
    }
}
