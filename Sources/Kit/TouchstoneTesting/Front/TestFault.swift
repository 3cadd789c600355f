/// Something that goes wrong on the machine of a ``TemporaryKeychain``, on its real parts.
public struct TestFault: Sendable, Hashable {
    enum Kind: Hashable {
        case unplug, replug, daemonCrash, chipLockout, chipSwap, diskFull, damage
        case lock, suspend, removePasscode, deny
    }

    let kind: Kind

    /// The reader is pulled out; while a prompt waits for a finger, in the middle of the scan.
    public static let unplug = TestFault(kind: .unplug)
    /// The reader is plugged in again, with the fingers that were enrolled.
    public static let replug = TestFault(kind: .replug)
    /// The daemon is killed (`SIGKILL`) and started anew; the keychain is locked then.
    public static let daemonCrash = TestFault(kind: .daemonCrash)
    /// The TPM takes no more guesses, after real failed authorisations; the keychain is locked.
    public static let chipLockout = TestFault(kind: .chipLockout)
    /// Another TPM is in the machine; the keychain is locked.
    public static let chipSwap = TestFault(kind: .chipSwap)
    /// No byte more fits on the disk of the keychain, which stays unlocked; needs root, for a small tmpfs.
    public static let diskFull = TestFault(kind: .diskFull)
    /// Bytes of the stored items are flipped; the keychain is locked.
    public static let damage = TestFault(kind: .damage)
    /// The keychain is locked.
    public static let lock = TestFault(kind: .lock)
    /// The machine goes to sleep and wakes up (`PrepareForSleep` of logind): open prompts end, successes are forgotten.
    public static let suspend = TestFault(kind: .suspend)
    /// There is no passcode any more, and with it nothing that it protected: as before the set-up.
    public static let removePasscode = TestFault(kind: .removePasscode)
    /// polkit does not let the user verify fingers any more.
    public static let deny = TestFault(kind: .deny)
}
