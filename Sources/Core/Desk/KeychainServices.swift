package import KeychainModel

/// What the server dispatches to.
package struct KeychainServices: Sendable {
    /// Asks the person at the machine.
    package var authenticator: any Authenticator
    /// Holds the keybag.
    package var keybag: any KeybagKeeper
    /// Holds the items.
    package var vault: any ItemVault
    /// Makes and uses private keys.
    package var keys: any KeyVault
    /// Moves the keychain to other machines; nil where that is not served.
    package var migration: Migration?
    /// Tells which programs' items there are; nil where that is not served.
    package var owners: (any ItemOwners)?
    /// Takes security events.
    package var audit: any AuditLog
    /// Tells why no prompt could be shown for a request from there; nil when one could.
    ///
    /// Without a place it tells what would fail anywhere.
    package var promptFault: @Sendable (PromptOrigin?) async -> String?
    /// Tells why the broker answers nobody; nil when it does, or none is needed.
    package var brokerFault: @Sendable () async -> DriverCause?
    /// The daemon's version, for people.
    package var daemonVersion: String

    /// What moving a keychain takes.
    package struct Migration: Sendable {
        /// Asks the person.
        package var mover: any KeychainMover
        /// Holds the items.
        package var archive: any KeychainArchive

        /// Gathers both.
        package init(mover: any KeychainMover, archive: any KeychainArchive) {
            self.mover = mover
            self.archive = archive
        }
    }

    /// Gathers the services.
    package init(
        authenticator: any Authenticator,
        keybag: any KeybagKeeper,
        vault: any ItemVault,
        keys: any KeyVault,
        migration: Migration? = nil,
        owners: (any ItemOwners)? = nil,
        audit: any AuditLog,
        daemonVersion: String,
        promptFault: @escaping @Sendable (PromptOrigin?) async -> String?,
        brokerFault: @escaping @Sendable () async -> DriverCause? = { nil }
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
        self.brokerFault = brokerFault
    }
}
