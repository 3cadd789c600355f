internal import KeychainModel
internal import Primitives

/// The keybag's two files, `keybag` and `keybag.copy`: damage to one of them loses nothing.
///
/// Each is replaced atomically, `keybag` first: from then on the new keybag counts.
struct KeybagFile {
    private let directory: StoreDirectory
    private let keybag: AtomicFile
    private let copy: AtomicFile

    init(in directory: StoreDirectory) {
        self.directory = directory
        keybag = AtomicFile(.keybag, in: directory, longest: StoredKeybag.longest)
        copy = AtomicFile(.keybagCopy, in: directory, longest: StoredKeybag.longest)
    }

    /// Whether there is either file, readable or not.
    static func exists(in directory: StoreDirectory) throws(KeychainError) -> Bool {
        if try directory.has(StoreFile.keybag.rawValue) { return true }
        return try directory.has(StoreFile.keybagCopy.rawValue)
    }

    /// What the two files hold.
    struct Reading {
        /// Whether there is neither file.
        var isMissing = false
        /// The keybags that could be read: intact ones first, and of these the newest.
        var keybags: [StoredKeybag] = []
        /// Whether a file is damaged or missing.
        var isFaulty = false
        /// Whether both files hold the same.
        var isInStep = false

        /// The newest intact keybag.
        var intact: StoredKeybag? { keybags.first.flatMap { $0.isIntact ? $0 : nil } }
        /// What can be told about the keybag before it is opened: damaged ones are better than nothing.
        var record: KeybagRecord? { keybags.first?.record }
    }

    /// Reads both files.
    ///
    /// - Throws: ``KeychainError`` with `errSecNotAvailable` if a newer version of this program wrote them, or if one is not
    ///   a file of this user.
    func read() throws(KeychainError) -> Reading {
        let key = try DeviceKeyFile(directory: directory).key(.keybagCode)
        let contents = [try content(of: keybag, key), try content(of: copy, key)]
        var reading = Reading()
        reading.isMissing = contents.allSatisfy { $0 == .missing }
        reading.isInStep = contents[0] == contents[1]
        var newer: KeychainError?
        for content in contents {
            switch content {
            case .missing, .unreadable: reading.isFaulty = true
            case .newer(let error):
                reading.isFaulty = true
                newer = error
            case .keybag(let stored):
                reading.keybags.append(stored)
                if !stored.isIntact { reading.isFaulty = true }
            }
        }
        reading.keybags.sort { one, other in
            one.isIntact == other.isIntact
                ? one.record.revision > other.record.revision : one.isIntact
        }
        // A flipped bit can look like a newer version; a newer program writes both files.
        if let newer, reading.keybags.isEmpty { throw newer }
        return reading
    }

    private enum Content: Equatable {
        case missing, unreadable
        case newer(KeychainError)
        case keybag(StoredKeybag)
    }

    private func content(of file: AtomicFile, _ deviceKey: Key?) throws(KeychainError) -> Content {
        do throws(KeychainError) {
            guard let octets = try file.read() else { return .missing }
            return .keybag(try StoredKeybag(octets, deviceKey: deviceKey))
        } catch {
            // An unreadable sector is damage of this file alone.
            if error.status == .decode || error.status == .io { return .unreadable }
            guard error.cause == KeychainError.newerFormat.cause else { throw error }
            return .newer(error)
        }
    }

    /// Creates both files; what has their names stays.
    ///
    /// - Throws: ``KeychainError`` with `errSecDuplicateItem` if there is either.
    func make(_ octets: [UInt8]) throws(KeychainError) {
        guard try !directory.has(StoreFile.keybagCopy.rawValue) else { throw .alreadySetUp }
        try keybag.make(octets)
        try? copy.make(octets)
    }

    /// Makes the files durable, if they are not yet.
    func sync() throws(KeychainError) { try keybag.sync() }

    /// Replaces both files.
    ///
    /// - Returns: whether the copy was replaced too; if not, it is written at the next unlock.
    /// - Throws: ``KeychainError`` if `keybag` was not replaced.
    @discardableResult
    func replace(with octets: [UInt8]) throws(KeychainError) -> Bool {
        try keybag.replace(with: octets)
        return (try? copy.replace(with: octets)) != nil
    }
}
