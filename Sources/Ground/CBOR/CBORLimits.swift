/// What a ``CBORReader`` accepts.
public struct CBORLimits: Sendable, Hashable {
    /// The upper bound of any depth limit, so that recursion over values fits any thread's stack.
    public static let greatestDepth = 128

    /// How many arrays, maps and tags may be nested.
    public private(set) var depth: Int
    /// How many bytes a message may have.
    public var octets: Int
    /// Whether tags (major type 6) are accepted.
    public var allowsTags: Bool
    /// Whether floating-point numbers are accepted.
    public var allowsFloats: Bool
    /// Whether simple values other than false, true and null are accepted, among them undefined.
    public var allowsAllSimpleValues: Bool
    /// Whether bytes may follow the last item that was read.
    public var allowsTrailingOctets: Bool
    /// Whether only the deterministic form of RFC 8949, section 4.2.1, is accepted.
    ///
    /// Shortest heads and floats, definite lengths, map keys sorted and without duplicates.
    public private(set) var isDeterministic = true
    /// Whether map keys may come in any order; duplicates are refused nevertheless.
    public private(set) var allowsAnyKeyOrder = false

    /// The strict form with the limits of a Touchstone frame: 1 MiB, 16 levels, no tags.
    ///
    /// - Parameters:
    ///   - depth: how many containers may be nested, at most ``greatestDepth``.
    ///   - octets: how many bytes a message may have.
    ///   - allowsTags: whether tags are accepted.
    ///   - allowsFloats: whether floating-point numbers are accepted.
    ///   - allowsAllSimpleValues: whether simple values other than false, true and null are accepted.
    ///   - allowsTrailingOctets: whether bytes may follow the last item that was read.
    public init(
        depth: Int = 16,
        octets: Int = 1 << 20,
        allowsTags: Bool = false,
        allowsFloats: Bool = true,
        allowsAllSimpleValues: Bool = false,
        allowsTrailingOctets: Bool = false
    ) {
        self.depth = min(depth, Self.greatestDepth)
        self.octets = octets
        self.allowsTags = allowsTags
        self.allowsFloats = allowsFloats
        self.allowsAllSimpleValues = allowsAllSimpleValues
        self.allowsTrailingOctets = allowsTrailingOctets
    }

    /// CTAP2 canonical CBOR: at most four levels, no tags, no floating-point numbers (CTAP 2.1, section 8).
    public static let ctap2 = CBORLimits(depth: 4, allowsFloats: false)

    /// The same with map keys in any order, for what authenticators and clients send.
    ///
    /// WebAuthn Level 3, section 2.4, requires the canonical form of who encodes, but that decoders refuse another one is only
    /// recommended. Known with keys in another order are Solo's extension outputs (solokeys/solo1, issue 499), and the attestation
    /// objects of Firefox's authenticator-rs (mozilla/authenticator-rs, pull request 226) and of Yubico's library for iOS
    /// (brave/brave-ios, issue 1365). No authenticator is known whose lengths are indefinite, or whose heads are longer than needed:
    /// both stay refused.
    public static let ctap2InAnyOrder: CBORLimits = {
        var limits = CBORLimits.ctap2
        limits.allowsAnyKeyOrder = true
        return limits
    }()

    /// Whatever RFC 8949, section 5.3.1 calls well-formed, with text in UTF-8; for diagnosis, not for messages.
    ///
    /// Lengths may be indefinite and heads longer than needed; duplicate keys are not detected.
    public static let wellFormed: CBORLimits = {
        var limits = CBORLimits(depth: 64, allowsTags: true, allowsAllSimpleValues: true)
        limits.isDeterministic = false
        return limits
    }()
}
