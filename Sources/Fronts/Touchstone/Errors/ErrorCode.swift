extension TouchstoneError {
    /// What happened; the set grows, so a `switch` needs a `default`.
    public struct Code: RawRepresentable, Sendable, Hashable {
        /// The code's name, such as `userCancelled`: the same in every version, for logs and servers.
        public let rawValue: String
        /// Accepts any name: a newer version may know more codes.
        public init(rawValue: String) { self.rawValue = rawValue }

        private init(_ name: String) { self.init(rawValue: name) }

        // MARK: The prompt

        /// The user cancelled the prompt.
        public static let userCancelled = Self("userCancelled")
        /// The user chose the fallback button.
        public static let fallbackChosen = Self("fallbackChosen")
        /// The system took the prompt away: the machine sleeps, or another program has the sensor.
        public static let systemCancelled = Self("systemCancelled")
        /// The app's task was cancelled.
        public static let taskCancelled = Self("taskCancelled")
        /// Nobody answered within the prompt's time.
        public static let timedOut = Self("timedOut")
        /// What was shown did not match, until no further attempt was left in this prompt.
        public static let notMatched = Self("notMatched")
        /// Too many failed attempts: nothing may be tried for ``TouchstoneError/retryAfter``.
        public static let lockedOut = Self("lockedOut")
        /// Biometry waits until the passcode was entered.
        public static let lockedOutUntilPasscode = Self("lockedOutUntilPasscode")
        /// A prompt is needed, and this call may show none.
        public static let interactionNeeded = Self("interactionNeeded")
        /// There is no place for a prompt: no terminal, no display, or nothing that draws one.
        public static let noPromptPlace = Self("noPromptPlace")
        /// The proof was ended, by the app, by a lock, by a change of the fingers or by its age.
        public static let proofEnded = Self("proofEnded")
        /// Too many requests or prompts in too short a time.
        public static let throttled = Self("throttled")

        // MARK: Sensor and passcode

        /// No passcode is set: the keychain was not set up.
        public static let passcodeNotSet = Self("passcodeNotSet")
        /// There is no sensor.
        public static let noHardware = Self("noHardware")
        /// Sensor or TPM is there and cannot be used now.
        public static let hardwareUnavailable = Self("hardwareUnavailable")
        /// The sensor was unplugged.
        public static let disconnected = Self("disconnected")
        /// No finger is enrolled.
        public static let notEnrolled = Self("notEnrolled")
        /// The sensor is known to be weaker than what was demanded.
        public static let sensorTooWeak = Self("sensorTooWeak")

        // MARK: Items and keys

        /// There is nothing of that name.
        public static let notFound = Self("notFound")
        /// There is something of that name already.
        public static let alreadyExists = Self("alreadyExists")
        /// The keychain is locked.
        public static let locked = Self("locked")
        /// It was there, and can never be opened again: the enrolled fingers or the passcode changed.
        public static let invalidated = Self("invalidated")
        /// The key's time is over.
        public static let expired = Self("expired")
        /// What is stored was changed or destroyed from outside.
        public static let damaged = Self("damaged")
        /// The store was made under another rule; both are in ``TouchstoneError/details``.
        public static let ruleMismatch = Self("ruleMismatch")
        /// The stored bytes are no value of the type that was asked for.
        public static let typeMismatch = Self("typeMismatch")
        /// A name, text, size or time is beyond its limit, which is in ``TouchstoneError/details``.
        public static let limitExceeded = Self("limitExceeded")

        // MARK: The system

        /// A newer version is needed for what is stored.
        public static let updateNeeded = Self("updateNeeded")
        /// This system cannot do what was asked, ever.
        public static let unsupported = Self("unsupported")
        /// Something that confines programs refused it: polkit, AppArmor, Flatpak, file permissions.
        public static let denied = Self("denied")
        /// The disk is full; nothing was changed.
        public static let diskFull = Self("diskFull")
        /// The keychain has the most items that it may; nothing was changed.
        public static let storeFull = Self("storeFull")
        /// The disk can only be read; nothing was changed.
        public static let readOnly = Self("readOnly")
        /// A program that is needed is not installed or does not run: the daemon, fprintd.
        public static let serviceMissing = Self("serviceMissing")
        /// The daemon or a part of it failed, or went away in the middle.
        public static let serviceFailed = Self("serviceFailed")
        /// The protection is below the level that the rule demands.
        public static let hardwareTooWeak = Self("hardwareTooWeak")
        /// The TPM refuses all attempts for a while, whoever asks.
        public static let hardwareLockedOut = Self("hardwareLockedOut")
        /// The keychain belongs to another TPM, or this one was cleared.
        public static let hardwareChanged = Self("hardwareChanged")

        // MARK: A server

        /// The server cannot be reached.
        public static let unreachable = Self("unreachable")
        /// The server's certificate is not one that is trusted.
        public static let untrustedServer = Self("untrustedServer")
        /// The reply cannot be understood.
        public static let badReply = Self("badReply")
        /// What was entered or sent was refused.
        public static let refused = Self("refused")
        /// A stronger authentication is wanted first.
        public static let stepUpNeeded = Self("stepUpNeeded")
        /// What was sent had been used before.
        public static let replayed = Self("replayed")
    }

    /// What can be done about an error; the set grows.
    public struct NextStep: RawRepresentable, Sendable, Hashable {
        /// The step's name, such as `usePasscode`.
        public let rawValue: String
        /// Accepts any name.
        public init(rawValue: String) { self.rawValue = rawValue }

        private init(_ name: String) { self.init(rawValue: name) }

        /// Try again.
        public static let retry = Self("retry")
        /// Wait, then try again.
        public static let wait = Self("wait")
        /// Enter the passcode instead.
        public static let usePasscode = Self("usePasscode")
        /// Enrol a finger.
        public static let enrol = Self("enrol")
        /// Set a passcode: on Linux, `touchstone setup`.
        public static let setPasscode = Self("setPasscode")
        /// Unlock the keychain.
        public static let unlock = Self("unlock")
        /// Sign in or store it again: what was there is gone.
        public static let setUpAgain = Self("setUpAgain")
        /// Open or repair the keychain: on Linux, `touchstone recover` or `touchstone repair`.
        public static let recover = Self("recover")
        /// Install or update what is missing.
        public static let install = Self("install")
        /// Nothing that a user can do alone: the app's author or an administrator.
        public static let askForHelp = Self("askForHelp")
    }
}
