internal import Crypto
import SecretMemory

/// Authorisation values derived from a keybag's authorisation, one for each entity of the chip.
///
/// The library keeps the last one behind the key of each session until that authorises something else, and cannot
/// be told to wipe it; it is good for one entity of one chip, and tells nothing of what it was derived from.
enum AuthorizationValue {
    /// HKDF-SHA256 (RFC 5869) with a label for each use.
    ///
    /// The chip ignores zeros at the end of a value (Part 1, "authValue"); the last octet is made odd, so that there
    /// are none.
    static func derive(_ label: String, from authorization: borrowing SecretBytes) -> SecretBytes {
        let key = unsafe authorization.withUnsafeBytes { unsafe SymmetricKey(data: $0) }
        let derived = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: key,
            info: Array("touchstone 1 tpm \(label)".utf8),
            outputByteCount: 32
        )
        return SecretBytes(count: 32) { value in
            unsafe derived.withUnsafeBytes { octets in
                for position in octets.indices { unsafe value[position] = octets[position] }
            }
            value[31] |= 1
        }
    }
}
