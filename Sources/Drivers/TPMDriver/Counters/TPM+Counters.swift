import CTSS2
import KeychainModel
import SecretMemory

// MARK: - Epochs

extension TPM {
    /// See ``TPMHardwareGuard/makeEpoch(for:)``.
    func makeEpoch(for label: KeychainLabel) throws(KeychainError) -> SealedDeviceSecret {
        do throws(TPMError) {
            return try withConnection { connection throws(TPMError) in
                try withNewCounter(.epoch, of: label, on: connection) { index, value throws(TPMError) in
                    try connection.sealEpoch(index, value, label)
                }
            }
        } catch {
            throw KeychainError(error)
        }
    }

    /// See ``TPMHardwareGuard/nextEpoch(after:)``; if it runs twice, the counter advances by two.
    func nextEpoch(after octets: [UInt8]) throws(KeychainError) -> SealedDeviceSecret {
        do throws(TPMError) {
            let (blob, index) = try Self.counter(octets, .epoch)
            return try withConnection { connection throws(TPMError) in
                try connection.invalidating(blob) { () throws(TPMError) in
                    try connection.withIndex(index) { handle throws(TPMError) in
                        try connection.increment(handle)
                        return try connection.sealEpoch(index, try connection.count(handle), blob.label)
                    }
                }
            }
        } catch {
            throw KeychainError(error)
        }
    }

    /// See ``TPMHardwareGuard/openEpoch(_:)``.
    func openEpoch(_ octets: [UInt8]) throws(KeychainError) -> SecretBytes {
        do throws(TPMError) {
            let (blob, index) = try Self.counter(octets, .epoch)
            guard let object = blob.object, let value = blob.value else { throw .damaged }
            return try withConnection { connection throws(TPMError) in
                try connection.invalidating(blob) { () throws(TPMError) in
                    try connection.withIndex(index) { counter throws(TPMError) in
                        try connection.withPolicySession { policy throws(TPMError) in
                            try connection.policy(policy, counter, equals: value)
                            return try connection.withLoaded(object) { object throws(TPMError) in
                                try connection.setUse(of: policy, .answer)
                                return try connection.unseal(object, policy)
                            }
                        }
                    }
                }
            }
        } catch {
            throw KeychainError(error)
        }
    }
}

// MARK: - Generations

extension TPM {
    /// See ``TPMHardwareGuard/makeGeneration(for:)``.
    func makeGeneration(
        for label: KeychainLabel
    ) throws(KeychainError) -> (counter: [UInt8], value: UInt64) {
        do throws(TPMError) {
            return try withConnection { connection throws(TPMError) in
                try withNewCounter(.generation, of: label, on: connection) { index, value throws(TPMError) in
                    let blob = TPMBlob(
                        kind: .generation,
                        primaryName: connection.primaryName,
                        index: index.handle,
                        label: label
                    )
                    return (blob.encoded(), value)
                }
            }
        } catch {
            throw KeychainError(error)
        }
    }

    /// See ``TPMHardwareGuard/generation(_:)``.
    func generation(_ octets: [UInt8]) throws(KeychainError) -> UInt64 {
        try withGeneration(octets) { connection, counter throws(TPMError) in try connection.count(counter) }
    }

    /// See ``TPMHardwareGuard/advanceGeneration(_:)``.
    func advanceGeneration(_ octets: [UInt8]) throws(KeychainError) -> UInt64 {
        var target: UInt64?
        return try withGeneration(octets) { connection, counter throws(TPMError) in
            let value = try connection.count(counter)
            // The second run: the command was executed, but its response was lost.
            if let target, value >= target { return value }
            target = value + 1
            try connection.increment(counter)
            return value + 1
        }
    }

    private func withGeneration(
        _ octets: [UInt8],
        _ body: (TPMConnection, ESYS_TR) throws(TPMError) -> UInt64
    ) throws(KeychainError) -> UInt64 {
        do throws(TPMError) {
            let (blob, index) = try Self.counter(octets, .generation)
            return try withConnection { connection throws(TPMError) in
                guard connection.primaryName == blob.primaryName else { throw .otherHardware }
                return try connection.withIndex(index) { counter throws(TPMError) in
                    try body(connection, counter)
                }
            }
        } catch {
            throw KeychainError(error == .missingIndex ? .otherHardware : error)
        }
    }
}

// MARK: - Counters

extension TPM {
    /// Creates a counter and increments it once, because before that it has no value.
    private func withNewCounter<R: ~Copyable>(
        _ kind: TPMBlob.Kind,
        of label: KeychainLabel,
        on connection: TPMConnection,
        _ body: (NVIndex, UInt64) throws(TPMError) -> R
    ) throws(TPMError) -> R {
        let none = SecretBytes(copying: [])
        return try withNewIndex(kind, of: label, on: connection, authorization: none, NVIndex.counter) {
            index throws(TPMError) in
            guard let handle = connection.indices[index.handle] else { throw .missingIndex }
            try connection.increment(handle)
            return try body(index, try connection.count(handle))
        }
    }

    private static func counter(
        _ octets: [UInt8],
        _ kind: TPMBlob.Kind
    ) throws(TPMError) -> (TPMBlob, NVIndex) {
        let blob = try TPMBlob(octets, kind)
        guard let index = blob.definition else { throw .damaged }
        return (blob, index)
    }
}

extension TPMConnection {
    /// Increments a counter (`TPM2_NV_Increment`).
    func increment(_ counter: ESYS_TR) throws(TPMError) {
        let session = try session()
        try send {
            unsafe Esys_NV_Increment($0.pointer, counter, counter, session, ESYS_TR_NONE, ESYS_TR_NONE)
        }
    }

    /// Reads a counter's value (`TPM2_NV_Read`).
    fileprivate func count(_ counter: ESYS_TR) throws(TPMError) -> UInt64 {
        var data: UnsafeMutablePointer<TPM2B_MAX_NV_BUFFER>?
        let session = try session(.answer)
        try send {
            unsafe Esys_NV_Read(
                $0.pointer,
                counter,
                counter,
                session,
                ESYS_TR_NONE,
                ESYS_TR_NONE,
                NVIndex.byteCount,
                0,
                &data
            )
        }
        guard let value = UInt64(bigEndianOctets: unsafe TPM2B.take(data)) else { throw .damaged }
        return value
    }

    /// Lets a policy session continue only while the counter has a value (`TPM2_PolicyNV`).
    func policy(
        _ policy: ESYS_TR,
        _ counter: ESYS_TR,
        equals value: UInt64
    ) throws(TPMError) {
        var operand = TPM2B_OPERAND()
        try TPM2B.set(&operand, value.bigEndianOctets)
        let session = try session()
        try sendStep(handles: 3) {
            unsafe Esys_PolicyNV(
                $0.pointer,
                counter,
                counter,
                policy,
                session,
                ESYS_TR_NONE,
                ESYS_TR_NONE,
                &operand,
                0,
                kTPM2_EO_EQ
            )
        }
    }

    /// Creates a secret that opens only while the counter has this value.
    fileprivate func sealEpoch(
        _ index: NVIndex,
        _ value: UInt64,
        _ label: KeychainLabel?
    ) throws(TPMError) -> SealedDeviceSecret {
        let secret = SecretBytes.random(count: 32)
        let area = try Self.sealedData(
            policy: Policy().nv(index.name, equals: value),
            isGuessLimited: false
        )
        let object = try create(area, authorization: SecretBytes(copying: []), data: secret)
        let blob = TPMBlob(
            kind: .epoch,
            primaryName: primaryName,
            index: index.handle,
            object: object,
            value: value,
            label: label
        )
        return SealedDeviceSecret(blob: blob.encoded(), secret: secret)
    }

    /// Runs commands on an epoch: another chip, a missing counter and an advanced one all invalidate it.
    fileprivate func invalidating<R: ~Copyable>(
        _ blob: TPMBlob,
        _ body: () throws(TPMError) -> R
    ) throws(TPMError) -> R {
        guard primaryName == blob.primaryName else { throw .invalidated }
        do throws(TPMError) {
            return try body()
        } catch {
            throw error == .missingIndex || error.tpmError == ResponseCode.policy ? .invalidated : error
        }
    }
}
