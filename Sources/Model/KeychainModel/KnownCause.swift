/// The causes that programs act on or have texts for, as logged and sent: the domain, ": ", the code.
///
/// Other errors of drivers (fprintd's names, error numbers, SQLite's codes) are plain ``DriverCause`` values.
/// `touchstone` has a text and a hint for each known cause.
public enum KnownCause: String, CaseIterable, Hashable, Sendable {
    // MARK: Items and keys

    /// The item existed, but its key was destroyed when the enrolled fingers changed.
    case invalidated = "touchstone: invalidated"
    /// The private key was deleted: no copy of its representation can be used any more.
    case deleted = "touchstone: deleted"
    /// The private key may not be used yet.
    case notYetValid = "touchstone: notYetValid"
    /// The private key may not be used any more.
    case expired = "touchstone: expired"
    /// The private key was used as often as it may be.
    case usedUp = "touchstone: usedUp"
    /// An item has to be bound to the enrolled fingers, but the keychain has seen none.
    case noCurrentSet = "touchstone: noCurrentSet"
    /// Stored bytes failed their authentication: the item or the keybag is damaged.
    case damaged = "touchstone: damaged"
    /// No item was found, but the program with the path in ``DriverCause/detail`` has one with these attributes.
    case owned = "touchstone: ownedBy"
    /// Too many wrong secrets were compared with items that are not opened.
    case guessRate = "touchstone: guessRate"
    /// A private key was requested with flags that lack `privateKeyUsage`.
    case withoutKeyUsage = "touchstone: flags without privateKeyUsage"
    /// A private key belongs to another access group.
    case otherGroup = "touchstone: key of another access group"

    // MARK: Attempts and prompts

    /// The enrolled fingers changed: the passcode is needed.
    case enrolmentChanged = "touchstone: enrolmentChanged"
    /// The sensor is weak, and a strong one is required.
    case sensorTooWeak = "touchstone: sensorTooWeak"
    /// The sensor has a known hole, by the table of sensors: no finger on it counts.
    case sensorUnsafe = "touchstone: sensorUnsafe"
    /// The user switched fingers off for the program (`touchstone apps fingers`).
    case fingersOff = "touchstone: fingersOff"
    /// A change of credentials has to wait, because the keychain is protected against theft.
    case changeDelayed = "touchstone: changeDelayed"
    /// The enrolled fingers changed, and count for nothing yet, because the keychain is protected against theft.
    case fingersDelayed = "touchstone: fingersDelayed"
    /// The present network cannot be a trusted place; the detail is the reason.
    case placeRefused = "touchstone: placeRefused"
    /// The user did not answer in time.
    case timeout = "touchstone: timeout"
    /// Too many requests of this user wait for their prompt.
    case tooManyPrompts = "touchstone: tooManyPrompts"
    /// Too many prompts of this user ended without success within a minute.
    case promptRate = "touchstone: promptRate"
    /// The user cancelled several prompts of the program in succession: it may show none for a while.
    case callerSilenced = "touchstone: callerSilenced"
    /// The delay after wrong passcodes is still running.
    case passcodeDelayed = "touchstone: passcodeDelayed"
    /// The passcode is needed: it was last entered too long ago, or the keybag is locked.
    case passcodeDue = "touchstone: passcodeDue"
    /// The machine is about to sleep.
    case suspended = "touchstone: suspended"
    /// Another session is active on the seat where the prompt would be shown.
    case sessionInactive = "touchstone: sessionInactive"
    /// The counts of failed attempts could not be read or saved: no attempt is allowed.
    case attemptsUnavailable = "touchstone: attemptsUnavailable"
    /// The new passcode is too weak.
    case weakPasscode = "touchstone: weakPasscode"
    /// No pinentry program is installed.
    case prompterMissing = "prompt: prompterMissing"
    /// The client runs in the background of its terminal.
    case inBackground = "prompt: inBackground"
    /// The prompt does not fit on the terminal, or has characters that the terminal does not take.
    case undrawable = "prompt: undrawable"
    /// The pinentry program failed.
    case prompterFailed = "prompt: prompterFailed"
    /// No agent runs that could draw the prompt for a daemon of another account.
    case noAgent = "prompt: noAgent"
    /// The broker does not reply to the daemon of another account: programs cannot be identified, and enrolled sets
    /// cannot be compared; the detail is the reason.
    case brokerAway = "broker: away"
    /// The program that sends the request could not be identified, though it runs; the detail is the reason. It may be
    /// any program, so it gets neither a program's items nor those of unknown programs.
    case programUnverified = "caller: programUnverified"

    // MARK: The keybag

    /// The keybag is locked; its passcode opens it.
    case locked = "keybag: locked"
    /// The keybag was closed by ten wrong passcodes; the recovery code opens it.
    case closed = "keybag: closed"
    /// There is no keybag yet.
    case notSetUp = "keybag: notSetUp"
    /// There is a keybag already.
    case alreadySetUp = "keybag: alreadySetUp"
    /// The keybag's new file is in place, but the disk failed to confirm it: it counts, unless the power fails; the detail is
    /// the system's error.
    case unconfirmedChange = "keybag: change not confirmed"
    /// The text typed is not the recovery code.
    case recoveryCode = "keybag: recoveryCode"
    /// The text typed cannot be a recovery code.
    case mistypedRecoveryCode = "keybag: recovery code mistyped"
    /// The keybag is an older copy of itself.
    case olderKeybag = "keybag: older copy"

    // MARK: The store and exports

    /// The store is an older copy of itself.
    case rolledBack = "store: older copy"
    /// The log of the last changes is damaged.
    case logDamaged = "store: log damaged"
    /// The record of which items exist is damaged.
    case setDamaged = "store: set damaged"
    /// The keychain has reached its limit of items, which is the detail.
    case storeFull = "store: full"
    /// The keychain's files were replaced or moved away while the daemon had them open: nothing is stored in them.
    case filesReplaced = "store: files replaced"
    /// A newer version wrote the stored data.
    case newerFormat = "store: newer format"
    /// The export is damaged or incomplete.
    case exportDamaged = "export: damaged"
    /// The file is not an export.
    case notAnExport = "export: notAnExport"
    /// A newer version made the export.
    case newerExport = "export: newerFormat"
    /// The export has no item of the name that is the detail.
    case notInExport = "export: no such item"
    /// The parts of the export did not all reach the same daemon.
    case exportParts = "export: parts"

    // MARK: The TPM

    /// The keybag belongs to another chip, or the chip was cleared since.
    case otherHardware = "tpm: another TPM"
    /// The keybag is sealed to hardware that this machine does not have.
    case missingHardware = "tpm: no TPM"
    /// The hardware is present but does not respond.
    case silentHardware = "tpm: no answer"
    /// This keybag's index was removed from the hardware.
    case missingIndex = "tpm: index is gone"
    /// The hardware accepts no passcodes for a while, from any caller.
    case chipLockout = "tpm: lockout"
    /// The chip's owner authorisation is set, and without it nothing can be created or opened in the chip.
    case ownerAuthorizationSet = "tpm: owner authorization is set"
    /// The chip permanently refuses passcodes of this keybag; the recovery code opens it.
    case exhausted = "tpm: passcode attempts exhausted"

    // MARK: The client's side

    /// The environment names no home directory.
    case noHome = "system: noHome"
    /// The daemon's program is not at the path where the client expects it.
    case daemonMissing = "touchstone: daemonMissing"
    /// The sandbox of this program does not let it reach the daemon; the detail is the sandbox and what failed.
    case sandboxed = "touchstone: sandboxed"
    /// Other users can modify the program that `TOUCHSTONE_DAEMON` names; the detail is its path.
    case daemonUnsafe = "touchstone: daemonUnsafe"
    /// No daemon runs, and the client is configured not to start one.
    case daemonNotRunning = "touchstone: daemonNotRunning"
    /// The daemon's program could not be started; the detail is the reason.
    case daemonNotStarted = "system: daemonNotStarted"
    /// A test made a call outside its test keychain, and the user's own is not for tests; the detail says what to do.
    case outsideTestKeychain = "touchstone: outsideTestKeychain"
    /// The daemon was started but does not listen.
    case daemonDoesNotListen = "touchstone: daemonDoesNotListen"
    /// The system daemon does not respond on its socket; the detail is the unit whose log has the reason.
    case systemDaemonSilent = "touchstone: systemDaemonSilent"
    /// Only the system daemon may keep the keychain, but it has no socket for this user; the detail is the unit that
    /// creates it.
    case systemSocketMissing = "touchstone: systemSocketMissing"
    /// Another user than root could have replaced the system daemon's socket; the detail is the directory.
    case systemDirectory = "touchstone: systemDirectory"
    /// The daemon listens but does not respond.
    case daemonSilent = "touchstone: daemonSilent"
    /// The daemon rejected the client's greeting; the detail is its reply.
    case daemonRefused = "touchstone: daemonRefused"
    /// The client's layout cannot be passed to a daemon by environment variables.
    case layoutHasNoVariables = "touchstone: layoutHasNoVariables"
    /// No socket could be created; the detail is the reason.
    case socketFailed = "system: socket"
    /// Connecting to the daemon's socket failed; the detail is the reason.
    case connectFailed = "system: connect"
    /// The listening process cannot be determined; the detail is the reason.
    case peerUnknown = "system: peer"
    /// The socket's path is longer than the system allows.
    case socketPathTooLong = "touchstone: socketPathTooLong"
    /// The socket belongs to another user, who is the detail.
    case foreignDaemon = "touchstone: foreignDaemon"
    /// The environment names an impossible place for the socket; the detail is the reason.
    case socketPlace = "touchstone: socketPlace"
    /// The daemon's directory cannot be used; the detail is the reason.
    case runtimeDirectory = "touchstone: runtimeDirectory"
    /// The connection was lost during a request.
    case connectionLost = "touchstone: connectionLost"
    /// The daemon has reached its limit of connections of this user.
    case tooManyConnections = "touchstone: tooManyConnections"
    /// The app's prompt text is longer than a prompt may show.
    case promptText = "touchstone: promptText"
    /// The result needs more locked memory than is available.
    case resultTooLarge = "touchstone: resultTooLarge"

    /// Domain and code.
    fileprivate var parts: (domain: Substring, code: Substring) {
        let colon = rawValue.firstIndex(of: ":") ?? rawValue.endIndex
        return (rawValue[..<colon], rawValue[colon...].dropFirst(2))
    }
}

extension DriverCause {
    /// A known cause.
    ///
    /// - Parameters:
    ///   - cause: The known cause.
    ///   - detail: Further information, such as the system's error; appended to the code.
    public init(_ cause: KnownCause, detail: String? = nil) {
        let (domain, code) = cause.parts
        self.init(domain: String(domain), code: code + (detail.map { ": " + $0 } ?? ""))
    }

    /// The known cause; nil for all others, which are kept as received.
    public var known: KnownCause? {
        KnownCause(rawValue: domain + ": " + code)
            ?? code.firstIndex(of: ":").flatMap { KnownCause(rawValue: domain + ": " + code[..<$0]) }
    }

    /// The detail after a known cause's name; nil if there is none, and for other causes.
    public var detail: String? {
        guard let known else { return nil }
        let rest = code.dropFirst(known.parts.code.count + 2)
        return rest.isEmpty ? nil : String(rest)
    }
}
