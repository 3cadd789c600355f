internal import KeychainModel
internal import Primitives

/// The state of the keybag.
///
/// Keys are in memory in the two open cases only, and the ``ItemContext`` that opens items exists only with them: without
/// an opened keybag there is nothing to call.
enum Standing {
    /// There is no keybag yet.
    case notSetUp
    /// The file is damaged; with the last record that was read, if any.
    case damaged(last: KeybagRecord?)
    /// Not unlocked since the start.
    case locked(KeybagRecord)
    /// Locked again: data available after the first unlock stays available.
    case halfOpen(OpenKeybag)
    /// Unlocked, with the key that wraps the others.
    case open(OpenKeybag, keybagKey: Key)
}

/// A keybag with keys in memory: all of them, or those that survive a lock.
final class OpenKeybag: Sendable {
    let record: KeybagRecord
    let keys: KeyRing
    /// Opens and seals items with these keys.
    let context: ItemContext
    /// Whether the file was found damaged while the keys were in memory.
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

    /// The same keybag with a damaged file; users of the keys are not affected.
    func withFileDamaged() -> OpenKeybag { OpenKeybag(record, keys, context, isFileDamaged: true) }
}

extension Standing {
    /// The last record read or written; nil if there is none or it could not be read.
    var record: KeybagRecord? {
        switch self {
        case .notSetUp: nil
        case .damaged(let last): last
        case .locked(let record): record
        case .halfOpen(let keybag), .open(let keybag, _): keybag.record
        }
    }

    /// The context that opens and seals items; nil while no key is in memory.
    var context: ItemContext? {
        switch self {
        case .notSetUp, .damaged, .locked: nil
        case .halfOpen(let keybag), .open(let keybag, _): keybag.context
        }
    }

    /// The key that seals the record; nil while no key is in memory.
    var sealKey: Key? {
        switch self {
        case .notSetUp, .damaged, .locked: nil
        case .halfOpen(let keybag), .open(let keybag, _): keybag.keys.seal
        }
    }

    /// The key that wraps the others; nil unless unlocked.
    var keybagKey: Key? {
        if case .open(_, let keybagKey) = self { keybagKey } else { nil }
    }

    /// Whether the file was found damaged, and has been neither opened nor written since.
    var isFileDamaged: Bool {
        switch self {
        case .notSetUp, .locked: false
        case .damaged: true
        case .halfOpen(let keybag), .open(let keybag, _): keybag.isFileDamaged
        }
    }

    /// The error for the use of items while ``context`` is nil.
    var refusal: KeychainError {
        switch self {
        case .notSetUp: .notSetUp
        case .damaged(nil): .damaged
        case .damaged, .locked, .halfOpen, .open: .locked
        }
    }

    // MARK: Changes

    /// Records that the keybag was read again: while keys are in memory, one whose seal was verified with them; damage is
    /// forgotten only once the keybag is opened or written.
    mutating func read(_ found: KeybagRecord) {
        switch self {
        case .notSetUp, .locked: self = .locked(found)
        case .damaged: self = .damaged(last: found)
        case .halfOpen(let keybag), .open(let keybag, _):
            if keybag.record != found { replace(found, keybag.keys, isFileDamaged: keybag.isFileDamaged) }
        }
    }

    /// Records that a keybag was put back that was missing or damaged; keys in memory stay.
    mutating func cameBack(_ found: KeybagRecord) {
        switch self {
        case .notSetUp, .damaged, .locked: self = .locked(found)
        case .halfOpen(let keybag), .open(let keybag, _): replace(found, keybag.keys)
        }
    }

    /// Records that the keybag was written.
    mutating func wrote(_ record: KeybagRecord) {
        switch self {
        case .notSetUp, .damaged, .locked: self = .locked(record)
        case .halfOpen(let keybag), .open(let keybag, _): replace(record, keybag.keys)
        }
    }

    /// Records that the file was found damaged.
    mutating func foundDamage() {
        switch self {
        case .notSetUp, .damaged, .locked: self = .damaged(last: record)
        case .halfOpen(let keybag): self = .halfOpen(keybag.withFileDamaged())
        case .open(let keybag, let keybagKey): self = .open(keybag.withFileDamaged(), keybagKey: keybagKey)
        }
    }

    /// Sets or removes the key of the enrolled set; a locked keybag has none.
    mutating func setCurrentSetKey(_ key: Key?) {
        guard case .open(let keybag, _) = self else { return }
        var keys = keybag.keys
        keys.currentSet = key
        replace(keybag.record, keys, isFileDamaged: keybag.isFileDamaged)
    }

    /// Withholds or releases the key of the enrolled set.
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

    /// Releases the keys that must not outlive a lock; they are wiped with their last reference.
    ///
    /// - Returns: whether the keybag was unlocked.
    mutating func lock() -> Bool {
        guard case .open(let keybag, _) = self else { return false }
        let keys = keybag.keys.survivingLock()
        self = .halfOpen(OpenKeybag(keybag.record, keys, isFileDamaged: keybag.isFileDamaged))
        return true
    }

    /// Releases all keys.
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
