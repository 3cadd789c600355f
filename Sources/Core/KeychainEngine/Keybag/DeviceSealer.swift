internal import Glibc
public import KeychainModel
public import SecretMemory

/// Seals with the TPM if there is one, and opens both kinds of seals.
///
/// A keybag created in software stays in use as it is until its passcode is changed or it is migrated.
public struct DeviceSealer: KeySealer {
    private enum Kind: UInt8 {
        case file = 1
        case hardware = 2
    }

    private let file: FileKeySealer
    private let hardware: (any KeySealer)?
    private let obstacle: CInt?

    /// Seals with hardware if available; `obstacle` is the `errno` that says why it is not.
    public init(file: FileKeySealer, hardware: (any KeySealer)?, obstacle: CInt? = nil) {
        self.file = file
        self.hardware = hardware
        self.obstacle = obstacle
    }

    /// The strength of a seal and the reasons.
    public func assurance(of blob: [UInt8]?) async -> AssuranceReport {
        guard let blob else { return await (hardware ?? file).assurance(of: nil) }
        guard let (sealer, inner) = try? sealer(of: blob) else {
            return AssuranceReport(
                .softwareUser,
                reasons: ["The TPM that this keybag is sealed to is not there."]
            )
        }
        let report = await sealer.assurance(of: inner)
        guard blob.first == Kind.file.rawValue else { return report }
        let reason: String
        if hardware != nil {
            reason =
                "This machine has a TPM that the keybag does not use yet: `touchstone migrate` moves it there."
        } else if obstacle == EACCES || obstacle == EPERM {
            reason = "This machine has a TPM that this user may not open: it takes a member of the group tss."
        } else {
            return report
        }
        return AssuranceReport(report.assurance, reasons: report.reasons + [reason], chip: report.chip)
    }

    /// Whether a new seal would not be better.
    public func isBest(_ blob: [UInt8]) async -> Bool {
        guard let (sealer, inner) = try? sealer(of: blob) else { return false }
        guard hardware == nil || blob.first == Kind.hardware.rawValue else { return false }
        return await sealer.isBest(inner)
    }

    /// Seals a new secret with the best available sealer.
    public func seal(
        authorization: borrowing SecretBytes,
        for keychain: [UInt8]
    ) async throws(KeychainError) -> SealedDeviceSecret {
        let kind = hardware == nil ? Kind.file : .hardware
        let sealed = try await (hardware ?? file).seal(authorization: authorization, for: keychain)
        return SealedDeviceSecret(blob: [kind.rawValue] + sealed.blob, secret: sealed.secret.copy())
    }

    /// Unseals the secret of a blob of either kind.
    public func unseal(
        _ blob: [UInt8],
        authorization: borrowing SecretBytes
    ) async throws(KeychainError) -> SecretBytes {
        let (sealer, inner) = try sealer(of: blob)
        return try await sealer.unseal(inner, authorization: authorization)
    }

    /// The hardware's count of failures; nil for a blob sealed with a file.
    public func countedFailures(of blob: [UInt8]) async throws(KeychainError) -> Int? {
        let (sealer, inner) = try sealer(of: blob)
        return try await sealer.countedFailures(of: inner)
    }

    /// Seals with the file alone; nil if this sealer does so anyway.
    public var withoutHardware: (any KeySealer)? {
        hardware == nil ? nil : DeviceSealer(file: file, hardware: nil, obstacle: obstacle)
    }

    /// Whether a blob is sealed with hardware.
    public func isInHardware(_ blob: [UInt8]) -> Bool { blob.first == Kind.hardware.rawValue }

    /// Destroys what the hardware holds for a keychain besides the given blob.
    public func removeLeftovers(keeping blob: [UInt8]?, of keychain: [UInt8]) async throws(KeychainError) {
        let isHardware = blob.map(isInHardware) ?? false
        try await hardware?.removeLeftovers(
            keeping: isHardware ? blob.map { Array($0.dropFirst()) } : nil,
            of: keychain
        )
    }

    /// Destroys the secret that a blob of either kind stands for.
    public func destroy(_ blob: [UInt8]) async throws(KeychainError) {
        let (sealer, inner) = try sealer(of: blob)
        try await sealer.destroy(inner)
    }

    private func sealer(of blob: [UInt8]) throws(KeychainError) -> (any KeySealer, [UInt8]) {
        let inner = Array(blob.dropFirst())
        switch blob.first.flatMap(Kind.init) {
        case .file?: return (file, inner)
        case .hardware?:
            guard let hardware else { throw KeychainError(.decode, cause: .missingHardware, remedy: .check) }
            return (hardware, inner)
        case nil: throw KeychainError(.decode, cause: .damaged, remedy: .recover)
        }
    }
}
