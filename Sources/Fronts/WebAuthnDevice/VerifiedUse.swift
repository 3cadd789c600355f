internal import CBOR
internal import KeychainClient
internal import KeychainModel
internal import SecretMemory
internal import WebAuthnModel

/// One use of a key: the daemon has verified the user as the key's access control requires, and reported the
/// factors.
///
/// The verification is kept in a context of its own until ``end()``, so that uses of the key need no other
/// prompt.
struct VerifiedUse {
    let keychain: RemoteKeychain
    let key: EnclaveKey
    let context: UInt64
    let prompt: PromptFields
    /// The factors that the daemon verified; empty for a key without constraints.
    let factors: Set<AuthenticationFactor>
    /// The app's own digest of the enrolled fingers at this use; nil for a key without constraints, and while it is unknown.
    let enrolment: [UInt8]?
    /// Cancels the wait for the user.
    private let cancellation: Cancellation?

    /// Asks the user, with a prompt of the daemon.
    init(
        of key: EnclaveKey,
        _ keychain: RemoteKeychain,
        _ prompt: PromptFields,
        _ cancellation: Cancellation?
    ) throws(KeychainError) {
        self.keychain = keychain
        self.key = key
        self.prompt = prompt
        self.cancellation = cancellation
        context = keychain.makeContextNumber()
        guard !key.accessControl.constraints.isEmpty else {
            (factors, enrolment) = ([], nil)
            return
        }
        let request = EvaluateAccessControl(
            accessControl: key.accessControl,
            operation: Int64(AccessOperation.useKeySign.rawValue),
            context: context,
            reuseSeconds: 0,
            prompt: prompt
        )
        do throws(KeychainError) {
            let shown = try keychain.evaluateAccessControl(request, cancellation: cancellation)
            (factors, enrolment) = (shown.factors, shown.domainState)
        } catch {
            // The enrolled fingers changed: if the key is bound to the former ones, reading it throws the more
            // specific error.
            if error.cause == .enrolmentChanged {
                _ = try keychain.readKey(ReadKey(representation: key.representation, prompt: prompt))
            }
            throw error
        }
    }

    /// Discards the verification.
    func end() { try? keychain.invalidateContext(context) }

    /// Whether the user was verified: for the flag UV.
    var isVerified: Bool { !factors.isEmpty }

    /// The extension `uvm`: the method of user verification, the protection of the key, and the protection of
    /// the matcher (FIDO Registry of Predefined Values, sections 3.1 to 3.3; WebAuthn Level 2, section 10.3).
    ///
    /// Fingers are matched by fprintd, which does not report whether the sensor does it; passcodes by the
    /// daemon.
    var methods: CBORValue? {
        guard isVerified else { return nil }
        let keyProtection: CBORValue = .unsigned(key.isHardware ? 0x2 : 0x1)
        let entries = factors.sorted { $0.rawValue < $1.rawValue }.map { factor in
            let method: CBORValue = .unsigned(factor == .biometry ? 0x2 : 0x4)
            return CBORValue.array([method, keyProtection, .unsigned(0x1)])
        }
        return .map([CBORPair(.text("uvm"), .array(entries))])
    }

    /// Signs authenticator data and the hash of the client data.
    ///
    /// The daemon counts the signatures of the key and writes the number into the data that it signs. A key that was made by an earlier
    /// version has no number, and the counter stays 0.
    func sign(_ data: AuthenticatorData, _ clientDataHash: [UInt8]) throws(KeychainError) -> SignedData {
        let unsigned = data.encoded
        guard key.isCounted else {
            let digest = DeviceAuthenticator.hash(unsigned + clientDataHash)
            return SignedData(data: unsigned, signature: try use(.sign(digest: digest)))
        }
        let counter = AuthenticatorData.counterBytes
        let result = try use(
            .signCounted(
                before: Array(unsigned[..<counter.lowerBound]),
                after: unsigned[counter.upperBound...] + clientDataHash
            )
        )
        guard result.count > counter.count else { throw KeychainError(.internalComponent) }
        var signed = unsigned
        signed.replaceSubrange(counter, with: result.prefix(counter.count))
        return SignedData(data: signed, signature: Array(result.dropFirst(counter.count)))
    }

    private func use(_ use: KeyUse) throws(KeychainError) -> [UInt8] {
        let request = UseKey(
            representation: key.representation,
            use: use,
            context: isVerified ? context : nil,
            prompt: prompt
        )
        return try keychain.useKey(request, cancellation: cancellation).bytes()
    }

    /// The chip's attestation of the key; nil for a software key.
    func attest(_ qualifyingData: [UInt8]) throws(KeychainError) -> Attestation.Evidence? {
        let request = AttestKey(
            representation: key.representation,
            qualifyingData: qualifyingData,
            context: isVerified ? context : nil,
            prompt: prompt
        )
        return try keychain.attestKey(request, cancellation: cancellation).evidence
    }
}

/// Authenticator data as it was signed, and the signature: r and s, 32 bytes each.
struct SignedData {
    let data: [UInt8]
    let signature: [UInt8]
}

extension SecretBytes {
    /// Copies a signature or the secret for the attestation CA; neither needs protected memory.
    consuming func bytes() -> [UInt8] { withOctets { octets in octets.indices.map { octets[$0] } } }
}
