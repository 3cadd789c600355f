public import KeychainModel

/// What the server dispatches to.
public struct KeychainServices: Sendable {
    /// Asks the person at the machine.
    public var authenticator: any Authenticator
    /// Holds the keybag.
    public var keybag: any KeybagKeeper
    /// Holds the items.
    public var vault: any ItemVault
    /// Makes and uses private keys.
    public var keys: any KeyVault
    /// Moves the keychain to other machines; nil where that is not served.
    public var migration: Migration?
    /// Tells which programs' items there are; nil where that is not served.
    public var owners: (any ItemOwners)?
    /// Takes security events.
    public var audit: any AuditLog
    /// Tells why no prompt could be shown for a request from there; nil when one could.
    ///
    /// Without a place it tells what would fail anywhere.
    public var promptFault: @Sendable (PromptOrigin?) async -> String?
    /// The daemon's version, for people.
    public var daemonVersion: String

    /// What moving a keychain takes.
    public struct Migration: Sendable {
        /// Asks the person.
        public var mover: any KeychainMover
        /// Holds the items.
        public var archive: any KeychainArchive

        /// Gathers both.
        public init(mover: any KeychainMover, archive: any KeychainArchive) {
            self.mover = mover
            self.archive = archive
        }
    }

    /// Gathers the services.
    public init(
        authenticator: any Authenticator,
        keybag: any KeybagKeeper,
        vault: any ItemVault,
        keys: any KeyVault,
        migration: Migration? = nil,
        owners: (any ItemOwners)? = nil,
        audit: any AuditLog,
        daemonVersion: String,
        promptFault: @escaping @Sendable (PromptOrigin?) async -> String?
    ) {
        self.authenticator = authenticator
        self.keybag = keybag
        self.vault = vault
        self.keys = keys
        self.migration = migration
        self.owners = owners
        self.audit = audit
        self.daemonVersion = daemonVersion
        self.promptFault = promptFault
    }
}
