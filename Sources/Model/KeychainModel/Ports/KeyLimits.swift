public import CBOR

/// When a private key may be used, how often, and whether its signatures are counted: sealed into its representation, and enforced by
/// the vault at each use.
public struct KeyLimits: Sendable, Hashable {
    /// The first microsecond since 1970 at which it may be used; nil from its creation on.
    public let starts: UInt64?
    /// The first microsecond since 1970 at which it may not be used any more; nil for never.
    public let ends: UInt64?
    /// How often it may be used; nil for any number.
    public let uses: UInt32?
    /// Whether it makes only signatures that have their number in what is signed (``KeyUse/signCounted(before:after:)``).
    public let isCounted: Bool

    /// No limits.
    public static let none = KeyLimits(checked: nil, nil, nil, isCounted: false)
    /// The most uses that can be counted.
    public static let mostUses: UInt32 = 1_000_000

    /// Describes limits.
    ///
    /// - Parameters:
    ///   - starts: microseconds since 1970.
    ///   - ends: microseconds since 1970, after `starts`.
    ///   - uses: 1 to ``mostUses``.
    ///   - isCounted: whether each signature has its number in what is signed.
    /// - Throws: ``KeychainError`` with `errSecParam` for limits that allow no use, or more than ``mostUses``.
    public init(
        starts: UInt64? = nil,
        ends: UInt64? = nil,
        uses: UInt32? = nil,
        isCounted: Bool = false
    ) throws(KeychainError) {
        guard (ends ?? .max) > starts ?? 0, 1...Self.mostUses ~= uses ?? 1 else {
            throw KeychainError(.param)
        }
        self.init(checked: starts, ends, uses, isCounted: isCounted)
    }

    private init(checked starts: UInt64?, _ ends: UInt64?, _ uses: UInt32?, isCounted: Bool) {
        self.starts = starts
        self.ends = ends
        self.uses = uses
        self.isCounted = isCounted
    }

    /// The number of uses that are counted at most; nil for a key whose uses are not counted.
    public var mostCounted: UInt32? { uses ?? (isCounted ? .max : nil) }

    /// Why a key may not be used at a time, in microseconds since 1970; nil if it may.
    public func refusal(at time: Int64) -> KeychainError? {
        let time = UInt64(clamping: time)
        if time < starts ?? 0 { return KeychainError(.notAvailable, cause: .notYetValid) }
        return time < ends ?? .max ? nil : KeychainError(.itemNotFound, cause: .expired)
    }

    /// Writes `[starts, ends, uses]`, null for none, and true if signatures are counted.
    public func encode<Sink: CBORSink & ~Copyable>(to writer: inout CBORWriter<Sink>) {
        writer.writeArrayHead(count: isCounted ? 4 : 3)
        for number in [starts, ends, uses.map(UInt64.init)] {
            if let number { writer.write(unsigned: number) } else { writer.writeNull() }
        }
        if isCounted { writer.write(true) }
    }

    /// Reads limits.
    public init(from reader: inout CBORReader) throws {
        let isCounted = try reader.readFieldsOrOneMore(3)
        let starts = try reader.readOptional { try $0.readUnsigned() }
        let ends = try reader.readOptional { try $0.readUnsigned() }
        let uses = try reader.readOptional { reader in
            guard let uses = UInt32(exactly: try reader.readUnsigned()) else { throw KeychainError(.param) }
            return uses
        }
        if isCounted, try !reader.readBool() { throw WireError.malformed }
        try self.init(starts: starts, ends: ends, uses: uses, isCounted: isCounted)
    }
}

extension DriverCause {
    /// The private key may not be used yet.
    public static let notYetValid = DriverCause(.notYetValid)
    /// The private key may not be used any more.
    public static let expired = DriverCause(.expired)
    /// The private key was used as often as it may be.
    public static let usedUp = DriverCause(.usedUp)
}
