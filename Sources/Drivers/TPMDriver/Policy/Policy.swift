import CTSS2
internal import Primitives

/// A policy's digest, computed as the TPM does (Part 3, "PolicyUpdate"), so that no trial session is needed.
///
/// Each step extends the digest; the session must execute the same steps in the same order.
struct Policy: Equatable {
    /// SHA-256.
    private(set) var digest = [UInt8](repeating: 0, count: 32)

    /// No policy: only the object's authorisation value is checked.
    static let none = Policy(digest: [])

    /// Requires an entity's authorisation value (`TPM2_PolicySecret`, without `policyRef`).
    func secret(of name: [UInt8]) -> Policy {
        var policy = self
        policy.extend(with: kTPM2_CC_PolicySecret, name)
        policy.digest = SHA256.digest(of: policy.digest)
        return policy
    }

    /// Requires the object's own authorisation value (`TPM2_PolicyAuthValue`).
    func authValue() -> Policy {
        var policy = self
        policy.extend(with: kTPM2_CC_PolicyAuthValue, [])
        return policy
    }

    /// Requires that the eight bytes of an index equal `value` (`TPM2_PolicyNV`, offset 0, `TPM2_EO_EQ`).
    func nv(_ name: [UInt8], equals value: UInt64) -> Policy {
        let arguments = SHA256.digest(
            of: value.bigEndianOctets + UInt16(0).bigEndianOctets + kTPM2_EO_EQ.bigEndianOctets
        )
        var policy = self
        policy.extend(with: kTPM2_CC_PolicyNV, arguments + name)
        return policy
    }

    /// Requires that the index in use was never written (`TPM2_PolicyNvWritten`).
    func neverWritten() -> Policy {
        var policy = self
        policy.extend(with: kTPM2_CC_PolicyNvWritten, [0])
        return policy
    }

    /// Requires one of two policies (`TPM2_PolicyOR`).
    func or(_ other: [UInt8]) -> Policy {
        var policy = Policy()
        policy.extend(with: kTPM2_CC_PolicyOR, digest + other)
        return policy
    }

    private mutating func extend(with command: TPM2_CC, _ octets: [UInt8]) {
        digest = SHA256.digest(of: digest + command.bigEndianOctets + octets)
    }
}

extension FixedWidthInteger {
    /// The bytes in big-endian order, as in the TPM's structures.
    var bigEndianOctets: [UInt8] {
        stride(from: Self.bitWidth - 8, through: 0, by: -8).map { UInt8(truncatingIfNeeded: self >> $0) }
    }

    /// Decodes big-endian bytes; nil if their number is not the size of the type.
    init?(bigEndianOctets octets: [UInt8]) {
        guard octets.count == Self.bitWidth / 8 else { return nil }
        self = octets.reduce(0) { $0 << 8 | Self($1) }
    }
}
