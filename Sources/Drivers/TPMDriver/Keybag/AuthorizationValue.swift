internal import Primitives
import SecretMemory

/// Authorisation values derived from a keybag's authorisation, one for each entity of the chip.
///
/// The library keeps the last one behind the key of each session until that authorises something else, and cannot
/// be told to wipe it; it is good for one entity of one chip, and tells nothing of what it was derived from.
enum AuthorizationValue {
    /// HKDF with a label for each use.
    ///
    /// The chip ignores zeros at the end of a value (Part 1, "authValue"); the last byte is made odd, so that there
    /// are none.
    static func derive(_ label: String, from authorization: borrowing SecretBytes) -> SecretBytes {
        let info = Array("touchstone 1 tpm \(label)".utf8)
        return unsafe SecretBytes(octetCount: 32) { value in
            unsafe authorization.withUnsafeBytes { authorization in
                unsafe HKDF.derive(from: authorization, salt: [], info: info, into: value)
            }
            unsafe value[31] |= 1
        }
    }
}
