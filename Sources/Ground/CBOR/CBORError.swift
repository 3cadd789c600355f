/// Why bytes were refused as CBOR, and where.
///
/// Only ``code`` takes part in `==`; ``offset`` is for the log.
public struct CBORError: Error, Sendable {
    /// A reason that a caller may act on.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The number that stands for the reason.
        public let rawValue: Int

        /// Accepts any number.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// The bytes end before the item does, or a count exceeds the bytes that are left.
        public static let unexpectedEnd = Code(rawValue: 1)
        /// Well-formed so far, but not the type the caller asked for; nothing was consumed.
        public static let typeMismatch = Code(rawValue: 2)
        /// An integer outside the range the caller asked for.
        public static let integerOverflow = Code(rawValue: 3)
        /// A length, integer or float in a longer form than needed (RFC 8949, section 4.2.1).
        public static let notShortestForm = Code(rawValue: 4)
        /// An indefinite length where only definite ones are allowed.
        public static let indefiniteLength = Code(rawValue: 5)
        /// Additional information or a simple value that RFC 8949 reserves, or a chunk of the wrong type.
        public static let notWellFormed = Code(rawValue: 6)
        /// A break stop code where no indefinite-length item may end.
        public static let unexpectedBreak = Code(rawValue: 7)
        /// Nested deeper than ``CBORLimits/depth``.
        public static let tooDeep = Code(rawValue: 8)
        /// More bytes than ``CBORLimits/octets``.
        public static let tooLarge = Code(rawValue: 9)
        /// A text string that is not UTF-8.
        public static let invalidUTF8 = Code(rawValue: 10)
        /// A map has the same key twice.
        public static let duplicateKey = Code(rawValue: 11)
        /// Map keys are not in bytewise lexicographic order of their encodings.
        public static let keysOutOfOrder = Code(rawValue: 12)
        /// A tag where the limits allow none.
        public static let tagNotAllowed = Code(rawValue: 13)
        /// A floating-point number where the limits allow none.
        public static let floatNotAllowed = Code(rawValue: 14)
        /// A simple value other than false, true and null where the limits allow no other.
        public static let simpleValueNotAllowed = Code(rawValue: 15)
        /// Bytes are left after the last item that was read.
        public static let trailingOctets = Code(rawValue: 16)
        /// The reading stopped inside an array, a map or a tag.
        public static let unfinishedItem = Code(rawValue: 17)
    }

    /// What the caller may act on.
    public let code: Code
    /// The offset at which the refused item begins.
    public let offset: Int

    /// Creates an error from a reason and a place.
    public init(_ code: Code, at offset: Int) {
        self.code = code
        self.offset = offset
    }
}

extension CBORError: Equatable {
    /// Compares codes alone, so that a test can name the error it expects.
    public static func == (lhs: Self, rhs: Self) -> Bool { lhs.code == rhs.code }
}
