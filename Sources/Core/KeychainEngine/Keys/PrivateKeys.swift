public import KeychainModel
internal import Primitives
public import SecretMemory

/// The private keys of a keychain: they are sealed by its keybag, and used by hardware or software.
public final class PrivateKeys: KeyVault {
    private let keys: KeysInMemory
    private let items: SealedItems
    private let hardware: any PrivateKeyHardware
    private let attester: (any KeyAttester)?

    /// Without `hardware`, keys are made in software.
    init(
        _ keys: KeysInMemory,
        _ items: SealedItems,
        hardware: (any PrivateKeyHardware)?,
        attester: (any KeyAttester)?
    ) {
        self.keys = keys
        self.items = items
        self.hardware = hardware ?? SoftwarePrivateKeys()
        self.attester = attester
    }

    /// Creates a P-256 key without user authentication.
    public func makeKey(
        _ accessControl: AccessControl,
        group: AccessGroup,
        limits: KeyLimits,
        applicationPassword: ApplicationPassword?
    ) async throws(KeychainError) -> EnclaveKey {
        guard accessControl.flags.isEmpty || accessControl.flags.contains(.privateKeyUsage) else {
            throw KeychainError(.param, cause: .withoutKeyUsage)
        }
        _ = try keys.context(for: accessControl)
        let password = try await passwordKey(for: accessControl, applicationPassword, isNew: true)
        let authorization = Key.random()
        let made = try await hardware.makeKey(authorization: authorization.copy())
        guard made.blob.count <= HardwareKey.longestBlob,
            made.publicKey.count == HardwareKey.publicKeyOctetCount
        else { throw KeychainError(.internalComponent) }
        // The keybag may have been locked meanwhile.
        let context = try keys.context(for: accessControl)
        let record = try PrivateKeyRecord(
            made,
            isHardware: hardware.isHardware,
            authorization: authorization,
            accessControl: accessControl,
            group: group,
            limits: limits,
            password: password,
            in: context
        )
        return EnclaveKey(record, representation: try record.sealed(in: context), usesLeft: limits.uses)
    }

    /// Reads a representation without using the key.
    public func key(
        _ representation: [UInt8],
        groups: [AccessGroup]
    ) async throws(KeychainError) -> EnclaveKey {
        let record = try record(representation, in: groups).0
        return EnclaveKey(record, representation: representation, usesLeft: try items.usesLeft(of: record))
    }

    /// Uses a key, or returns the access control that must be satisfied first.
    public func use(
        _ representation: [UInt8],
        for use: KeyUse,
        groups: [AccessGroup],
        authorization: ItemAuthorization
    ) async throws(KeychainError) -> VaultOutcome<SecretBytes> {
        guard use.isWellFormed else { throw KeychainError(.param) }
        let record: PrivateKeyRecord
        let key: Key
        switch try await open(representation, use.operation, groups, authorization, for: use) {
        case .opened(let opened, let authorization): (record, key) = (opened, authorization)
        case .needs(let control): return .needsUser([control])
        }
        let count = try items.countUse(of: record)
        let result = try await result(of: use, number: count?.number ?? 0, with: record, key)
        return count?.isBehind == true ? .needsHardware(result) : .done(result)
    }

    private func result(
        of use: KeyUse,
        number: UInt32,
        with record: PrivateKeyRecord,
        _ key: Key
    ) async throws(KeychainError) -> SecretBytes {
        let blob = record.hardwareKey.blob
        let hardware = try maker(of: record)
        switch use {
        case .sign(let digest):
            let signature = try await hardware.sign(digest: digest, with: blob, authorization: key.copy())
            return SecretBytes(copying: signature)
        case .agree(let publicKey), .decrypt(let publicKey):
            return try await hardware.agree(with: publicKey, key: blob, authorization: key.copy())
        case .signCounted(let before, let after):
            let counted = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
            let digest = SHA256.digest(of: before + counted + after)
            let signature = try await hardware.sign(digest: digest, with: blob, authorization: key.copy())
            return SecretBytes(copying: counted + signature)
        }
    }

    /// Attests a key with the hardware.
    public func attest(
        _ representation: [UInt8],
        qualifyingData: [UInt8],
        groups: [AccessGroup],
        authorization: ItemAuthorization
    ) async throws(KeychainError) -> VaultOutcome<Attestation> {
        let record: PrivateKeyRecord
        let key: Key
        switch try await open(representation, .useKeySign, groups, authorization) {
        case .opened(let opened, let authorization): (record, key) = (opened, authorization)
        case .needs(let control): return .needsUser([control])
        }
        guard record.isHardware, let attester else {
            return .done(Attestation(publicKey: record.hardwareKey.publicKey, evidence: nil))
        }
        return .done(
            try await attester.attest(
                record.hardwareKey.blob,
                authorization: key.copy(),
                qualifyingData: qualifyingData
            )
        )
    }

    /// The identity of the attester for this machine's keys.
    public func attestationIdentity() async throws(KeychainError) -> AttestationIdentity {
        guard let attester else { throw KeychainError(.unimplemented) }
        return try await attester.attestationIdentity()
    }

    /// Decrypts a server's challenge with the attestation key.
    public func activate(_ challenge: ActivationChallenge) async throws(KeychainError) -> SecretBytes {
        guard let attester else { throw KeychainError(.unimplemented) }
        return try await attester.activate(challenge)
    }

    /// Has the attestation key sign what the machine was started with.
    public func quote(nonce: [UInt8]) async throws(KeychainError) -> BootQuote {
        guard let attester else { throw KeychainError(.unimplemented) }
        return try await attester.quote(nonce: nonce)
    }

    private enum Opening {
        /// The key's record, and the authorisation that the hardware needs for it.
        case opened(PrivateKeyRecord, Key)
        case needs(AccessControl)
    }

    /// Unwraps the authorisation that the hardware needs for a key, if the proofs suffice for the operation.
    private func open(
        _ representation: [UInt8],
        _ operation: AccessOperation,
        _ groups: [AccessGroup],
        _ authorization: ItemAuthorization,
        for use: KeyUse? = nil
    ) async throws(KeychainError) -> Opening {
        let (record, control) = try record(representation, in: groups)
        // Before the user is asked in vain.
        if let use {
            guard use.isCounted == record.limits.isCounted else { throw KeychainError(.param) }
            if let refusal = record.limits.refusal(at: items.wallClock()) { throw refusal }
            _ = try items.usesLeft(of: record)
        }
        // Check for a locked keybag before any prompt: the passcode that unlocks it may be all that the key needs.
        _ = try keys.context(for: control)
        switch control.decide(given: authorization.proofs, operation: operation) {
        case .granted: break
        case .needs: return .needs(control)
        case .denied(let error): throw KeychainError(error)
        }
        let password = try await passwordKey(for: control, authorization.applicationPassword, isNew: false)
        let key = try record.authorization(
            control,
            proofs: authorization.proofs(covering: control, for: operation),
            password: password,
            in: try keys.context(for: control)
        )
        return .opened(record, key)
    }

    /// Opens a representation and returns the present access control for its use.
    private func record(
        _ representation: [UInt8],
        in groups: [AccessGroup]
    ) throws(KeychainError) -> (PrivateKeyRecord, AccessControl) {
        let context = try keys.context()
        let record = try PrivateKeyRecord(representation, in: context)
        guard groups.contains(record.group) else { throw KeychainError(.decode, cause: .otherGroup) }
        guard try !items.hasEnded(record.id) else { throw .keyDeleted }
        _ = try maker(of: record)
        guard let control = record.accessControl(atEpoch: context.epoch) else {
            throw KeychainError(.itemNotFound, cause: .invalidated)
        }
        return (record, control)
    }

    /// The hardware or software that made a key; software keys made before there was hardware stay in use.
    private func maker(of record: PrivateKeyRecord) throws(KeychainError) -> any PrivateKeyHardware {
        if record.isHardware == hardware.isHardware { return hardware }
        guard !record.isHardware else { throw KeychainError(.decode, cause: .otherHardware) }
        return SoftwarePrivateKeys()
    }

    /// The application password's key; nil if none is needed.
    private func passwordKey(
        for control: AccessControl,
        _ password: ApplicationPassword?,
        isNew: Bool
    ) async throws(KeychainError) -> Key? {
        guard control.needsApplicationPassword else { return nil }
        guard let password else { throw isNew ? .newPasswordMissing : .passwordMissing }
        return try await keys.context().key(of: password)
    }
}

extension EnclaveKey {
    fileprivate init(_ record: PrivateKeyRecord, representation: [UInt8], usesLeft: UInt32?) {
        self.init(
            representation: representation,
            publicKey: record.hardwareKey.publicKey,
            accessControl: record.accessControl,
            isHardware: record.isHardware,
            usesLeft: usesLeft,
            isCounted: record.limits.isCounted
        )
    }
}
