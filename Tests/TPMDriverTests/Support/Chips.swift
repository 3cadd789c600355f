import KeychainModel
import SecretMemory
import TPMDriver
import Testing
import TouchstoneTesting

extension SecretBytes {
    /// 32 equal bytes.
    static func fixed(_ octet: UInt8) -> SecretBytes {
        SecretBytes(copying: [UInt8](repeating: octet, count: 32))
    }

    /// A copy of the bytes, to search for or to compare in `#expect`.
    var octets: [UInt8] { withOctets { octets in octets.indices.map { octets[$0] } } }
}

extension [UInt8] {
    /// The identifier of the keychain under test, and of a neighbour's.
    static let ours = [UInt8](repeating: 1, count: 16)
    static let theirs = [UInt8](repeating: 2, count: 16)
}

extension KeySealer {
    /// Seals for the keychain under test.
    func seal(authorization: borrowing SecretBytes) async throws(KeychainError) -> SealedDeviceSecret {
        try await seal(authorization: authorization, for: .ours)
    }
}

extension HardwareGuard {
    /// Creates counters of the keychain under test.
    func makeEpoch() async throws(KeychainError) -> SealedDeviceSecret { try await makeEpoch(for: .ours) }

    func makeGeneration() async throws(KeychainError) -> (counter: [UInt8], value: UInt64) {
        try await makeGeneration(for: .ours)
    }
}

extension TPM {
    /// Connects to a simulator's socket.
    init(_ chip: SoftwareTPM) { self.init(configuration: chip.tcti) }
}

/// The error that `body` throws; records an issue if there is none.
func failure(
    at location: SourceLocation = #_sourceLocation,
    of body: () async throws -> Void
) async -> KeychainError {
    let error = await #expect(throws: KeychainError.self, sourceLocation: location) { try await body() }
    return error ?? KeychainError(.success)
}

extension TPMKeySealer {
    /// Tries an authorisation, and discards the secret.
    func open(_ blob: [UInt8], _ octet: UInt8) async throws {
        _ = try await unseal(blob, authorization: .fixed(octet))
    }
}
