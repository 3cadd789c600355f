internal import Primitives
import SecretMemory

/// Authorisation values derived from a keybag's authorisation, one for each TPM entity.
///
/// The library (tpm2-tss) keeps the last value next to the key of each session until that session authorises another
/// entity, and offers no way to wipe it. A value is valid for one entity of one TPM, and reveals nothing of its source.
enum AuthorizationValue {
    /// The entity, by the label in its value's derivation; keybags on chips depend on each text, so none ever changes.
    enum Entity: String, CaseIterable {
        case escrow = "escrow"
        case pin = "pin"
        case privateKey = "private key"
        case seal = "seal"
    }

    /// HKDF with a label for each entity.
    ///
    /// The TPM ignores trailing zeros in a value (Part 1, "authValue"); setting the lowest bit of the last byte avoids
    /// them.
    static func derive(_ entity: Entity, from authorization: borrowing SecretBytes) -> SecretBytes {
        let info = Array("touchstone 1 tpm \(entity.rawValue)".utf8)
        return unsafe SecretBytes(octetCount: 32) { value in
            unsafe authorization.withUnsafeBytes { authorization in
                unsafe HKDF.derive(from: authorization, salt: [], info: info, into: value)
            }
            unsafe value[31] |= 1
        }
    }
}
