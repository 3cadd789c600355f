internal import Primitives

/// What a keychain's indices carry in their definition, so that the chip itself tells whose they are.
///
/// The digest of the keychain's permanent identifier. As a policy it cannot be satisfied: no steps with this digest are
/// known, so it permits nothing.
struct KeychainLabel: Hashable {
    /// 32 bytes.
    let octets: [UInt8]

    /// The label of a keychain.
    init(of keychain: [UInt8]) {
        octets = SHA256.digest(of: Array("touchstone 1 tpm keychain ".utf8) + keychain)
    }

    /// A label as stored.
    init?(octets: [UInt8]) {
        guard octets.count == 32 else { return nil }
        self.octets = octets
    }

    /// A policy that needs the same steps as `policy`, and carries the label.
    func alternative(to policy: Policy) -> Policy { policy.or(octets) }
}
