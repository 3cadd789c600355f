public import SecretMemory

/// Takes the items out of a keychain, sealed under its recovery code, and makes a keychain of them elsewhere.
public protocol KeychainArchive: Sendable {
    /// Seals all items that may leave this machine; nothing of the keychain changes.
    ///
    /// The keybag may be locked and stays so: the code opens what is needed, for as long as this takes.
    /// - Throws: ``KeychainError`` with `errSecAuthFailed` for a wrong code.
    func export(recoveryCode: borrowing SecretBytes) async throws(KeychainError) -> KeychainExport

    /// An empty place for an export that comes in parts.
    ///
    /// - Throws: ``KeychainError`` with `errSecDuplicateItem` when there is a keychain already.
    func makeExportFile() async throws(KeychainError) -> any ExportFile

    /// Looks at the start of an export, before a code is asked for.
    ///
    /// - Throws: ``KeychainError`` with `errSecDecode` for what is no export, `errSecNotAvailable` for one of a newer
    ///   version.
    func checkStart(of export: any ExportFile) async throws(KeychainError)

    /// Whether a text is an export's recovery code; with the right one, the export is read to its end.
    ///
    /// - Throws: ``KeychainError`` with `errSecDecode` for an export that is not whole, `errSecParam` for a mistyped
    ///   code.
    func accepts(
        recoveryCode: borrowing SecretBytes,
        of export: any ExportFile
    ) async throws(KeychainError) -> Bool

    /// Makes the keybag, with the export's recovery code, and all of its items, and leaves it unlocked.
    ///
    /// The keybag comes last: when this ends before, there is no keychain, and it can be done again.
    /// - Parameters:
    ///   - export: holds the items.
    ///   - passcode: opens the keybag.
    ///   - recoveryCode: the export's.
    ///   - enrolled: the fingers that are enrolled now; nil when they cannot be seen.
    /// - Returns: how many items there are.
    /// - Throws: ``KeychainError`` with `errSecDuplicateItem` when there is a keychain already.
    func setUp(
        from export: any ExportFile,
        passcode: consuming SecretBytes,
        recoveryCode: borrowing SecretBytes,
        enrolled: Enrolment?
    ) async throws(KeychainError) -> Int
}

/// Asks the person for what moving a keychain takes.
public protocol KeychainMover: Sendable {
    /// Asks for the recovery code and seals all items that may leave.
    func exportKeychain(
        from archive: any KeychainArchive,
        _ request: PromptRequest
    ) async throws(AuthenticationError) -> KeychainExport

    /// Asks for the export's recovery code, then twice for a new passcode, and makes the keychain.
    ///
    /// - Returns: how many items there are.
    /// - Throws: ``AuthenticationError`` `invalidParameter` when there is a keychain already.
    func importKeychain(
        _ export: any ExportFile,
        into archive: any KeychainArchive,
        _ request: PromptRequest
    ) async throws(AuthenticationError) -> Int
}

/// The sealed bytes of an export; gone with their last owner.
public protocol ExportFile: AnyObject, Sendable {
    /// How many bytes there are.
    var count: Int { get }

    /// Adds bytes at the end.
    ///
    /// - Throws: ``KeychainError`` with `errSecDataTooLarge` past ``MigrationLimits/mostOctets``.
    func append(_ octets: [UInt8]) throws(KeychainError)

    /// At most `count` bytes from `offset` on; fewer at the end alone.
    func read(from offset: Int, upTo count: Int) throws(KeychainError) -> [UInt8]
}

/// An export and what is in it.
public struct KeychainExport: Sendable {
    /// Its bytes.
    public let file: any ExportFile
    /// What is in it, and what is not.
    public let report: ExportReport

    /// Holds both.
    public init(file: any ExportFile, report: ExportReport) {
        self.file = file
        self.report = report
    }
}

/// What an export holds, and what was left out.
public struct ExportReport: Sendable, Equatable {
    /// Why an item stays behind.
    public enum Reason: UInt8, Sendable, CaseIterable {
        /// Its accessibility says that it never leaves this device.
        case thisDeviceOnly = 1
        /// It demands the fingers that were enrolled when it was stored.
        case enrolledSet = 2
        /// Only an application password opens it.
        case applicationPassword = 3
        /// It is a private key that never leaves its hardware, or this keychain.
        case privateKey = 4
        /// It is not authentic.
        case damaged = 5
    }

    /// An item that stays behind.
    public struct LeftOut: Sendable, Equatable {
        /// The most bytes of a group's or an item's name here.
        public static let longestName = 256
        /// Why.
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

    /// The most items that are named one by one.
    public static let mostNames = 500

    /// How many items are in the export.
    public var items: Int
    /// How many were left out, by reason; none is no entry.
    public var leftOut: [Reason: Int]
    /// The first of those whose names can be read.
    public var names: [LeftOut]
    /// Whether the store is as the daemon left it; otherwise items may be missing from it without a trace.
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

    /// Counts an item that stays behind, and names it while there is room.
    public mutating func leaveOut(_ reason: Reason, named item: LeftOut? = nil) {
        leftOut[reason, default: 0] += 1
        if let item, names.count < Self.mostNames { names.append(item) }
    }
}

extension DriverCause {
    /// The file is no export, or not a whole one.
    public static let exportDamaged = DriverCause(.exportDamaged)
    /// The file is something else.
    public static let notAnExport = DriverCause(.notAnExport)
    /// A newer version made the export.
    public static let newerExport = DriverCause(.newerExport)
    /// An export's parts came in another order than they were asked for.
    public static let exportParts = DriverCause(.exportParts)
}
