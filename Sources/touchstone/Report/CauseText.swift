import KeychainModel

/// What lies under an error, where it says more than the error's own status: the daemon's names in words.
enum CauseText {
    /// The lines for a cause; nil where the status says it better.
    static func lines(_ cause: DriverCause, _ name: ItemName?) -> ErrorText.Lines? {
        switch cause.domain {
        case "keybag": keybag(cause.code)
        case "prompt": prompt(cause.code)
        case "export": export(cause)
        case "store" where cause == .rolledBack:
            (
                "the store is an older copy of itself: the TPM counted further",
                "put the newer one back, or accept this one with the recovery code: touchstone recover"
            )
        case "store" where cause == .logDamaged:
            (
                "the log of the last changes is damaged; nothing was written over",
                "touchstone repair shows and saves what it holds"
            )
        case "store" where cause == .setDamaged:
            (
                "the record of all secrets is damaged: nothing says which of them are the newest",
                "touchstone repair"
            )
        case "tpm": hardware(cause)
        case "system" where cause.code == "noHome":
            ("the environment names no home directory, and the keychain is in it", "set HOME")
        case _ where cause.isFullDisk: ("the disk is full; nothing was changed", nil)
        case _ where cause.isUnwritableDisk:
            (
                "the keychain's disk can only be read (\(cause.code)); nothing was changed, and no passcode or finger can be counted",
                "make it writable (mount -o remount,rw MOUNTPOINT), then try again"
            )
        case "system" where cause.code == "EIO":
            (
                "the keychain's disk fails (EIO)",
                "copy the data directory elsewhere, and check the disk (dmesg)"
            )
        case "touchstoned": ("the daemon did not start (\(cause.code))", "touchstone doctor")
        case "touchstone": item(cause, name) ?? attempt(cause.code) ?? connection(cause.code)
        default: nil
        }
    }

    private static func keybag(_ code: String) -> ErrorText.Lines? {
        switch code {
        case DriverCause.closed.code: ("ten wrong passcodes have closed the keychain", "touchstone recover")
        case DriverCause.notSetUp.code: ("there is no keychain yet", "touchstone setup")
        case DriverCause.locked.code:
            ("the keychain is locked, and the passcode cannot be asked for here", "touchstone unlock")
        case DriverCause.alreadySetUp.code: ("there is a keychain already", "touchstone status")
        case "recoveryCode": ("that is not the recovery code", "try again with the code noted at set-up")
        case "recovery code mistyped": ("the recovery code was mistyped", "try again")
        default: nil
        }
    }

    private static func export(_ cause: DriverCause) -> ErrorText.Lines? {
        switch cause {
        case .exportDamaged:
            (
                "the export is damaged or not whole; nothing was made",
                "take another copy of it, or make it anew"
            )
        case .notAnExport:
            (
                "the file is no export of a keychain",
                "touchstone migrate --export FILE makes one, on the other machine"
            )
        case .newerExport: ("a newer version made the export", "install that version here")
        case .exportParts: ("the daemon went away in the middle; nothing was made", "try again")
        default: nil
        }
    }

    private static func hardware(_ cause: DriverCause) -> ErrorText.Lines? {
        switch cause {
        case .otherHardware:
            (
                "the keychain is sealed to another TPM, or this one was cleared",
                "open it with the recovery code: touchstone recover"
            )
        case .missingHardware:
            (
                "the keychain is sealed to this machine's TPM, which cannot be reached",
                "touchstone doctor; without that TPM the recovery code opens it: touchstone recover"
            )
        case .exhausted:
            ("the TPM refuses passcodes after ten wrong ones", "touchstone recover")
        case .chipLockout:
            ("the TPM refuses all guesses for a while", "wait, then try again; see: touchstone doctor")
        case .missingIndex:
            ("the TPM's record of this keychain was removed", "touchstone recover")
        case .silentHardware:
            (
                "the TPM does not answer; no passcode was tried or counted against you",
                "try again; if it stays silent, restart the machine"
            )
        case .ownerAuthorizationSet:
            (
                "the TPM's owner authorization is set: no key can be made in it",
                "remove it (tpm2_changeauth -c owner), or seal without the TPM: tpm = off; see touchstoned(8)"
            )
        default: ("the TPM refused (\(cause.code))", "touchstone doctor")
        }
    }

    private static func prompt(_ code: String) -> ErrorText.Lines? {
        switch code {
        case "prompterMissing":
            ("no program draws the prompt", "install pinentry: \(PackageManager.command(for: .pinentry))")
        case "inBackground":
            (
                "it runs in the background, where a prompt would take the shell's keys",
                "bring it to the foreground with fg"
            )
        case "prompterFailed": ("the program that draws the prompt failed", "touchstone doctor")
        default: nil
        }
    }

    private static func item(_ cause: DriverCause, _ name: ItemName?) -> ErrorText.Lines? {
        let subject = name.map { "'\($0.text)'" } ?? "the secret"
        switch cause {
        case .invalidated:
            return (
                "\(subject) is gone for good: it demanded the fingers enrolled when it was stored, and they changed",
                name.map { "store it again: touchstone set \($0.text) --replace" }
            )
        case .damaged:
            return (
                "\(subject) or its keychain is damaged",
                "touchstone repair shows what is wrong, by name; touchstone doctor checks every part"
            )
        case _ where cause.owner != nil:
            let owner = cause.owner ?? ""
            return (
                "there is no \(name.map { "secret named '\($0.text)'" } ?? "such secret") here; \(owner) keeps one of that name",
                "if that is this program before it was moved or updated: touchstone apps move OLD NEW"
            )
        default: return nil
        }
    }

    private static func attempt(_ code: String) -> ErrorText.Lines? {
        switch code {
        case "timeout": ("nobody answered the prompt in time", "try again")
        case "tooManyPrompts": ("too many requests wait for their prompt", "try again when they have ended")
        case "promptRate": ("too many prompts ended without success within a minute", nil)
        case "callerSilenced": ("its prompts were cancelled again and again: none for a minute", nil)
        case "passcodeDelayed": ("after wrong passcodes, the next one may not be tried yet", nil)
        case "passcodeDue": ("the passcode is due before a finger counts again", "touchstone unlock")
        case "enrolmentChanged":
            ("the enrolled fingers changed: the passcode is due before a finger counts", "touchstone unlock")
        case "suspended": ("the machine is about to sleep", "try again")
        case "attemptsUnavailable":
            ("the counts of failed attempts cannot be saved, so nothing may be tried", "touchstone doctor")
        case "weakPasscode": ("the passcode is too weak", "choose at least 12 characters, or 5 words")
        default: nil
        }
    }

    /// The client library's own causes.
    private static func connection(_ code: String) -> ErrorText.Lines? {
        switch code {
        case "daemonMissing":
            let hint = "install touchstoned beside touchstone, or name it in TOUCHSTONE_DAEMON"
            return ("the daemon, touchstoned, is not installed", hint)
        case _ where code.hasPrefix("daemonUnsafe: "):
            let path = code.dropFirst("daemonUnsafe: ".count)
            return (
                "others can change the daemon that TOUCHSTONE_DAEMON names: \(path)",
                "it and its directories must be this user's or root's, and writable by nobody else: chmod go-w"
            )
        case _ where code.hasPrefix("foreignDaemon"):
            return ("the daemon's socket belongs to somebody else (\(code))", "touchstone doctor")
        case _ where code.hasPrefix("socketPlace: "):
            return (
                "the daemon's socket cannot be where the environment says: \(code.dropFirst("socketPlace: ".count))",
                "unset XDG_RUNTIME_DIR, or take this user's environment: sudo -i -u USER, su -"
            )
        case _ where code.hasPrefix("connectionLost"):
            return ("the daemon went away (\(code))", "try again")
        case _ where code.hasPrefix("runtimeDirectory"):
            return ("the daemon's directory cannot be used (\(code))", "touchstone doctor")
        case DriverCause.tooManyConnections.code:
            return (
                "too many connections: the daemon serves 256 of a user at a time",
                "end programs that use the keychain, then try again"
            )
        case "promptText": return ("the text for the prompt is too long", nil)
        case "resultTooLarge": return ("the result needs more locked memory than there is", nil)
        default: return nil
        }
    }
}

extension DriverCause {
    /// The daemon's disk is full, by the system's word or SQLite's (13 is `SQLITE_FULL`).
    var isFullDisk: Bool {
        switch domain {
        case "system": code == "ENOSPC" || code == "EDQUOT"
        case "sqlite": code == "13"
        default: false
        }
    }

    /// The daemon's disk can only be read, by the system's word or SQLite's (8 is `SQLITE_READONLY`, in the low 8 bits).
    var isUnwritableDisk: Bool {
        switch domain {
        case "system": ["EROFS", "EACCES", "EPERM"].contains(code)
        case "sqlite": Int(code).map { $0 & 0xFF == 8 } ?? false
        default: false
        }
    }

    /// There is a keybag already.
    static let alreadySetUp = DriverCause(domain: "keybag", code: "alreadySetUp")
}
