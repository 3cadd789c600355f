public import SecretMemory

/// Exports a keychain's items, sealed under its recovery code, and creates a keychain from an export.
public protocol KeychainArchive: Sendable {
    /// Seals all items that may leave this machine; the keychain itself is unchanged.
    ///
    /// The keybag may be locked and stays so: the code opens the needed keys for the duration of the export.
    /// - Throws: ``KeychainError`` with `errSecAuthFailed` for a wrong code.
    func export(recoveryCode: borrowing SecretBytes) async throws(KeychainError) -> KeychainExport

    /// Writes a backup: all items that may leave this machine, as they are stored, which the recovery code opens.
    ///
    /// No item is opened for it. The keybag may be locked, if it was unlocked since the start.
    /// - Throws: ``KeychainError`` with `errSecInteractionNotAllowed` before the first unlock.
    func backUp() async throws(KeychainError) -> KeychainExport

    /// Creates an empty file for an export that arrives in parts.
    func makeExportFile() async throws(KeychainError) -> any ExportFile

    /// Checks the start of an export, before a code is prompted for.
    ///
    /// - Throws: ``KeychainError`` with `errSecDecode` if it is not an export, `errSecNotAvailable` for one of a
    ///   newer version.
    func checkStart(of export: any ExportFile) async throws(KeychainError)

    /// Checks an export's recovery code; with the correct one, the export is read to its end.
    ///
    /// - Throws: ``KeychainError`` with `errSecDecode` for an incomplete export, `errSecParam` for a mistyped code.
    func accepts(
        recoveryCode: borrowing SecretBytes,
        of export: any ExportFile
    ) async throws(KeychainError) -> Bool

    /// Creates the keybag, with the export's recovery code, and all of its items, and leaves it unlocked.
    ///
    /// The keybag is written last: after an interruption there is no keychain, and the import can be repeated.
    /// - Parameters:
    ///   - export: the export with the items.
    ///   - passcode: opens the keybag.
    ///   - recoveryCode: the export's.
    ///   - enrolled: the fingers enrolled now; nil if they cannot be read.
    /// - Returns: the number of items.
    /// - Throws: ``KeychainError`` with `errSecDuplicateItem` if there is a keychain already.
    func setUp(
        from export: any ExportFile,
        passcode: consuming SecretBytes,
        recoveryCode: borrowing SecretBytes,
        enrolled: Enrolment?
    ) async throws(KeychainError) -> Int

    /// Reads an export's items, which changes nothing and needs no keychain.
    ///
    /// - Returns: the items, part by part.
    /// - Throws: ``KeychainError`` with `errSecAuthFailed` for a wrong code.
    func read(
        _ export: any ExportFile,
        recoveryCode: borrowing SecretBytes
    ) throws(KeychainError) -> any ExportWork

    /// Merges an export into the unlocked keychain: adds the items that it does not have.
    ///
    /// Each part is stored durably and all or nothing. An interrupted merge is repeated: items that were added are then
    /// the same.
    /// - Parameters:
    ///   - export: an export that was read to its end (``accepts(recoveryCode:of:)``).
    ///   - recoveryCode: the export's.
    ///   - proof: of this keychain's passcode, by whose key items are compared that need it.
    ///   - merge: which items, and what happens in a conflict.
    /// - Returns: the merge, which stores nothing before its first part.
    /// - Throws: ``KeychainError`` with `errSecItemNotFound` and the cause ``KnownCause/notInExport`` for a name without an
    ///   item.
    func merge(
        _ export: any ExportFile,
        recoveryCode: borrowing SecretBytes,
        proof: AuthenticationProof,
        _ merge: ExportMerge
    ) throws(KeychainError) -> any ExportWork
}

/// Prompts the user for the secrets needed to move a keychain.
public protocol KeychainMover: Sendable {
    /// Prompts for the recovery code and seals all items that may leave.
    func exportKeychain(
        from archive: any KeychainArchive,
        _ request: PromptRequest
    ) async throws(AuthenticationError) -> KeychainExport

    /// Prompts for the export's recovery code, then twice for a new passcode, and creates the keychain.
    ///
    /// - Returns: the number of items.
    /// - Throws: ``AuthenticationError`` `invalidParameter` if there is a keychain already.
    func importKeychain(
        _ export: any ExportFile,
        into archive: any KeychainArchive,
        _ request: PromptRequest
    ) async throws(AuthenticationError) -> Int

    /// Prompts for the export's recovery code until it is right, and reads the export to its end.
    func recoveryCode(
        of export: any ExportFile,
        in archive: any KeychainArchive,
        _ request: PromptRequest
    ) async throws(AuthenticationError) -> SecretBytes
}

/// The sealed bytes of an export; deleted with the last reference.
public protocol ExportFile: AnyObject, Sendable {
    /// The number of bytes.
    var count: Int { get }

    /// Appends bytes.
    ///
    /// - Throws: ``KeychainError`` with `errSecDataTooLarge` past ``MigrationLimits/mostOctets``.
    func append(_ octets: [UInt8]) throws(KeychainError)

    /// At most `count` bytes from `offset` on; fewer only at the end.
    func read(from offset: Int, upTo count: Int) throws(KeychainError) -> [UInt8]
}

/// An export and its report.
public struct KeychainExport: Sendable {
    /// Its bytes.
    public let file: any ExportFile
    /// The exported and the omitted items.
    public let report: ExportReport

    /// Combines both.
    public init(file: any ExportFile, report: ExportReport) {
        self.file = file
        self.report = report
    }
}

/// The contents of an export, and the omitted items.
public struct ExportReport: Sendable, Equatable {
    /// Why an item is omitted.
    public enum Reason: UInt8, Sendable, CaseIterable {
        /// Its accessibility restricts it to this device.
        case thisDeviceOnly = 1
        /// It needs the fingers that were enrolled when it was stored.
        case enrolledSet = 2
        /// Only an application password opens it.
        case applicationPassword = 3
        /// It is a private key that cannot leave its hardware, or this keychain.
        case privateKey = 4
        /// It is not authentic.
        case damaged = 5
    }

    /// An omitted item.
    public struct LeftOut: Sendable, Equatable {
        /// The most bytes of a group's or an item's name here.
        public static let longestName = 256
        /// Why it is omitted.
        public let reason: Reason
        /// The group it belongs to.
        public let group: String
        /// Its account, or another of its names.
        public let name: String

        /// Names an item; long names are cut.
        public init(reason: Reason, group: String, name: String) {
            self.reason = reason
            self.group = Self.shortened(group)
            self.name = Self.shortened(name)
        }

        private static func shortened(_ text: String) -> String {
            guard text.utf8.count > longestName else { return text }
            var short = text.prefix(longestName)
            while short.utf8.count > longestName { short.removeLast() }
            return String(short)
        }
    }

    /// The most omitted items that are listed individually.
    public static let mostNames = 500

    /// How many items are in the export.
    public var items: Int
    /// The number of omitted items by reason; reasons without items have no entry.
    public var leftOut: [Reason: Int]
    /// The first omitted items whose names can be read.
    public var names: [LeftOut]
    /// Whether the store is as the daemon left it; otherwise items may be missing unnoticed.
    public var isSetAuthentic: Bool

    /// Reports an export.
    public init(
        items: Int = 0,
        leftOut: [Reason: Int] = [:],
        names: [LeftOut] = [],
        isSetAuthentic: Bool = true
    ) {
        self.items = items
        self.leftOut = leftOut
        self.names = names
        self.isSetAuthentic = isSetAuthentic
    }

    /// Counts an omitted item, and lists it while there is room.
    public mutating func leaveOut(_ reason: Reason, named item: LeftOut? = nil) {
        leftOut[reason, default: 0] += 1
        if let item, names.count < Self.mostNames { names.append(item) }
    }
}

extension DriverCause {
    /// The export is damaged or incomplete.
    public static let exportDamaged = DriverCause(.exportDamaged)
    /// The file is not an export.
    public static let notAnExport = DriverCause(.notAnExport)
    /// A newer version made the export.
    public static let newerExport = DriverCause(.newerExport)
    /// The parts of an export arrived in the wrong order.
    public static let exportParts = DriverCause(.exportParts)
}
