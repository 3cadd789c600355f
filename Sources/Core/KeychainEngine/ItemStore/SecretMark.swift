internal import KeychainModel
internal import Primitives
internal import SecretMemory

/// What tells whether a secret is an item's, without opening the item: keyed digests, as one of its sealed attributes.
///
/// Their key is derived from the keychain's metadata key, so that the file alone lets nobody try guesses. Layout: a kind, a
/// random salt, the digest of the item's data, and for ``Kind/part`` the digest of the part by which it is compared.
struct SecretMark: Equatable {
    /// By what the item is compared.
    private enum Kind: UInt8 {
        /// By its data.
        case data = 1
        /// By a part of its data, too.
        case part = 2
        /// By a part that is no longer known, because the data were changed since.
        case lost = 3
    }

    /// What a comparison says.
    enum Comparison {
        case same
        case different
        /// Only opening the item can tell.
        case unknown
    }

    private static let saltByteCount = 16
    private static let salt = 1..<(1 + saltByteCount)
    private static let first = salt.upperBound..<(salt.upperBound + KeyedDigest.byteCount)
    private static let second = first.upperBound..<(first.upperBound + KeyedDigest.byteCount)

    let octets: [UInt8]
    private let kind: Kind

    /// Reads a stored mark; nil if it is malformed.
    init?(_ octets: [UInt8]) {
        guard let kind = octets.first.flatMap(Kind.init(rawValue:)) else { return nil }
        guard octets.count == (kind == .part ? Self.second : Self.first).upperBound else { return nil }
        (self.octets, self.kind) = (octets, kind)
    }

    /// The mark of an item's data that is compared by `part`; nil if it is compared by nothing.
    static func make(
        of data: borrowing SecretBytes?,
        comparedBy part: borrowing SecretBytes?,
        _ context: ItemContext
    ) -> SecretMark? {
        switch part {
        case .some(let part): SecretMark(of: data, comparedBy: part, salt: newSalt(), context)
        case .none: nil
        }
    }

    private init(
        of data: borrowing SecretBytes?,
        comparedBy part: borrowing SecretBytes,
        salt: [UInt8],
        _ context: ItemContext
    ) {
        let whole = Self.digest(of: data, salt, context)
        let other = Self.digest(of: part, salt, context)
        kind = whole == other ? .data : .part
        octets = [kind.rawValue] + salt + whole + (kind == .part ? other : [])
    }

    /// The mark of changed data.
    func remade(for data: borrowing SecretBytes?, _ context: ItemContext) -> SecretMark {
        let salt = Self.newSalt()
        return SecretMark(
            kind: kind == .data ? .data : .lost,
            rest: salt + Self.digest(of: data, salt, context)
        )
    }

    private static func newSalt() -> [UInt8] {
        var random = RandomSupply(count: saltByteCount)
        var salt = [UInt8](repeating: 0, count: saltByteCount)
        unsafe salt.withUnsafeMutableBytes { unsafe random.fill($0) }
        return salt
    }

    private init(kind: Kind, rest: [UInt8]) {
        self.kind = kind
        octets = [kind.rawValue] + rest
    }

    /// Whether `data` compared by `part` has this mark.
    func isOf(
        _ data: borrowing SecretBytes?,
        comparedBy part: borrowing SecretBytes?,
        _ context: ItemContext
    ) -> Bool {
        switch part {
        case .some(let part):
            let other = SecretMark(of: data, comparedBy: part, salt: Array(octets[Self.salt]), context)
            return kind == other.kind && ConstantTime.areEqual(octets, other.octets)
        case .none: return false
        }
    }

    /// Compares a secret with the item's data, or with the part by which it is compared.
    func compare(_ secret: borrowing SecretBytes, _ context: ItemContext) -> Comparison {
        let digest = Self.digest(of: secret, Array(octets[Self.salt]), context)
        let isWhole = ConstantTime.areEqual(digest, Array(octets[Self.first]))
        switch kind {
        case .data: return isWhole ? .same : .different
        case .part:
            let isPart = ConstantTime.areEqual(digest, Array(octets[Self.second]))
            return isWhole || isPart ? .same : .different
        case .lost: return isWhole ? .same : .unknown
        }
    }

    private static func digest(
        of secret: borrowing SecretBytes?,
        _ salt: [UInt8],
        _ context: ItemContext
    ) -> [UInt8] {
        var digest: [UInt8] = []
        unsafe secret.lend { unsafe digest = Self.digest(of: $0, salt, context) }
        // No data are like empty data; whether there are any is compared separately.
        return digest.isEmpty
            ? unsafe Self.digest(of: UnsafeRawBufferPointer(start: nil, count: 0), salt, context) : digest
    }

    private static func digest(
        of secret: borrowing SecretBytes,
        _ salt: [UInt8],
        _ context: ItemContext
    ) -> [UInt8] {
        unsafe secret.withUnsafeBytes { unsafe digest(of: $0, salt, context) }
    }

    private static func digest(
        of secret: UnsafeRawBufferPointer,
        _ salt: [UInt8],
        _ context: ItemContext
    ) -> [UInt8] {
        let words = unsafe salt.withUnsafeBytes { salt in
            unsafe context.marks.words(of: salt, followedBy: secret)
        }
        return unsafe withUnsafeBytes(of: words) { unsafe Array($0) }
    }

    // MARK: Exports

    /// What an export says of the mark: its key stays with this keychain.
    var exported: [UInt8] { [(kind == .data ? Kind.data : .lost).rawValue] }

    /// A mark to be remade (``remade(for:_:)``) for what an export says; nil if it says nothing known.
    init?(exported octets: [UInt8]) {
        guard octets.count == 1, let kind = Kind(rawValue: octets[0]), kind != .part else { return nil }
        self.init(kind: kind, rest: [])
    }
}
