internal import CBOR
internal import KeychainClient
internal import KeychainModel
internal import SecretMemory

/// One use of a key by its user: the daemon asked for what the key demands, and told what was shown.
///
/// What was shown counts in a context of its own until ``end()``, so that the key's uses ask for nothing more.
struct VerifiedUse {
    let keychain: RemoteKeychain
    let key: EnclaveKey
    let context: UInt64
    let prompt: PromptFields
    /// What the daemon says was shown; empty for a key that demands nothing.
    let factors: Set<AuthenticationFactor>
    /// Ends the wait for the user.
    private let cancellation: Cancellation?

    /// Has the daemon ask the user.
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
            factors = []
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
            factors = try keychain.evaluateAccessControl(request, cancellation: cancellation).factors
        } catch {
            // The fingers are others than before: a key that is bound to those is gone, which reading it says.
            if error.cause == .enrolmentChanged {
                _ = try keychain.readKey(ReadKey(representation: key.representation, prompt: prompt))
            }
            throw error
        }
    }

    /// Forgets what was shown.
    func end() { try? keychain.invalidateContext(context) }

    /// Whether a person was verified: for the flag UV.
    var isVerified: Bool { !factors.isEmpty }

    /// The extension `uvm`: by what the person was verified, how the key is kept, and where it is compared
    /// (FIDO Registry of Predefined Values, sections 3.1 to 3.3; WebAuthn Level 2, section 10.3).
    ///
    /// Fingers are compared by fprintd, which does not tell whether in the sensor; passcodes by the daemon.
    var methods: CBORValue? {
        guard isVerified else { return nil }
        let keyProtection: CBORValue = .unsigned(key.isHardware ? 0x2 : 0x1)
        let entries = factors.sorted { $0.rawValue < $1.rawValue }.map { factor in
            let method: CBORValue = .unsigned(factor == .biometry ? 0x2 : 0x4)
            return CBORValue.array([method, keyProtection, .unsigned(0x1)])
        }
        return .map([CBORPair(.text("uvm"), .array(entries))])
    }

    /// r and s over a digest, 32 bytes each.
    func sign(_ digest: [UInt8]) throws(KeychainError) -> [UInt8] {
        let request = UseKey(
            representation: key.representation,
            use: .sign(digest: digest),
            context: isVerified ? context : nil,
            prompt: prompt
        )
        return try keychain.useKey(request, cancellation: cancellation).bytes()
    }

    /// What the chip says of the key; nil for a key of software.
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

extension SecretBytes {
    /// A copy: of a signature, or of the secret that goes to the attestation CA, neither of which is secret any more.
    consuming func bytes() -> [UInt8] { withOctets { octets in octets.indices.map { octets[$0] } } }
}
