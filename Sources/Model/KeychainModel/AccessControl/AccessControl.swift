import CBOR

/// Apple's `SecAccessControlCreateFlags`, by their own bits.
public struct AccessControlFlags: OptionSet, Hashable, Sendable {
    /// The bits.
    public let rawValue: UInt64
    /// Takes the bits unchecked; ``AccessControl/init(accessibility:flags:)`` validates them.
    public init(rawValue: UInt64) { self.rawValue = rawValue }

    /// An enrolled finger or the passcode.
    public static let userPresence = AccessControlFlags(rawValue: 1 << 0)
    /// Any enrolled finger, including one enrolled later.
    public static let biometryAny = AccessControlFlags(rawValue: 1 << 1)
    /// A finger of the set enrolled when the item was created; a change of the set invalidates the item.
    public static let biometryCurrentSet = AccessControlFlags(rawValue: 1 << 3)
    /// The passcode.
    public static let devicePasscode = AccessControlFlags(rawValue: 1 << 4)
    /// A paired companion; only Apple's systems have one.
    public static let companion = AccessControlFlags(rawValue: 1 << 5)
    /// One constraint is enough.
    public static let or = AccessControlFlags(rawValue: 1 << 14)
    /// All constraints are needed.
    public static let and = AccessControlFlags(rawValue: 1 << 15)
    /// The constraints guard the use of a private key.
    public static let privateKeyUsage = AccessControlFlags(rawValue: 1 << 30)
    /// An application password is needed besides the constraints.
    public static let applicationPassword = AccessControlFlags(rawValue: 1 << 31)
    /// A finger counts only on a sensor that is not weak (``SensorFacts/isWeak``); Apple has no such flag.
    public static let strongSensor = AccessControlFlags(rawValue: 1 << 48)

    static let constraints: AccessControlFlags = [
        .userPresence, .biometryAny, .biometryCurrentSet, .devicePasscode, .companion,
    ]
    static let known: AccessControlFlags = constraints.union([
        .or, .and, .privateKeyUsage, .applicationPassword, .strongSensor,
    ])
}

/// One condition that must be met before a key is released.
public enum AccessConstraint: UInt8, Sendable, CaseIterable, Comparable {
    /// A finger or the passcode.
    case userPresence = 1
    /// Any enrolled finger.
    case biometryAny = 2
    /// A finger of one particular enrolled set.
    case biometryCurrentSet = 3
    /// The passcode.
    case devicePasscode = 4
    /// A companion device; never satisfied here.
    case companion = 5

    /// Orders as listed, so that encodings and key derivations are the same everywhere.
    public static func < (lhs: Self, rhs: Self) -> Bool { lhs.rawValue < rhs.rawValue }
}

/// When an item may be read and what its user must show (Apple's `SecAccessControl`).
public struct AccessControl: Hashable, Sendable {
    /// How several constraints combine.
    public enum Combination: Sendable {
        /// All are needed: Apple's default.
        case all
        /// One is enough.
        case any
    }

    /// When the class key is available.
    public let accessibility: Accessibility
    /// The flags as given.
    public let flags: AccessControlFlags

    /// Validates the flags by Apple's rules (`ConformanceTests/AccessControlTests.swift`).
    ///
    /// - Throws: ``KeychainError`` with `errSecParam` for `or` together with `and`, both biometry flags,
    ///   `userPresence` with anything but `applicationPassword` and `privateKeyUsage`, or an unknown flag.
    public init(accessibility: Accessibility, flags: AccessControlFlags) throws(KeychainError) {
        let unknown = flags.subtracting(.known)
        let isContradictory =
            flags.isSuperset(of: [.or, .and]) || flags.isSuperset(of: [.biometryAny, .biometryCurrentSet])
        let besidePresence = flags.subtracting([.userPresence, .applicationPassword, .privateKeyUsage])
        let isCrowded = flags.contains(.userPresence) && !besidePresence.isEmpty
        guard unknown.isEmpty, !isContradictory, !isCrowded else { throw KeychainError(.param) }
        self.accessibility = accessibility
        self.flags = flags
    }

    /// The rule for an item that was stored without access control.
    public init(accessibility: Accessibility) {
        self.accessibility = accessibility
        self.flags = []
    }

    /// The constraints, in order.
    public var constraints: [AccessConstraint] {
        var found: [AccessConstraint] = []
        if flags.contains(.userPresence) { found.append(.userPresence) }
        if flags.contains(.biometryAny) { found.append(.biometryAny) }
        if flags.contains(.biometryCurrentSet) { found.append(.biometryCurrentSet) }
        if flags.contains(.devicePasscode) { found.append(.devicePasscode) }
        if flags.contains(.companion) { found.append(.companion) }
        return found
    }

    /// How the constraints combine; without `or`, all are needed.
    public var combination: Combination { flags.contains(.or) ? .any : .all }

    /// Whether an application password is needed too.
    public var needsApplicationPassword: Bool { flags.contains(.applicationPassword) }

    /// Whether it binds the item to the fingers enrolled now.
    public var bindsCurrentSet: Bool { flags.contains(.biometryCurrentSet) }

    /// The encoding bound into the item: CBOR `[1, accessibility, flags]`, deterministic.
    public var encoded: [UInt8] {
        var writer = CBORWriter([UInt8]())
        writer.writeArrayHead(count: 3)
        writer.write(unsigned: 1)
        writer.write(text: accessibility.rawValue)
        writer.write(unsigned: flags.rawValue)
        return writer.finish()
    }

    /// Decodes the form of ``encoded``.
    ///
    /// - Throws: ``KeychainError`` with `errSecParam` for anything else.
    public init(decoding octets: [UInt8]) throws(KeychainError) {
        let parts: (UInt64, String, UInt64)
        do {
            parts = try CBORReader.read(octets) { reader in
                guard try reader.readArrayHead() == 3 else { throw KeychainError(.param) }
                return (try reader.readUnsigned(), try reader.readText(), try reader.readUnsigned())
            }
        } catch {
            throw KeychainError(.param)
        }
        guard parts.0 == 1, let accessibility = Accessibility(rawValue: parts.1) else {
            throw KeychainError(.param)
        }
        try self.init(accessibility: accessibility, flags: AccessControlFlags(rawValue: parts.2))
    }
}
