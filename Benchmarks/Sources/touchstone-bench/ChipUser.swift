import CTPMLimit
import Glibc
import KeychainModel
import SecretMemory
import TPMDriver
import TouchstoneTesting

/// An operation of a keychain's chip.
enum ChipOperation: String, CaseIterable {
    case seal = "seal and unseal"
    case sign = "signature"
    case agree = "ECDH"
}

/// An implementation of the operations, with its own chip.
protocol ChipUser {
    /// Times one run, without the cleanup afterwards.
    func time(_ operation: ChipOperation) async throws -> Nanoseconds
    /// The number of commands that the chip receives for it, without the cleanup.
    func commandCount(_ operation: ChipOperation) async throws -> Int
}

/// The daemon's own driver.
struct DriverChip: ChipUser {
    private let chip: SoftwareTPM
    private let tpm: TPM
    private let key: HardwareKey

    /// The authorisation value of all objects.
    private static func authorization() -> SecretBytes {
        SecretBytes(copying: [UInt8](repeating: 7, count: 32))
    }

    static func start() async throws -> DriverChip {
        let chip = try await SoftwareTPM.start()
        let tpm = TPM(configuration: chip.tcti)
        let key = try await TPMPrivateKeys(tpm).makeKey(authorization: authorization())
        return DriverChip(chip: chip, tpm: tpm, key: key)
    }

    /// Closes the connection to the chip.
    func end() async { await tpm.close() }

    func time(_ operation: ChipOperation) async throws -> Nanoseconds { try await measured(operation).time }

    func commandCount(_ operation: ChipOperation) async throws -> Int {
        try await measured(operation).commands
    }

    private func measured(_ operation: ChipOperation) async throws -> (time: Nanoseconds, commands: Int) {
        let keys = TPMPrivateKeys(tpm)
        var sealed: [UInt8]?
        let before = await tpm.commandCount
        let begin = Stopwatch.now()
        switch operation {
        case .seal:
            let sealer = TPMKeySealer(tpm)
            let secret = try await sealer.seal(authorization: Self.authorization(), for: [])
            _ = try await sealer.unseal(secret.blob, authorization: Self.authorization())
            sealed = secret.blob
        case .sign:
            let digest = [UInt8](repeating: 1, count: 32)
            _ = try await keys.sign(digest: digest, with: key.blob, authorization: Self.authorization())
        case .agree:
            // Any point of the curve will do: the key's own.
            _ = try await keys.agree(with: key.publicKey, key: key.blob, authorization: Self.authorization())
        }
        let time = Stopwatch.now() - begin
        let commands = await tpm.commandCount - before
        if let sealed { try await TPMKeySealer(tpm).destroy(sealed) }
        return (time, commands)
    }
}

/// The same commands over one connection, and nothing else (`Sources/CTPMLimit`).
@safe
final class LimitChip: ChipUser {
    private let chip: SoftwareTPM
    private let limit: OpaquePointer

    private init(_ chip: SoftwareTPM, _ limit: OpaquePointer) {
        self.chip = chip
        unsafe self.limit = limit
    }

    deinit { unsafe tpm_limit_close(limit) }

    static func start() async throws -> LimitChip {
        let chip = try await SoftwareTPM.start()
        guard let limit = unsafe tpm_limit_open(chip.tcti) else {
            throw BenchError("the chip's limit does not start")
        }
        return unsafe LimitChip(chip, limit)
    }

    func time(_ operation: ChipOperation) throws -> Nanoseconds { try measured(operation).time }

    func commandCount(_ operation: ChipOperation) throws -> Int { try measured(operation).commands }

    private func measured(_ operation: ChipOperation) throws -> (time: Nanoseconds, commands: Int) {
        let before = unsafe tpm_limit_commands(limit)
        let begin = Stopwatch.now()
        switch operation {
        case .seal:
            try check(unsafe tpm_limit_seal(limit))
            try check(unsafe tpm_limit_unseal(limit))
        case .sign: try check(unsafe tpm_limit_sign(limit))
        case .agree: try check(unsafe tpm_limit_agree(limit))
        }
        let time = Stopwatch.now() - begin
        let commands = unsafe tpm_limit_commands(limit) - before
        if operation == .seal { try check(unsafe tpm_limit_remove(limit)) }
        return (time, Int(commands))
    }

    private func check(_ code: UInt32) throws {
        guard code == 0 else { throw BenchError("the chip's limit: 0x\(String(code, radix: 16))") }
    }
}
