internal import KeychainModel
internal import Primitives

/// Where the keybag stands.
///
/// Keys are in memory in the two open cases and in no other, and what opens items (``ItemContext``) is made of them
/// alone: with a keybag that was not opened there is nothing to call.
enum Standing {
    /// There is no keybag yet.
    case notSetUp
    /// The file is not as it was written; with the record that was read before, where there was one.
    case damaged(last: KeybagRecord?)
    /// Not unlocked since the start.
    case locked(KeybagRecord)
    /// Locked again: what is readable after the first unlock stays readable.
    case halfOpen(OpenKeybag)
    /// Unlocked, with the key that wraps the others.
    case open(OpenKeybag, keybagKey: Key)
}

/// A keybag whose keys are in memory: all of them, or those that survive a lock.
final class OpenKeybag: Sendable {
    let record: KeybagRecord
    let keys: KeyRing
    /// Opens and seals items with these keys.
    let context: ItemContext
    /// The file was found damaged while this was in memory.
    let isFileDamaged: Bool

    convenience init(_ record: KeybagRecord, _ keys: KeyRing, isFileDamaged: Bool = false) {
        self.init(record, keys, ItemContext(of: record, keys), isFileDamaged: isFileDamaged)
    }

    private init(_ record: KeybagRecord, _ keys: KeyRing, _ context: ItemContext, isFileDamaged: Bool) {
        self.record = record
        self.keys = keys
        self.context = context
        self.isFileDamaged = isFileDamaged
    }

    /// The same with the file found damaged; whoever works with the keys goes on.
    func withFileDamaged() -> OpenKeybag { OpenKeybag(record, keys, context, isFileDamaged: true) }
}

extension Standing {
    /// The keybag as it was read or written last; nil when there is none or nothing of it could be read.
    var record: KeybagRecord? {
        switch self {
        case .notSetUp: nil
        case .damaged(let last): last
        case .locked(let record): record
        case .halfOpen(let keybag), .open(let keybag, _): keybag.record
        }
    }

    /// What opens and seals items; nil while no key is in memory.
    var context: ItemContext? {
        switch self {
        case .notSetUp, .damaged, .locked: nil
        case .halfOpen(let keybag), .open(let keybag, _): keybag.context
        }
    }

    /// The key that wraps the others; nil unless unlocked.
    var keybagKey: Key? {
        if case .open(_, let keybagKey) = self { keybagKey } else { nil }
    }

    /// Whether the file was found damaged, and was neither opened nor written since.
    var isFileDamaged: Bool {
        switch self {
        case .notSetUp, .locked: false
        case .damaged: true
        case .halfOpen(let keybag), .open(let keybag, _): keybag.isFileDamaged
        }
    }

    /// What the use of items is refused with while ``context`` is nil.
    var refusal: KeychainError {
        switch self {
        case .notSetUp: .notSetUp
        case .damaged(nil): .damaged
        case .damaged, .locked, .halfOpen, .open: .locked
        }
    }

    // MARK: Changes

    /// The keybag was read again; the damage of its file is forgotten once it was opened or written.
    mutating func read(_ found: KeybagRecord) {
        switch self {
        case .notSetUp, .locked: self = .locked(found)
        case .damaged: self = .damaged(last: found)
        case .halfOpen(let keybag), .open(let keybag, _):
            if keybag.record != found { replace(found, keybag.keys, isFileDamaged: keybag.isFileDamaged) }
        }
    }

    /// The keybag was written.
    mutating func wrote(_ record: KeybagRecord) {
        switch self {
        case .notSetUp, .damaged, .locked: self = .locked(record)
        case .halfOpen(let keybag), .open(let keybag, _): replace(record, keybag.keys)
        }
    }

    /// The file was found damaged.
    mutating func foundDamage() {
        switch self {
        case .notSetUp, .damaged, .locked: self = .damaged(last: record)
        case .halfOpen(let keybag): self = .halfOpen(keybag.withFileDamaged())
        case .open(let keybag, let keybagKey): self = .open(keybag.withFileDamaged(), keybagKey: keybagKey)
        }
    }

    /// Another key of the enrolled set, or none; a keybag that is locked keeps none.
    mutating func setCurrentSetKey(_ key: Key?) {
        guard case .open(let keybag, _) = self else { return }
        var keys = keybag.keys
        keys.currentSet = key
        replace(keybag.record, keys, isFileDamaged: keybag.isFileDamaged)
    }

    /// Holds the key of the enrolled set back, or gives it free.
    mutating func withholdCurrentSet(_ isWithheld: Bool) {
        switch self {
        case .notSetUp, .damaged, .locked: return
        case .halfOpen(let keybag), .open(let keybag, _):
            guard keybag.keys.withholdsCurrentSet != isWithheld else { return }
            var keys = keybag.keys
            keys.withholdsCurrentSet = isWithheld
            replace(keybag.record, keys, isFileDamaged: keybag.isFileDamaged)
        }
    }

    /// Lets go of the keys that must not outlive a lock; the last to let go wipes them.
    ///
    /// - Returns: whether it was unlocked.
    mutating func lock() -> Bool {
        guard case .open(let keybag, _) = self else { return false }
        let keys = keybag.keys.survivingLock()
        self = .halfOpen(OpenKeybag(keybag.record, keys, isFileDamaged: keybag.isFileDamaged))
        return true
    }

    /// Lets go of all keys.
    mutating func close() {
        switch self {
        case .notSetUp, .damaged, .locked: break
        case .halfOpen(let keybag), .open(let keybag, _):
            self = keybag.isFileDamaged ? .damaged(last: keybag.record) : .locked(keybag.record)
        }
    }

    private mutating func replace(_ record: KeybagRecord, _ keys: KeyRing, isFileDamaged: Bool = false) {
        let keybag = OpenKeybag(record, keys, isFileDamaged: isFileDamaged)
        if let keybagKey { self = .open(keybag, keybagKey: keybagKey) } else { self = .halfOpen(keybag) }
    }
}
