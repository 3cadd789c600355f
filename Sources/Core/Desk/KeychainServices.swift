package import KeychainModel

/// What writing a backup requires of the user: the file itself is opened by the recovery code alone.
package enum BackupRequirement: String, Sendable, CaseIterable {
    /// A finger or the passcode.
    case either
    /// The passcode.
    case passcode
    /// Nothing, once the keychain was unlocked: for backups that nobody attends.
    case nothing = "none"
}

/// The services that the desk calls.
package struct KeychainServices: Sendable {
    /// Authenticates the user.
    package var authenticator: any Authenticator
    /// Holds the keybag.
    package var keybag: any KeybagKeeper
    /// Holds the items.
    package var vault: any ItemVault
    /// Creates and uses private keys.
    package var keys: any KeyVault
    /// Moves the keychain to other machines; nil if not offered.
    package var migration: Migration?
    /// What a backup requires.
    package var backupRequirement = BackupRequirement.either
    /// Where a passcode that was typed on a terminal makes a touch alone count.
    package var trust = TerminalTrust.terminal
    /// Lists the programs that have items; nil if not offered.
    package var owners: (any ItemOwners)?
    /// Makes changes of credentials wait; nil if not offered.
    package var theftGuard: TheftGuard?
    /// Records which programs get which secrets; nil if not offered.
    package var reads: ReadLog?
    /// The log of security events.
    package var audit: any AuditLog
    /// The clock by which authentications end.
    package var clock: any BootClock
    /// Why a prompt could not be shown at `origin`; nil if it could.
    ///
    /// Without an origin, faults that would prevent a prompt anywhere.
    package var promptFault: @Sendable (PromptOrigin?) async -> String?
    /// Why the broker does not answer; nil if it does, or none is needed.
    package var brokerFault: @Sendable () async -> DriverCause?
    /// What locks the keychain besides the user.
    package var lockTriggers: LockTriggers
    /// Why locked screens and sleep are not announced, in words; nil if they are, or lock nothing.
    package var sessionsFault: @Sendable () async -> String?
    /// The screen saver that announces locked screens, by its name on the session bus; nil if none does.
    package var screenSaver: @Sendable () async -> String?
    /// What makes the protection weaker since the start of the daemon, in words; nil for nothing.
    package var startFault: String?
    /// The daemon's version, as text for users.
    package var daemonVersion: String

    /// The services for moving a keychain.
    package struct Migration: Sendable {
        /// Prompts the user.
        package var mover: any KeychainMover
        /// Holds the items.
        package var archive: any KeychainArchive

        /// Combines both.
        package init(mover: any KeychainMover, archive: any KeychainArchive) {
            self.mover = mover
            self.archive = archive
        }
    }

    /// Combines the services.
    package init(
        authenticator: any Authenticator,
        keybag: any KeybagKeeper,
        vault: any ItemVault,
        keys: any KeyVault,
        migration: Migration? = nil,
        backupRequirement: BackupRequirement = .either,
        trust: TerminalTrust = .terminal,
        owners: (any ItemOwners)? = nil,
        theftGuard: TheftGuard? = nil,
        reads: ReadLog? = nil,
        audit: any AuditLog,
        clock: any BootClock = SystemBootClock(),
        daemonVersion: String,
        startFault: String? = nil,
        lockTriggers: LockTriggers = LockTriggers(),
        sessionsFault: @escaping @Sendable () async -> String? = { nil },
        screenSaver: @escaping @Sendable () async -> String? = { nil },
        promptFault: @escaping @Sendable (PromptOrigin?) async -> String?,
        brokerFault: @escaping @Sendable () async -> DriverCause? = { nil }
    ) {
        self.authenticator = authenticator
        self.keybag = keybag
        self.vault = vault
        self.keys = keys
        self.migration = migration
        self.backupRequirement = backupRequirement
        self.trust = trust
        self.owners = owners
        self.theftGuard = theftGuard
        self.reads = reads
        self.audit = audit
        self.clock = clock
        self.daemonVersion = daemonVersion
        self.startFault = startFault
        self.lockTriggers = lockTriggers
        self.sessionsFault = sessionsFault
        self.screenSaver = screenSaver
        self.promptFault = promptFault
        self.brokerFault = brokerFault
    }
}

extension KeychainServices {
    /// What the status says of backups that nobody attends; nil if there are none.
    var backupNote: String? {
        guard migration != nil, backupRequirement == .nothing else { return nil }
        return
            "Backups are written without a finger or passcode (backup-require = none); the recovery code opens them."
    }

    /// What the status says of terminals that share their trust; nil if each has its own.
    var trustNote: String? {
        guard trust == .session else { return nil }
        return
            "A finger alone counts on every terminal of a login in which the passcode was typed once (trust = session), also on one that a program opened unseen."
    }
}
