/// A use of HKDF: its label is part of the derived key, so that no key has two uses.
///
/// Stored data depends on each text, whatever a case is called: none ever changes.
enum KeyLabel: String, CaseIterable {
    // MARK: From the device key

    case keybagCode = "keybag"
    case attemptsCode = "attempts"
    case deviceSecret = "device secret"
    case deviceSecretWrapping = "device secret wrapping"

    // MARK: The keybag

    case keybagPasscode = "keybag passcode"
    case sealAuthorization = "seal authorization"
    case passcodePrivateKey = "passcode private key"
    case keybagSeal = "keybag seal"
    case keybagRecovery = "keybag recovery"
    case passcodePrivateKeyRecovery = "passcode private key recovery"
    case enrolmentEpoch = "enrolment epoch"
    case enrolmentDigest = "enrolment digest"
    case epochEnds = "epoch ends"
    case domainState = "domain state"

    // MARK: Items, keys and exports

    /// Followed by a space and the way's mask (``ItemKeyWrap/Demand``).
    case itemKey = "item key"
    case passcodeConstraint = "passcode constraint"
    case secretMark = "secret mark"
    case softwarePrivateKey = "software private key"
    case export = "export"
    case backup = "backup"
}
