import KeychainModel

/// The daemon's causes of an error in words, where they say more than the error's status.
enum CauseText {
    /// What to do about a broker that does not answer.
    static let brokerHint =
        "as root: systemctl start touchstone-broker.socket; why it ended: systemctl status touchstone-broker"

    /// The lines for a cause; nil if the status says it better.
    static func lines(_ cause: DriverCause, _ name: ItemName?) -> ErrorText.Lines? {
        if let known = cause.known { return lines(known, cause, name) }
        return switch cause.domain {
        case "tpm": ("the TPM refused (\(cause.code))", "touchstone doctor")
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
        case "touchstoned":
            MissingLibrary(in: cause.code).map {
                ("the daemon did not start: the library \($0.name) is missing", $0.remedy)
            } ?? ("the daemon did not start (\(cause.code))", "touchstone doctor")
        default: nil
        }
    }

    /// The lines for a known cause; no hint if the error's remedy says how long to wait.
    private static func lines(_ known: KnownCause, _ cause: DriverCause, _ name: ItemName?) -> ErrorText.Lines
    {
        let why = cause.detail ?? "no reason given"
        let subject = name.map { "'\($0.text)'" } ?? "the secret"
        return switch known {
        case .invalidated:
            (
                "\(subject) is lost: it required the fingers enrolled when it was stored, and the enrolled fingers have changed",
                name.map { "store it again: touchstone set --replace \(ShellWord.argument($0.text))" }
                    ?? "touchstone list"
            )
        case .deleted: ("the private key was deleted", "make another one")
        case .notYetValid: ("the private key may not be used yet", nil)
        case .expired: ("the private key has expired", "make another one")
        case .usedUp: ("the private key was used as often as it may be", "make another one")
        case .noCurrentSet:
            ("no finger is enrolled that the keychain knows of", "fprintd-enroll, then touchstone unlock")
        case .damaged:
            (
                "\(subject) or its keychain is damaged",
                "touchstone repair shows what is wrong, by name; touchstone doctor checks every part"
            )
        case .owned:
            (
                "there is no \(name.map { "secret named '\($0.text)'" } ?? "such secret") here; \(why) keeps one of that name",
                "if that is this program before it was moved or updated: touchstone apps move OLD NEW"
            )
        case .withoutKeyUsage:
            ("the new private key would not be usable", "add privateKeyUsage to its flags")
        case .otherGroup: ("the key belongs to another access group", "touchstone apps")
        case .enrolmentChanged:
            (
                "the enrolled fingers have changed: enter the passcode before using a finger",
                "touchstone unlock"
            )
        case .fingersOff:
            (
                "fingers are switched off for this program",
                "touchstone apps lists for which; touchstone apps fingers PROGRAM on"
            )
        case .changeDelayed: ("theft protection is on, so this change has to wait", nil)
        case .fingersDelayed: ("theft protection is on, so the changed fingers do not count yet", nil)
        case .placeRefused: ("this network cannot be a trusted place: \(why)", "touchstone theft-protection")
        case .sensorUnsafe:
            (
                "the fingerprint sensor has a known hole, so no finger on it counts",
                "update its firmware; touchstone doctor shows who says so; see SENSORS in touchstoned(8)"
            )
        case .sensorTooWeak:
            (
                "the fingerprint sensor is too weak for this",
                "touchstone doctor shows its grade; see SENSORS in touchstoned(8)"
            )
        case .timeout: ("nobody answered the prompt in time", "try again")
        case .tooManyPrompts: ("too many requests wait for their prompt", "try again when they have ended")
        case .guessRate:
            ("too many wrong passwords were compared; nothing was changed", "try again in a minute")
        case .promptRate: ("too many prompts ended without success within a minute", nil)
        case .callerSilenced: ("its prompts were cancelled repeatedly; it gets none for a minute", nil)
        case .passcodeDelayed: ("too many wrong passcodes: the next attempt is not allowed yet", nil)
        case .passcodeDue: ("enter the passcode before using a finger again", "touchstone unlock")
        case .suspended: ("the machine is about to sleep", "try again")
        case .sessionInactive:
            (
                "another session is active on this screen, so nobody would see the prompt",
                "switch back to the session in which you started it, and try again"
            )
        case .attemptsUnavailable:
            ("failed attempts cannot be recorded, so no attempt is allowed", "touchstone doctor")
        case .weakPasscode: ("the passcode is too weak", "choose at least 12 characters, or 5 words")
        case .prompterMissing:
            ("no program can show the prompt", "install pinentry: \(PackageManager.command(for: .pinentry))")
        case .inBackground:
            (
                "the command runs in the background, where a prompt would take the shell's input",
                "bring it to the foreground with fg"
            )
        case .undrawable:
            (
                "the prompt cannot be drawn on this terminal: its window is too small, or its encoding has no such characters",
                "make the window larger, at least 80 by 24 characters, or set LC_ALL=C.UTF-8"
            )
        case .prompterFailed: ("the program that draws the prompt failed", "touchstone doctor")
        case .noAgent where cause.detail != nil: TerminalAgent.lines(of: why)
        case .noAgent:
            (
                "no touchstone-agent is running that could show the prompt",
                "run touchstone from a terminal, or start the agent: systemctl --user start touchstone-agent"
            )
        case .brokerAway:
            (
                "the system's touchstone-broker does not answer\(cause.detail.map { " (\($0))" } ?? "")",
                brokerHint
            )
        case .programUnverified:
            (
                "this program could not be identified\(cause.detail.map { " (\($0))" } ?? "")",
                "try again; if it stays so, run touchstone doctor"
            )
        case .locked:
            ("the keychain is locked, and the passcode cannot be asked for here", "touchstone unlock")
        case .closed: ("ten wrong passcodes have closed the keychain", "touchstone recover")
        case .notSetUp: ("there is no keychain yet", "touchstone setup")
        case .alreadySetUp:
            (
                "there is a keychain already, or what is left of one",
                "touchstone status; to put its files aside and begin anew: touchstone start-over"
            )
        case .recoveryCode: ("that is not the recovery code", "try again with the code that you noted last")
        case .mistypedRecoveryCode: ("the recovery code was mistyped", "try again")
        case .olderKeybag:
            (
                "the keychain's key file is an older copy, or was forged",
                "put the newer data directory back while the daemon is stopped, or open this one with the recovery code: touchstone recover"
            )
        case .rolledBack:
            (
                "the store is an older copy: the TPM's counter is ahead of it",
                "put the newer data directory back while the daemon is stopped, or accept this one with the recovery code: touchstone recover"
            )
        case .logDamaged:
            (
                "the log of recent changes is damaged; nothing was overwritten",
                "touchstone repair shows and saves what it holds"
            )
        case .setDamaged:
            (
                "the record of all secrets is damaged: older or missing secrets cannot be detected",
                "touchstone repair"
            )
        case .storeFull:
            (
                "the keychain is full\(cause.detail.map { ": it has \($0) items at most" } ?? ""); nothing was stored",
                "delete what is not needed: touchstone list, touchstone delete NAME"
            )
        case .filesReplaced:
            (
                "the keychain's files were replaced or moved while the daemon uses them; nothing was stored",
                "put them back, or take those that are there now: touchstone lock, then touchstone unlock"
            )
        case .newerFormat: ("a newer version made this keychain", "install that version here")
        case .exportDamaged:
            (
                "the export is damaged or incomplete; no keychain was created",
                "take another copy of it, or make it anew"
            )
        case .notAnExport:
            (
                "the file is not an export of a keychain",
                "touchstone migrate --export FILE makes one, on the other machine"
            )
        case .newerExport: ("a newer version made the export", "install that version here")
        case .notInExport:
            (
                "the backup has no secret named '\(why)'; nothing was stored",
                "touchstone backup --list FILE names what it has"
            )
        case .exportParts: ("the connection to the daemon was lost; nothing was restored", "try again")
        case .unconfirmedChange:
            (
                "the disk failed after the change was made (\(why)): it counts now, but may be lost when the power fails",
                "see what the system's log says about the disk, then make the change again"
            )
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
        case .silentHardware:
            (
                "the TPM does not answer; no passcode was tried or counted against you",
                "try again; if it stays silent, restart the machine, or open it without the TPM: touchstone recover"
            )
        case .missingIndex: ("the TPM's record of this keychain was removed", "touchstone recover")
        case .chipLockout:
            ("the TPM refuses all guesses for a while", "wait, then try again; see: touchstone doctor")
        case .ownerAuthorizationSet:
            (
                "the TPM's owner authorization is set: no key can be made in it",
                "remove it (tpm2_changeauth -c owner), or seal without the TPM: tpm = off; see touchstoned(8)"
            )
        case .exhausted: ("the TPM refuses passcodes after ten wrong ones", "touchstone recover")
        case .noHome: ("HOME is not set to an absolute path, so the keychain cannot be found", "set HOME")
        case .daemonMissing:
            (
                "the daemon, touchstoned, is not installed",
                "install touchstoned beside touchstone, or name it in TOUCHSTONE_DAEMON"
            )
        case .sandboxed:
            (
                "this program runs in a sandbox that does not let it reach the keychain (\(why))",
                "let it see the directory of the daemon's socket; see ENVIRONMENT in touchstoned(8)"
            )
        case .daemonUnsafe:
            (
                "others can change the daemon that TOUCHSTONE_DAEMON names: \(why)",
                "it and its directories must be this user's or root's, and writable by nobody else: chmod go-w"
            )
        case .daemonNotRunning: ("the daemon does not run, and none may be started", "touchstone doctor")
        case .outsideTestKeychain: ("a test called outside of its test keychain", "\(why)")
        case .daemonNotStarted: ("the daemon's program could not be started (\(why))", "touchstone doctor")
        case .daemonDoesNotListen: ("the daemon was started and does not listen", "touchstone doctor")
        case .systemDaemonSilent:
            ("the system's keychain daemon does not answer", "see why: systemctl status \(why)")
        case .systemSocketMissing:
            (
                "only the system's keychain daemon may be used here, and it has no socket for this user",
                "as root: systemctl enable --now \(why)"
            )
        case .systemDirectory:
            (
                "the socket of the system's keychain daemon is not trusted: \(why)",
                "as root: make the directory root's, with mode 755, and see who changed it"
            )
        case .daemonSilent: ("the daemon does not answer", "try again; if it stays silent: touchstone doctor")
        case .daemonRefused: ("the daemon refused the connection (\(why))", "touchstone doctor")
        case .layoutHasNoVariables:
            (
                "the daemon cannot be told where the keychain is",
                "unset TOUCHSTONE_HOME, or name a directory in it"
            )
        case .socketFailed: ("no socket could be made (\(why))", "touchstone doctor")
        case .connectFailed: ("the daemon's socket cannot be connected to (\(why))", "touchstone doctor")
        case .peerUnknown:
            ("the process that listens on the socket cannot be identified (\(why))", "touchstone doctor")
        case .socketPathTooLong:
            ("the path of the daemon's socket is too long", "a shorter XDG_RUNTIME_DIR or TOUCHSTONE_HOME")
        case .foreignDaemon:
            ("the daemon's socket belongs to another user (\(cause.code))", "touchstone doctor")
        case .socketPlace:
            (
                "the socket directory that the environment names cannot be used: \(why)",
                "unset XDG_RUNTIME_DIR, or take this user's environment: sudo -i -u USER, su -"
            )
        case .runtimeDirectory: ("the daemon's directory cannot be used (\(cause.code))", "touchstone doctor")
        case .connectionLost: ("the connection to the daemon was lost (\(cause.code))", "try again")
        case .tooManyConnections:
            (
                "too many connections: the daemon serves 256 of a user at a time",
                "end programs that use the keychain, then try again"
            )
        case .promptText: ("the text for the prompt is too long", "a shorter name or reason")
        case .resultTooLarge:
            ("the result needs more locked memory than there is", "raise the limit: ulimit -l")
        }
    }
}

extension DriverCause {
    /// Whether the daemon's disk is full, from the system's or SQLite's code (13 is `SQLITE_FULL`).
    var isFullDisk: Bool {
        switch domain {
        case "system": code == "ENOSPC" || code == "EDQUOT"
        case "sqlite": code == "13"
        default: false
        }
    }

    /// Whether the daemon's disk is read-only, from the system's or SQLite's code (8 is `SQLITE_READONLY`, in the low 8
    /// bits).
    var isUnwritableDisk: Bool {
        switch domain {
        case "system": ["EROFS", "EACCES", "EPERM"].contains(code)
        case "sqlite": Int(code).map { $0 & 0xFF == 8 } ?? false
        default: false
        }
    }
}
