/// Something that goes wrong on the machine of a ``TemporaryKeychain``, on its real parts.
public struct TestFault: Sendable, Hashable {
    enum Kind: Hashable {
        case unplug, replug, daemonCrash, chipLockout, chipSwap, diskFull, damage
        case lock, suspend, removePasscode, deny
    }

    let kind: Kind

    /// The reader is unplugged; if a prompt waits for a finger, in the middle of the scan.
    public static let unplug = TestFault(kind: .unplug)
    /// The reader is plugged in again, with the previously enrolled fingers.
    public static let replug = TestFault(kind: .replug)
    /// The daemon is killed (`SIGKILL`) and started again; the keychain is then locked.
    public static let daemonCrash = TestFault(kind: .daemonCrash)
    /// The TPM is in dictionary-attack lockout, after real failed authorisations; the keychain is locked.
    public static let chipLockout = TestFault(kind: .chipLockout)
    /// The machine has another TPM; the keychain is locked.
    public static let chipSwap = TestFault(kind: .chipSwap)
    /// The keychain's disk is full to the last byte, and the keychain stays unlocked; needs root, for a small tmpfs.
    public static let diskFull = TestFault(kind: .diskFull)
    /// Bytes of the stored items are flipped; the keychain is locked.
    public static let damage = TestFault(kind: .damage)
    /// The keychain is locked.
    public static let lock = TestFault(kind: .lock)
    /// The machine goes to sleep and wakes up (logind's `PrepareForSleep`): open prompts end, successes are forgotten;
    /// the keychain stays unlocked, as with the daemon's setting `lock-on = never`.
    public static let suspend = TestFault(kind: .suspend)
    /// The passcode is removed together with everything it protected: the keychain is as before the set-up.
    public static let removePasscode = TestFault(kind: .removePasscode)
    /// polkit no longer lets the user verify fingers.
    public static let deny = TestFault(kind: .deny)
}
