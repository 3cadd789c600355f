/// The names in a keychain's directory.
package enum StoreFile: String, CaseIterable, Sendable {
    case keybag = "keybag"
    /// The keybag once more.
    case keybagCopy = "keybag.copy"
    case deviceKey = "device.key"
    case hardwareNotes = "tpm.notes"
    case attempts = "attempts"
    case items = "items.sqlite"
    case itemsLog = "items.sqlite-wal"
    /// How much of the log was flushed.
    case itemsMark = "items.sqlite-mark"
    case itemsSharedMemory = "items.sqlite-shm"
    case itemsJournal = "items.sqlite-journal"
    case importMark = "import"
    /// Items that are about to replace the present ones.
    case newItems = "items.sqlite.new"
    /// A copy of damaged items for a repair.
    case savedItems = "items.sqlite.saved"
    case repairMark = "repair"
    /// The public keys that the ssh-agent lists before the first unlock.
    case publicKeys = "ssh-keys"
    /// New items are complete and get their name once there is a keybag.
    case setUpMark = "setup"

    /// The name of the daemon's log.
    package static let log = "daemon.log"

    /// Whether a file of this name belongs to a keychain.
    ///
    /// It does if it is one of these, the log, or a version of one that is being replaced or was put aside
    /// (`keybag.new`, `items.sqlite.damaged-1-wal`).
    package static func isPart(_ name: String) -> Bool {
        (allCases.map(\.rawValue) + [log]).contains { base in
            guard name.hasPrefix(base) else { return false }
            let next = name.utf8.dropFirst(base.utf8.count).first
            return next == nil || next == UInt8(ascii: "-") || next == UInt8(ascii: ".")
        }
    }
}
