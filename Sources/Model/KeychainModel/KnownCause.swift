/// The causes that a program acts on or has words for, as they are logged and sent: the domain, ": ", the code.
///
/// What drivers report beside them (fprintd's names, error numbers, SQLite's codes) is a ``DriverCause`` all the same.
/// `touchstone` has a text and a hint for each.
public enum KnownCause: String, CaseIterable, Hashable, Sendable {
    // MARK: Items and keys

    /// The item was there and its key was destroyed when the enrolled fingers changed.
    case invalidated = "touchstone: invalidated"
    /// Something was to be bound to the enrolled fingers, and the keychain knows of none.
    case noCurrentSet = "touchstone: noCurrentSet"
    /// Stored bytes failed their authentication: the item or the keybag is damaged.
    case damaged = "touchstone: damaged"
    /// No item was found, and the program with the path in ``DriverCause/detail`` has one of that name.
    case owned = "touchstone: ownedBy"
    /// A private key was to be made with flags that do not hold `privateKeyUsage`.
    case withoutKeyUsage = "touchstone: flags without privateKeyUsage"
    /// A private key belongs to another access group.
    case otherGroup = "touchstone: key of another access group"

    // MARK: Attempts and prompts

    /// The enrolled fingers are others than before: the passcode is due.
    case enrolmentChanged = "touchstone: enrolmentChanged"
    /// Nobody answered in time.
    case timeout = "touchstone: timeout"
    /// Too many requests of this user wait for their box.
    case tooManyPrompts = "touchstone: tooManyPrompts"
    /// Too many boxes of this user ended without success within a minute.
    case promptRate = "touchstone: promptRate"
    /// The user cancelled the program's boxes one after the other: it gets none for a while.
    case callerSilenced = "touchstone: callerSilenced"
    /// The delay after wrong passcodes is still running.
    case passcodeDelayed = "touchstone: passcodeDelayed"
    /// The passcode is due: too long ago, or the keybag is locked.
    case passcodeDue = "touchstone: passcodeDue"
    /// The machine is about to sleep.
    case suspended = "touchstone: suspended"
    /// The counts of failed attempts could not be read or saved: nothing may be tried.
    case attemptsUnavailable = "touchstone: attemptsUnavailable"
    /// The new passcode is too weak.
    case weakPasscode = "touchstone: weakPasscode"
    /// No program draws the box.
    case prompterMissing = "prompt: prompterMissing"
    /// The client runs in the background of its terminal.
    case inBackground = "prompt: inBackground"
    /// The program that draws the box failed.
    case prompterFailed = "prompt: prompterFailed"
    /// No agent is there that draws the box for a daemon of another account.
    case noAgent = "prompt: noAgent"
    /// The broker does not answer a daemon of another account: no program is named, and no enrolled set can be told from
    /// another one; why, is the detail.
    case brokerAway = "broker: away"

    // MARK: The keybag

    /// The keybag is locked; its passcode opens it.
    case locked = "keybag: locked"
    /// The keybag was closed by ten wrong passcodes; the recovery code opens it.
    case closed = "keybag: closed"
    /// There is no keybag yet.
    case notSetUp = "keybag: notSetUp"
    /// There is a keybag already.
    case alreadySetUp = "keybag: alreadySetUp"
    /// What was typed is not the recovery code.
    case recoveryCode = "keybag: recoveryCode"
    /// What was typed cannot be a recovery code.
    case mistypedRecoveryCode = "keybag: recovery code mistyped"

    // MARK: The store and exports

    /// The store is an older copy of itself.
    case rolledBack = "store: older copy"
    /// The log of the last changes is damaged.
    case logDamaged = "store: log damaged"
    /// The record of all items is damaged.
    case setDamaged = "store: set damaged"
    /// The keychain has the most items that it may; how many, is the detail.
    case storeFull = "store: full"
    /// A newer version wrote what is stored.
    case newerFormat = "store: newer format"
    /// The export is damaged or not whole.
    case exportDamaged = "export: damaged"
    /// The file is no export.
    case notAnExport = "export: notAnExport"
    /// A newer version made the export.
    case newerExport = "export: newerFormat"
    /// The parts of the export did not all come to the same daemon.
    case exportParts = "export: parts"

    // MARK: The TPM

    /// The keybag belongs to another chip, or the chip was cleared since.
    case otherHardware = "tpm: another TPM"
    /// The keybag is sealed to hardware, and there is none here.
    case missingHardware = "tpm: no TPM"
    /// The hardware is there and does not answer.
    case silentHardware = "tpm: no answer"
    /// What the hardware kept for this keybag was removed from it.
    case missingIndex = "tpm: index is gone"
    /// The hardware takes no passcodes for a while, whoever asks.
    case chipLockout = "tpm: lockout"
    /// The chip's owner demands an authorisation, without which nothing is made or opened in it.
    case ownerAuthorizationSet = "tpm: owner authorization is set"
    /// The chip refuses passcodes of this keybag for good; the recovery code opens it.
    case exhausted = "tpm: passcode attempts exhausted"

    // MARK: The client's side

    /// The environment names no home directory.
    case noHome = "system: noHome"
    /// The daemon's program is not where the client looks for it.
    case daemonMissing = "touchstone: daemonMissing"
    /// Others can change the program that `TOUCHSTONE_DAEMON` names; its path is the detail.
    case daemonUnsafe = "touchstone: daemonUnsafe"
    /// No daemon runs, and the client was told to start none.
    case daemonNotRunning = "touchstone: daemonNotRunning"
    /// The daemon's program could not be started; why, is the detail.
    case daemonNotStarted = "system: daemonNotStarted"
    /// A test called outside of its test keychain, and the user's own one is not for tests; what to do, is the detail.
    case outsideTestKeychain = "touchstone: outsideTestKeychain"
    /// The daemon was started and does not listen.
    case daemonDoesNotListen = "touchstone: daemonDoesNotListen"
    /// The system's daemon does not answer on its socket; the unit that says why is the detail.
    case systemDaemonSilent = "touchstone: systemDaemonSilent"
    /// Only the system's daemon may keep the keychain, and it has no socket for this user; the unit that makes it is the
    /// detail.
    case systemSocketMissing = "touchstone: systemSocketMissing"
    /// Others than root could have put the socket of the system's daemon where it is; which directory, is the detail.
    case systemDirectory = "touchstone: systemDirectory"
    /// The daemon listens and says nothing.
    case daemonSilent = "touchstone: daemonSilent"
    /// The daemon did not take the client's greeting; what it said, is the detail.
    case daemonRefused = "touchstone: daemonRefused"
    /// The client's places cannot be told to a daemon that it would start.
    case layoutHasNoVariables = "touchstone: layoutHasNoVariables"
    /// No socket could be made; why, is the detail.
    case socketFailed = "system: socket"
    /// The daemon's socket could not be connected to; why, is the detail.
    case connectFailed = "system: connect"
    /// The system does not say who listens; why, is the detail.
    case peerUnknown = "system: peer"
    /// The socket's path is longer than the system takes.
    case socketPathTooLong = "touchstone: socketPathTooLong"
    /// The socket belongs to another user; who, is the detail.
    case foreignDaemon = "touchstone: foreignDaemon"
    /// The environment puts the socket where it cannot be; why, is the detail.
    case socketPlace = "touchstone: socketPlace"
    /// The daemon's directory cannot be used; why, is the detail.
    case runtimeDirectory = "touchstone: runtimeDirectory"
    /// The daemon went away while a request was under way.
    case connectionLost = "touchstone: connectionLost"
    /// The daemon serves as many connections of this user as it may.
    case tooManyConnections = "touchstone: tooManyConnections"
    /// The app's text for the prompt is longer than a box may show.
    case promptText = "touchstone: promptText"
    /// The result needs more locked memory than there is.
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
    ///   - cause: Which.
    ///   - detail: What is known beside its name, such as the system's error; follows it in the code.
    public init(_ cause: KnownCause, detail: String? = nil) {
        let (domain, code) = cause.parts
        self.init(domain: String(domain), code: code + (detail.map { ": " + $0 } ?? ""))
    }

    /// Which of the known causes it is; nil for all others, which are kept as they came.
    public var known: KnownCause? {
        KnownCause(rawValue: domain + ": " + code)
            ?? code.firstIndex(of: ":").flatMap { KnownCause(rawValue: domain + ": " + code[..<$0]) }
    }

    /// What follows a known cause's name; nil where nothing does, and for other causes.
    public var detail: String? {
        guard let known else { return nil }
        let rest = code.dropFirst(known.parts.code.count + 2)
        return rest.isEmpty ? nil : String(rest)
    }
}
