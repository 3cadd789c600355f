extension TouchstoneError {
    /// The reason for an error; later versions may add codes, so a `switch` needs a `default`.
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
        /// The system removed the prompt: the machine went to sleep, or another program uses the sensor.
        public static let systemCancelled = Self("systemCancelled")
        /// The app's task was cancelled.
        public static let taskCancelled = Self("taskCancelled")
        /// The user did not answer within the prompt's timeout.
        public static let timedOut = Self("timedOut")
        /// The finger or passcode did not match, and this prompt has no attempts left.
        public static let notMatched = Self("notMatched")
        /// Too many failed attempts: no attempt is accepted for ``TouchstoneError/retryAfter``.
        public static let lockedOut = Self("lockedOut")
        /// Biometry is locked out until the passcode is entered.
        public static let lockedOutUntilPasscode = Self("lockedOutUntilPasscode")
        /// A prompt is needed, but this call may not show one.
        public static let interactionNeeded = Self("interactionNeeded")
        /// No prompt can be shown: there is no terminal, no display, or no program that draws prompts.
        public static let noPromptPlace = Self("noPromptPlace")
        /// The proof has ended: the app ended it, the keychain was locked, the enrolled fingers changed, or
        /// it expired.
        public static let proofEnded = Self("proofEnded")
        /// Too many requests or prompts in too short a time.
        public static let throttled = Self("throttled")

        // MARK: Sensor and passcode

        /// No passcode is set: the keychain has not been set up.
        public static let passcodeNotSet = Self("passcodeNotSet")
        /// The machine has no biometric sensor.
        public static let noHardware = Self("noHardware")
        /// The sensor or TPM exists but cannot be used now.
        public static let hardwareUnavailable = Self("hardwareUnavailable")
        /// The sensor was unplugged.
        public static let disconnected = Self("disconnected")
        /// No finger is enrolled.
        public static let notEnrolled = Self("notEnrolled")
        /// The sensor is graded weaker than the rule or demand requires.
        public static let sensorTooWeak = Self("sensorTooWeak")
        /// The sensor has a known hole, by the table of sensors: no finger on it counts until its firmware is updated.
        public static let sensorUnsafe = Self("sensorUnsafe")
        /// The user lets this app use no biometry: on Linux, `touchstone apps fingers`.
        public static let biometryOff = Self("biometryOff")

        // MARK: Items and keys

        /// There is no item or key of that name.
        public static let notFound = Self("notFound")
        /// An item or key of that name already exists.
        public static let alreadyExists = Self("alreadyExists")
        /// The keychain is locked.
        public static let locked = Self("locked")
        /// The item or key existed, but can never be opened again: the enrolled fingers or the passcode
        /// changed.
        public static let invalidated = Self("invalidated")
        /// The key was deleted, and so was every copy of it.
        public static let deleted = Self("deleted")
        /// The key may not be used yet.
        public static let notYetValid = Self("notYetValid")
        /// The key's expiry date has passed.
        public static let expired = Self("expired")
        /// The key was used as often as it may be.
        public static let usedUp = Self("usedUp")
        /// The stored data was changed or destroyed from outside.
        public static let damaged = Self("damaged")
        /// The store or key was created with another rule; ``TouchstoneError/details`` has both rules.
        public static let ruleMismatch = Self("ruleMismatch")
        /// The stored bytes cannot be decoded as the requested type.
        public static let typeMismatch = Self("typeMismatch")
        /// A name, text, size or time exceeds its limit, which is in ``TouchstoneError/details``.
        public static let limitExceeded = Self("limitExceeded")

        // MARK: The system

        /// The stored data needs a newer version of this software.
        public static let updateNeeded = Self("updateNeeded")
        /// This system does not support the operation.
        public static let unsupported = Self("unsupported")
        /// Access was denied by polkit, AppArmor, Flatpak or file permissions.
        public static let denied = Self("denied")
        /// The disk is full; nothing was changed.
        public static let diskFull = Self("diskFull")
        /// The keychain already has the maximum number of items; nothing was changed.
        public static let storeFull = Self("storeFull")
        /// The file system is read-only; nothing was changed.
        public static let readOnly = Self("readOnly")
        /// A required program, such as the daemon or fprintd, is not installed or not running.
        public static let serviceMissing = Self("serviceMissing")
        /// The daemon or a part of it failed, or the connection to it ended during the call.
        public static let serviceFailed = Self("serviceFailed")
        /// The hardware protection is below the level that the rule requires.
        public static let hardwareTooWeak = Self("hardwareTooWeak")
        /// The TPM accepts no attempts for a time, whichever program asks.
        public static let hardwareLockedOut = Self("hardwareLockedOut")
        /// The keychain belongs to another TPM, or the TPM was cleared.
        public static let hardwareChanged = Self("hardwareChanged")

        // MARK: A server

        /// The server cannot be reached.
        public static let unreachable = Self("unreachable")
        /// The server's certificate is not trusted.
        public static let untrustedServer = Self("untrustedServer")
        /// The server's reply is malformed.
        public static let badReply = Self("badReply")
        /// The server refused the request.
        public static let refused = Self("refused")
        /// The account's name or password is wrong.
        public static let wrongPassword = Self("wrongPassword")
        /// The server accepts this device no longer: it was removed from the account, or suspended.
        public static let deviceRevoked = Self("deviceRevoked")
        /// The server did not accept what the device's key signed.
        public static let signatureRefused = Self("signatureRefused")
        /// The session has ended, on the server or here.
        public static let sessionEnded = Self("sessionEnded")
        /// The server requires a stronger authentication first.
        public static let stepUpNeeded = Self("stepUpNeeded")
        /// The request was already used once: the server detected a replay.
        public static let replayed = Self("replayed")
    }

    /// What to do about an error; later versions may add steps.
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
        /// Sign in or store the value again: the old one is lost.
        public static let setUpAgain = Self("setUpAgain")
        /// Recover or repair the keychain: on Linux, `touchstone recover` or `touchstone repair`.
        public static let recover = Self("recover")
        /// Install or update the missing component.
        public static let install = Self("install")
        /// Contact the app's developer or an administrator: the user alone cannot solve this.
        public static let askForHelp = Self("askForHelp")
    }
}
